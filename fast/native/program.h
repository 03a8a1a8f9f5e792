/* Programs of `map`: a postfix sequence of nodes, each rounding once to its dtype. Plain data built by the caller. */
#ifndef COUNTERFOIL_PROGRAM_H
#define COUNTERFOIL_PROGRAM_H

#include <stdint.h>

typedef struct cf_node {
    int32_t kind;                   /* 0 input (operand = position), 1 constant, 2 apply (operand = kernel), 3 cast */
    int32_t operand;
    int32_t dtype;                  /* of the node's value */
    int32_t arity;                  /* nodes popped from the stack */
    uint64_t low, high;             /* a constant's bits; of apply and cast, low is the dtype the sources are read at */
} cf_node;

typedef struct cf_program {
    int32_t count;                  /* nodes; the last one's value is the result */
    int32_t inputs;                 /* inputs the program reads: positions 0 .. inputs-1 at most */
    int32_t depth;                  /* deepest the stack gets */
    int32_t well_typed;             /* 0: some node's arguments are outside its kernel's row */
    const cf_node *nodes;
} cf_program;

#endif
