/* The pointwise kernels: unary, binary, comparison, where, fma. */
#include "pointwise.h"

#include <stdbool.h>
#include <string.h>

#include "array.h"
#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "operation.h"
#include "vector.h"

enum { BLOCK = CF_POINTWISE_BLOCK, MOST_SOURCES = 3, MOST_OPERANDS = 4 };


static bool is_comparison(int kernel) { return kernel >= CF_KERNEL_EQUAL && kernel <= CF_KERNEL_LESS_EQUAL; }

static int arity_of(int kernel) {
    if (kernel == CF_KERNEL_WHERE || kernel == CF_KERNEL_FMA) return 3;
    return kernel < CF_KERNEL_ADD ? 1 : 2;
}

static bool is_narrow_float(int dtype) { return dtype >= CF_FLOAT16 && dtype <= CF_FLOAT4_E2M1FN; }

/* ---- loose elements --------------------------------------------------------------------------------------------- */

#define CHOOSE(type)                                                                                                  \
    CF_VECTOR static void choose_##type(const uint8_t *c, const type *x, const type *y, type *out, int64_t n) {       \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            type first = x[i], second = y[i];                                                                         \
            out[i] = c[i] ? first : second;                                                                           \
        }                                                                                                             \
    }

CHOOSE(uint8_t)
CHOOSE(uint16_t)
CHOOSE(uint32_t)
CHOOSE(uint64_t)

static void choose_wide(const uint8_t *c, const uint8_t *x, const uint8_t *y, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) memmove(out + 16 * i, (c[i] ? x : y) + 16 * i, 16);
}

static void choose(int bytes, const void *c, const void *x, const void *y, void *out, int64_t n) {
    switch (bytes) {
    case 1: choose_uint8_t(c, x, y, out, n); return;
    case 2: choose_uint16_t(c, x, y, out, n); return;
    case 4: choose_uint32_t(c, x, y, out, n); return;
    case 8: choose_uint64_t(c, x, y, out, n); return;
    default: choose_wide(c, x, y, out, n); return;
    }
}

