/* map: a program of pointwise nodes evaluated block by block, so that a chain reads and writes memory once.
 *
 * Values live in slots of an arena on the stack: two for each level of the program's stack, so that a node's result and
 * its first source, which have one level, never share a slot; and one for each constant, filled once for a run.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "pointwise.h"
#include "stream.h"

enum { ARENA = 1 << 16, INPUT = 0, CONSTANT = 1, APPLY = 2, CAST = 3 };

typedef struct mapping {
    const cf_program *program;
    const cf_array *const *operands; /* dst, then the inputs */
    int count;
    bool streamed;                   /* dst is large and not in the caches: identical to no input */
    int64_t block, slot;             /* elements in a block, bytes of a slot */
} mapping;

/* An innermost run. */
typedef struct run {
    const mapping *call;
    int64_t first[CF_LOOP_OPERANDS], strides[CF_LOOP_OPERANDS];
    uint8_t *arena;
} run;

/* ---- slots ------------------------------------------------------------------------------------------------------ */

static int constants_of(const cf_program *program) {
    int constants = 0;
    for (int i = 0; i < program->count; i++) constants += program->nodes[i].kind == CONSTANT;
    return constants;
}

static int widest_of(const cf_program *program) {
    int widest = 1;
    for (int i = 0; i < program->count; i++) {
        int width = cf_loose_bytes(cf_dtype_bits(program->nodes[i].dtype));
        if (width > widest) widest = width;
    }
    return widest;
}

/* The largest blocks whose slots all fit in the arena: at least 32 elements, for the deepest and widest program. */
static void size_slots(mapping *call) {
    int64_t slots = 2 * call->program->depth + constants_of(call->program), width = widest_of(call->program);
    int64_t fitting = ARENA / (slots * width) / 8 * 8;
    call->block = fitting < CF_POINTWISE_BLOCK ? fitting : CF_POINTWISE_BLOCK;
    call->slot = call->block * width;
}

static void *slot_of(const run *run, int64_t number) { return run->arena + number * run->call->slot; }

static void repeat(int width, const cf_node *constant, int64_t n, uint8_t *out) {
    uint64_t value[2] = {constant->low, constant->high};
    for (int64_t i = 0; i < n; i++) memcpy(out + i * width, value, (size_t)width);
}

static void fill_constants(const run *run, int64_t n) {
    const cf_program *program = run->call->program;
    int64_t number = 2 * program->depth, length = n < run->call->block ? n : run->call->block;
    for (int i = 0; i < program->count; i++) {
        const cf_node *node = &program->nodes[i];
        int width = cf_loose_bytes(cf_dtype_bits(node->dtype));
        if (node->kind == CONSTANT) repeat(width, node, length, slot_of(run, number++));
    }
}

/* ---- one block -------------------------------------------------------------------------------------------------- */

/* The values on the stack, where each lies, and which slot of its level is in use. */
typedef struct stack {
    const void *values[CF_MAX_MAP_NODES];
    uint8_t side[CF_MAX_MAP_NODES];
    int depth, constants;
} stack;

static void push(stack *stack, const void *value, int side) {
    stack->values[stack->depth] = value;
    stack->side[stack->depth++] = (uint8_t)side;
}

static void push_input(const run *run, stack *stack, int operand, int64_t done, int64_t n) {
    const cf_array *input = run->call->operands[operand];
    int64_t stride = run->strides[operand], position = run->first[operand] + done * stride;
    if (stride == 1 && input->bits >= 8) {
        push(stack, input->data + position * (input->bits / 8), 0);
        return;
    }
    void *level = slot_of(run, 2 * stack->depth);
    cf_element_load(input->bits, input->data, position, stride, n, level);
    push(stack, level, 0);
}

/* A computed node: to `out`, or if that is NULL to the slot of its level that its first source does not use. */
static void push_result(const run *run, stack *stack, const cf_node *node, int64_t n, void *out) {
    stack->depth -= node->arity;
    int side = 1 - stack->side[stack->depth], read_at = (int)node->low;
    void *to = out != NULL ? out : slot_of(run, 2 * stack->depth + side);
    const void *const *sources = stack->values + stack->depth;
    if (node->kind == CAST) {
        cf_convert(read_at, node->dtype, sources[0], to, n);
    } else {
        cf_pointwise(node->operand, read_at, sources, n, to);
    }
    push(stack, to, side);
}

