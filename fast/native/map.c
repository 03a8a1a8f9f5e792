/* map: a program of pointwise nodes evaluated block by block, so that a chain reads and writes memory once. */
#include <stdbool.h>
#include <string.h>

#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "pointwise.h"

enum { BLOCK = CF_POINTWISE_BLOCK, INPUT = 0, CONSTANT = 1, APPLY = 2, CAST = 3 };

typedef uint64_t slot[BLOCK * CF_WIDEST / sizeof(uint64_t)];

typedef struct mapping {
    const cf_program *program;
    const cf_array *const *operands; /* dst, then the inputs */
    int count;
} mapping;

/* ---- one block -------------------------------------------------------------------------------------------------- */

/* The values on the stack: where each lies, and the storage at its level for those computed there. */
typedef struct stack {
    slot *storage;
    const void *values[CF_MAX_MAP_NODES];
    int depth;
} stack;

static void push_input(stack *stack, const cf_array *input, int64_t position, int64_t stride, int64_t n) {
    if (stride == 1 && input->bits >= 8) {
        stack->values[stack->depth++] = input->data + position * (input->bits / 8);
        return;
    }
    void *level = stack->storage[stack->depth];
    cf_element_load(input->bits, input->data, position, stride, n, level);
    stack->values[stack->depth++] = level;
}

static void push_constant(stack *stack, const cf_node *node, int64_t n) {
    uint8_t *level = (uint8_t *)stack->storage[stack->depth];
    uint64_t value[2] = {node->low, node->high};
    size_t width = (size_t)cf_loose_bytes(cf_dtype_bits(node->dtype));
    for (int64_t i = 0; i < n; i++) memcpy(level + (size_t)i * width, value, width);
    stack->values[stack->depth++] = level;
}

/* The dtype at which a node's sources are read: the last one's, since where's first is its condition. */
static int source_dtype(const cf_node *node) { return (int)node->low; }

static void push_result(stack *stack, const cf_node *node, int64_t n, void *out) {
    stack->depth -= node->arity;
    const void *const *sources = stack->values + stack->depth;
    if (node->kind == CAST) {
        cf_convert(source_dtype(node), node->dtype, sources[0], out, n);
    } else {
        cf_pointwise(node->operand, source_dtype(node), sources, n, out);
    }
    stack->values[stack->depth++] = out;
}

/* Evaluates the program for n elements at `positions`; a computed last node's result goes to `out`. Loaded inputs and
 * constants lie at their stack level's slot, a computed node at a slot of its own, so none writes where its sources lie. */
static const void *evaluate(const mapping *call, slot *storage, const int64_t *strides, const int64_t *positions,
                            int64_t n, void *out) {
    stack stack = {.storage = storage, .depth = 0};
    const cf_program *program = call->program;
    for (int i = 0; i < program->count; i++) {
        const cf_node *node = &program->nodes[i];
        int operand = node->operand + 1;
        if (node->kind == INPUT) {
            push_input(&stack, call->operands[operand], positions[operand], strides[operand], n);
        } else if (node->kind == CONSTANT) {
            push_constant(&stack, node, n);
        } else {
            slot *level = storage + program->depth + i;
            push_result(&stack, node, n, i == program->count - 1 ? out : (void *)level);
        }
    }
    return stack.values[0];
}

/* The block's result stored, computed in place where dst lies loose and no input is still to be read there afterwards. */
static void block(const mapping *call, slot *storage, const int64_t *strides, const int64_t *positions, int64_t n) {
    const cf_array *dst = call->operands[0];
    bool in_place = strides[0] == 1 && dst->bits >= 8;
    slot own;
    void *out = in_place ? dst->data + positions[0] * (dst->bits / 8) : (uint8_t *)own;
    const void *result = evaluate(call, storage, strides, positions, n, out);
    if (result != out || !in_place) cf_element_store(dst->bits, dst->data, positions[0], strides[0], n, result);
}

static void run(void *context, const cf_loop *loop, int64_t n, const int64_t *first) {
    const mapping *call = context;
    int64_t strides[CF_LOOP_OPERANDS], positions[CF_LOOP_OPERANDS];
    slot storage[call->program->depth + call->program->count];
    for (int k = 0; k < call->count; k++) strides[k] = loop->strides[k][loop->rank - 1];
    for (int64_t done = 0; done < n; done += BLOCK) {
        for (int k = 0; k < call->count; k++) positions[k] = first[k] + done * strides[k];
        block(call, storage, strides, positions, n - done < BLOCK ? n - done : BLOCK);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static bool shapes_fit(const cf_program *program, const cf_array *const *operands, int count) {
    for (int k = 1; k < count; k++) {
        if (!cf_same_shape(operands[0], operands[k])) return false;
    }
    return program->inputs <= count - 1;
}

/* `operands`: dst, then the inputs. */
static int call_map(const cf_program *program, const cf_array *const *operands, int count) {
    bool dtypes_fit = program->well_typed && program->nodes[program->count - 1].dtype == operands[0]->dtype;
    int answer = cf_door_enter(operands, 1, count, dtypes_fit);
    if (answer != CF_DONE) return answer;
    if (!shapes_fit(program, operands, count)) return cf_door_refuse(operands, count, CF_SHAPE_MISMATCH);
    if (program->count > CF_MAX_MAP_NODES || count - 1 > CF_MAX_MAP_INPUTS) {
        return cf_door_refuse(operands, count, CF_DECLINED);
    }
    if (cf_door_wait(operands, 1, count)) return CF_LOST;
    mapping call = {program, operands, count};
    cf_loop loop;
    cf_loop_build(&loop, operands, count, false);
    cf_loop_run(&loop, run, &call);
    return cf_door_leave(operands, count);
}

int cf_map(const cf_array *dst, const cf_program *program, const cf_array *const *inputs, int count) {
    const cf_array *operands[1 + count];
    operands[0] = dst;
    for (int k = 0; k < count; k++) operands[k + 1] = inputs[k];
    return call_map(program, operands, count + 1);
}