void cf_pointwise(int kernel, int dtype, const void *const *sources, int64_t n, void *out) {
    if (kernel == CF_KERNEL_WHERE) {
        choose(cf_loose_bytes(cf_dtype_bits(dtype)), sources[0], sources[1], sources[2], out, n);
        return;
    }
    int computing = cf_computing(dtype), arity = arity_of(kernel);
    cf_operation operation = cf_operation_of(kernel, computing);
    if (computing == dtype) {
        operation(sources, out, n);
        return;
    }
    uint64_t wide[MOST_SOURCES][BLOCK * sizeof(float) / sizeof(uint64_t)]; /* no computing format of another dtype is wider */
    const void *in[MOST_SOURCES];
    for (int k = 0; k < arity; k++) {
        cf_convert(dtype, computing, sources[k], wide[k], n);
        in[k] = wide[k];
    }
    if (kernel == CF_KERNEL_FMA && is_narrow_float(dtype)) {
        cf_narrow_fma(dtype, in[0], in[1], in[2], out, n);
    } else if (is_comparison(kernel)) {
        operation(in, out, n);
    } else {
        operation(in, wide[0], n);
        cf_convert(computing, dtype, wide[0], out, n);
    }
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

typedef struct pointwise {
    const cf_array *const *operands; /* dst, then the sources */
    int kernel, dtype, count;
} pointwise;

/* One block: sources loaded where they are not loose already, the result stored where it cannot lie in place. */
static void block(const pointwise *call, const int64_t *strides, const int64_t *positions, int64_t n) {
    uint64_t storage[MOST_OPERANDS][BLOCK * CF_WIDEST / sizeof(uint64_t)];
    const void *sources[MOST_SOURCES];
    for (int k = 1; k < call->count; k++) {
        const cf_array *source = call->operands[k];
        if (strides[k] == 1 && source->bits >= 8) {
            sources[k - 1] = source->data + positions[k] * (source->bits / 8);
        } else {
            cf_element_load(source->bits, source->data, positions[k], strides[k], n, storage[k]);
            sources[k - 1] = storage[k];
        }
    }
    const cf_array *dst = call->operands[0];
    bool in_place = strides[0] == 1 && dst->bits >= 8;
    void *out = in_place ? dst->data + positions[0] * (dst->bits / 8) : (uint8_t *)storage[0];
    cf_pointwise(call->kernel, call->dtype, sources, n, out);
    if (!in_place) cf_element_store(dst->bits, dst->data, positions[0], strides[0], n, storage[0]);
}

static void run(void *context, const cf_loop *loop, int64_t n, const int64_t *first) {
    const pointwise *call = context;
    int64_t strides[MOST_OPERANDS], positions[MOST_OPERANDS];
    for (int k = 0; k < call->count; k++) strides[k] = loop->strides[k][loop->rank - 1];
    for (int64_t done = 0; done < n; done += BLOCK) {
        for (int k = 0; k < call->count; k++) positions[k] = first[k] + done * strides[k];
        block(call, strides, positions, n - done < BLOCK ? n - done : BLOCK);
    }
}

static bool all_contiguous(const cf_array *const *operands, int count) {
    for (int k = 0; k < count; k++) {
        if (!(operands[k]->layout.flags & CF_LAYOUT_CONTIGUOUS)) return false;
    }
    return true;
}

static uint8_t *first_element(const cf_array *array) {
    return array->data + array->layout.offset * (array->bits / 8);
}

/* Contiguous operands in their computing format: one call of the operation over all of them. */
static bool compute_directly(const pointwise *call) {
    const cf_array *dst = call->operands[0];
    if (cf_computing(call->dtype) != call->dtype || call->kernel == CF_KERNEL_WHERE) return false;
    if (!all_contiguous(call->operands, call->count)) return false;
    const void *sources[MOST_SOURCES];
    for (int k = 1; k < call->count; k++) sources[k - 1] = first_element(call->operands[k]);
    cf_operation_of(call->kernel, call->dtype)(sources, first_element(dst), dst->layout.size);
    return true;
}

static void compute(const pointwise *call) {
    if (compute_directly(call)) return;
    cf_loop loop;
    cf_loop_build(&loop, call->operands, call->count, false);
    cf_loop_run(&loop, run, (void *)call);
}

static bool one_shape(const cf_array *const *operands, int count) {
    for (int k = 1; k < count; k++) {
        if (!cf_same_shape(operands[0], operands[k])) return false;
    }
    return true;
}

/* Every pointwise kernel: the door, then the work. The sources' dtype is the last operand's (where's first is bool). */
static int call_pointwise(int kernel, const cf_array *const *operands, int count) {
    int dtypes[MOST_SOURCES];
    for (int k = 1; k < count; k++) dtypes[k - 1] = operands[k]->dtype;
    int answer = cf_door_enter(operands, 1, count, cf_row_fits(kernel, operands[0]->dtype, dtypes, count - 1));
    if (answer != CF_DONE) return answer;
    if (!one_shape(operands, count)) return cf_door_refuse(operands, count, CF_SHAPE_MISMATCH);
    if (cf_door_wait(operands, 1, count)) return CF_LOST;
    pointwise call = {operands, kernel, dtypes[count - 2], count};
    compute(&call);
    return cf_door_leave(operands, count);
}

/* ---- one entry point per kernel --------------------------------------------------------------------------------- */

#define UNARY(name, code)                                                                                             \
    int name(const cf_array *dst, const cf_array *x) {                                                                \
        const cf_array *operands[] = {dst, x};                                                                        \
        return call_pointwise(code, operands, 2);                                                                     \
    }
#define BINARY(name, code)                                                                                            \
    int name(const cf_array *dst, const cf_array *x, const cf_array *y) {                                             \
        const cf_array *operands[] = {dst, x, y};                                                                     \
        return call_pointwise(code, operands, 3);                                                                     \
    }
#define TERNARY(name, code)                                                                                           \
    int name(const cf_array *dst, const cf_array *x, const cf_array *y, const cf_array *z) {                          \
        const cf_array *operands[] = {dst, x, y, z};                                                                  \
        return call_pointwise(code, operands, 4);                                                                     \
    }

UNARY(cf_neg, CF_KERNEL_NEG)
UNARY(cf_recip, CF_KERNEL_RECIP)
UNARY(cf_abs, CF_KERNEL_ABS)
UNARY(cf_sign, CF_KERNEL_SIGN)
UNARY(cf_sqrt, CF_KERNEL_SQRT)
UNARY(cf_floor, CF_KERNEL_FLOOR)
UNARY(cf_ceil, CF_KERNEL_CEIL)
UNARY(cf_round, CF_KERNEL_ROUND)
UNARY(cf_trunc, CF_KERNEL_TRUNC)
UNARY(cf_exp, CF_KERNEL_EXP)
UNARY(cf_exp2, CF_KERNEL_EXP2)
UNARY(cf_log, CF_KERNEL_LOG)
UNARY(cf_log2, CF_KERNEL_LOG2)
UNARY(cf_log1p, CF_KERNEL_LOG1P)
UNARY(cf_expm1, CF_KERNEL_EXPM1)
UNARY(cf_sin, CF_KERNEL_SIN)
UNARY(cf_cos, CF_KERNEL_COS)
UNARY(cf_tan, CF_KERNEL_TAN)
UNARY(cf_asin, CF_KERNEL_ASIN)
UNARY(cf_acos, CF_KERNEL_ACOS)
UNARY(cf_atan, CF_KERNEL_ATAN)
UNARY(cf_sinh, CF_KERNEL_SINH)
UNARY(cf_cosh, CF_KERNEL_COSH)
UNARY(cf_tanh, CF_KERNEL_TANH)
UNARY(cf_erf, CF_KERNEL_ERF)
BINARY(cf_add, CF_KERNEL_ADD)
BINARY(cf_sub, CF_KERNEL_SUB)
BINARY(cf_mul, CF_KERNEL_MUL)
BINARY(cf_fdiv, CF_KERNEL_FDIV)
BINARY(cf_idiv, CF_KERNEL_IDIV)
BINARY(cf_mod, CF_KERNEL_MOD)
BINARY(cf_pow, CF_KERNEL_POW)
BINARY(cf_atan2, CF_KERNEL_ATAN2)
BINARY(cf_maximum, CF_KERNEL_MAXIMUM)
BINARY(cf_minimum, CF_KERNEL_MINIMUM)
BINARY(cf_bitwise_and, CF_KERNEL_BITWISE_AND)
BINARY(cf_bitwise_or, CF_KERNEL_BITWISE_OR)
BINARY(cf_bitwise_xor, CF_KERNEL_BITWISE_XOR)
BINARY(cf_equal, CF_KERNEL_EQUAL)
BINARY(cf_not_equal, CF_KERNEL_NOT_EQUAL)
BINARY(cf_less, CF_KERNEL_LESS)
BINARY(cf_less_equal, CF_KERNEL_LESS_EQUAL)
TERNARY(cf_where, CF_KERNEL_WHERE)
TERNARY(cf_fma, CF_KERNEL_FMA)