/* Elements done .. done + n - 1, n <= block, to `out`: only the last node writes there. */
static void evaluate(const run *run, int64_t done, int64_t n, void *out) {
    const cf_program *program = run->call->program;
    stack stack;
    stack.depth = stack.constants = 0;
    for (int i = 0; i < program->count; i++) {
        const cf_node *node = &program->nodes[i];
        if (node->kind == INPUT) {
            push_input(run, &stack, node->operand + 1, done, n);
        } else if (node->kind == CONSTANT) {
            push(&stack, slot_of(run, 2 * program->depth + stack.constants++), 0);
        } else {
            push_result(run, &stack, node, n, i == program->count - 1 ? out : NULL);
        }
    }
    size_t bytes = (size_t)(n * cf_loose_bytes(run->call->operands[0]->bits));
    if (stack.values[0] != out) memmove(out, stack.values[0], bytes); /* an input or a constant alone */
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

static int64_t block_length(const mapping *call, int64_t left) { return left < call->block ? left : call->block; }

/* As cf_produce. */
static void produce(void *context, int64_t first, int64_t n, void *out) {
    const run *run = context;
    int width = cf_loose_bytes(run->call->operands[0]->bits);
    for (int64_t done = 0; done < n; done += run->call->block) {
        evaluate(run, first + done, block_length(run->call, n - done), (uint8_t *)out + done * width);
    }
}

static void compute_run(const run *run, int64_t n) {
    const cf_array *dst = run->call->operands[0];
    bool loose = run->strides[0] == 1 && dst->bits >= 8;
    uint64_t storage[CF_POINTWISE_BLOCK * CF_WIDEST / sizeof(uint64_t)];
    for (int64_t done = 0; done < n; done += run->call->block) {
        int64_t count = block_length(run->call, n - done), position = run->first[0] + done * run->strides[0];
        evaluate(run, done, count, loose ? dst->data + position * (dst->bits / 8) : (uint8_t *)storage);
        if (!loose) cf_element_store(dst->bits, dst->data, position, run->strides[0], count, storage);
    }
}

static void visit_run(void *context, const cf_loop *loop, int64_t n, const int64_t *first) {
    uint8_t arena[ARENA] __attribute__((aligned(CF_LINE)));
    run run;
    run.call = context;
    run.arena = arena;
    for (int k = 0; k < loop->count; k++) {
        run.first[k] = first[k];
        run.strides[k] = loop->strides[k][loop->rank - 1];
    }
    fill_constants(&run, n);
    const cf_array *dst = run.call->operands[0];
    int64_t bytes = dst->bits / 8;
    if (run.strides[0] == 1 && run.call->streamed && cf_stream_pays(bytes, n)) {
        cf_stream_run(dst->data + first[0] * bytes, bytes, n, produce, &run);
    } else {
        compute_run(&run, n);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static bool shapes_fit(const cf_program *program, const cf_array *const *operands, int count) {
    for (int k = 1; k < count; k++) {
        if (!cf_same_shape(operands[0], operands[k])) return false;
    }
    return program->inputs <= count - 1;
}

static bool some_identical(const cf_array *const *operands, int count) {
    for (int k = 1; k < count; k++) {
        if (cf_identical(operands[0], operands[k])) return true;
    }
    return false;
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
    bool large = cf_stream_pays(operands[0]->bits / 8, operands[0]->layout.size);
    mapping call = {program, operands, count, large && !some_identical(operands, count), 0, 0};
    size_slots(&call);
    cf_loop loop;
    cf_loop_build(&loop, operands, count, false);
    cf_loop_run(&loop, visit_run, &call);
    return cf_door_leave(operands, count);
}

/* Only a call that the door refuses or declines needs more than CF_MAX_OPERANDS; without memory for its list the answer
 * is the one that names no operand. */
int cf_map(const cf_array *dst, const cf_program *program, const cf_array *const *inputs, int count) {
    const cf_array *few[CF_MAX_OPERANDS], **operands = few;
    if (count + 1 > CF_MAX_OPERANDS) operands = malloc(((size_t)count + 1) * sizeof *operands);
    if (operands == NULL) return CF_DECLINED;
    operands[0] = dst;
    for (int k = 0; k < count; k++) operands[k + 1] = inputs[k];
    int answer = call_map(program, operands, count + 1);
    if (operands != few) free(operands);
    return answer;
}
