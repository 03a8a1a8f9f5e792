/* One loop over several operands of one shape: extent-1 axes dropped, neighbouring axes merged where every operand
 * walks them as one, and, where order is free, axes sorted so that the innermost is the cheapest for the written
 * ones. */
#ifndef COUNTERFOIL_LOOP_H
#define COUNTERFOIL_LOOP_H

#include "array.h"

#define CF_LOOP_OPERANDS 18

typedef struct cf_loop {
    int32_t rank;                   /* at least 1 */
    int32_t count;                  /* operands */
    int64_t size;                   /* iterations in all */
    int64_t shape[CF_MAX_RANK];
    int64_t strides[CF_LOOP_OPERANDS][CF_MAX_RANK]; /* in elements */
    int64_t start[CF_LOOP_OPERANDS];                /* position of the first element */
} cf_loop;

/* Merges the layouts of `count` operands (at most CF_LOOP_OPERANDS) of one shape. keep_order: C order is kept. */
void cf_loop_build(cf_loop *loop, const cf_array *const *operands, int count, bool keep_order);

/* Calls body(context, n, positions) for each innermost run of n = shape[rank-1] elements, positions[k] being operand
 * k's first element; consecutive elements are strides[k][rank-1] apart. */
typedef void (*cf_run)(void *context, const cf_loop *loop, int64_t n, const int64_t *positions);
void cf_loop_run(const cf_loop *loop, cf_run body, void *context);

#endif
