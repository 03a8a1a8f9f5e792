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
#include "stream.h"
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
typedef uint64_t word __attribute__((aligned(4))); /* complex64 is aligned to one component */
CHOOSE(word)

static void choose_wide(const uint8_t *c, const uint8_t *x, const uint8_t *y, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) memmove(out + 16 * i, (c[i] ? x : y) + 16 * i, 16);
}

static void choose(int bytes, const void *c, const void *x, const void *y, void *out, int64_t n) {
    switch (bytes) {
    case 1: choose_uint8_t(c, x, y, out, n); return;
    case 2: choose_uint16_t(c, x, y, out, n); return;
    case 4: choose_uint32_t(c, x, y, out, n); return;
    case 8: choose_word(c, x, y, out, n); return;
    default: choose_wide(c, x, y, out, n); return;
    }
}

/* Narrow floats from sources held as float32; false where the operation and a store do right. */
static bool compute_narrowly(int kernel, int dtype, const void *const *in, cf_operation operation, void *wide,
                             int64_t n, void *out) {
    switch (kernel) {
    case CF_KERNEL_FMA: cf_narrow_fma(dtype, in[0], in[1], in[2], out, n); return true;
    case CF_KERNEL_MAXIMUM:
    case CF_KERNEL_MINIMUM:
        operation(in, wide, n);
        cf_narrow_extreme(dtype, wide, out, n);
        return true;
    default: return false;
    }
}

/* Elements of a dtype that is not its own computing format. */
static void compute_widened(int kernel, int dtype, const void *const *sources, int64_t n, void *out) {
    int computing = cf_computing(dtype), arity = arity_of(kernel);
    cf_operation operation = cf_operation_of(kernel, computing);
    uint64_t wide[MOST_SOURCES][BLOCK * sizeof(float) / sizeof(uint64_t)]; /* no such computing format is wider */
    const void *in[MOST_SOURCES];
    for (int k = 0; k < arity; k++) {
        cf_convert(dtype, computing, sources[k], wide[k], n);
        in[k] = wide[k];
    }
    if (is_comparison(kernel)) {
        operation(in, out, n);
    } else if (!is_narrow_float(dtype) || !compute_narrowly(kernel, dtype, in, operation, wide[0], n, out)) {
        operation(in, wide[0], n);
        cf_convert(computing, dtype, wide[0], out, n);
    }
}

void cf_pointwise(int kernel, int dtype, const void *const *sources, int64_t n, void *out) {
    if (kernel == CF_KERNEL_WHERE) {
        choose(cf_loose_bytes(cf_dtype_bits(dtype)), sources[0], sources[1], sources[2], out, n);
    } else if (cf_computing(dtype) == dtype) {
        cf_operation_of(kernel, dtype)(sources, out, n);
    } else if (is_narrow_float(dtype) && (kernel == CF_KERNEL_NEG || kernel == CF_KERNEL_ABS)) {
        cf_narrow_sign(dtype, kernel == CF_KERNEL_NEG, sources[0], out, n);
    } else {
        compute_widened(kernel, dtype, sources, n, out);
    }
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

typedef struct pointwise {
    const cf_array *const *operands; /* dst, then the sources */
    int kernel, dtype, count;
    bool streamed; /* dst is large and not in the caches: identical to no source */
} pointwise;

/* An innermost run. */
typedef struct run {
    const pointwise *call;
    int64_t first[MOST_OPERANDS], strides[MOST_OPERANDS];
} run;

/* Elements done .. done + n - 1, n <= BLOCK, to `out`: sources are loaded where they do not lie loose already. */
static void compute_block(const run *run, int64_t done, int64_t n, void *out) {
    const pointwise *call = run->call;
    uint64_t storage[MOST_SOURCES][BLOCK * CF_WIDEST / sizeof(uint64_t)];
    const void *sources[MOST_SOURCES];
    for (int k = 1; k < call->count; k++) {
        const cf_array *source = call->operands[k];
        int64_t stride = run->strides[k], position = run->first[k] + done * stride;
        if (stride == 1 && source->bits >= 8) {
            sources[k - 1] = source->data + position * (source->bits / 8);
        } else {
            cf_element_load(source->bits, source->data, position, stride, n, storage[k - 1]);
            sources[k - 1] = storage[k - 1];
        }
    }
    cf_pointwise(call->kernel, call->dtype, sources, n, out);
}

/* As cf_produce: a strip may be longer than a block. */
static void produce(void *context, int64_t first, int64_t n, void *out) {
    const run *run = context;
    int width = cf_loose_bytes(run->call->operands[0]->bits);
    for (int64_t done = 0; done < n; done += BLOCK) {
        compute_block(run, first + done, n - done < BLOCK ? n - done : BLOCK, (uint8_t *)out + done * width);
    }
}

/* A run into where it lies, if dst lies loose there, else through storage. */
static void compute_run(const run *run, int64_t n) {
    const cf_array *dst = run->call->operands[0];
    bool loose = run->strides[0] == 1 && dst->bits >= 8;
    uint64_t storage[BLOCK * CF_WIDEST / sizeof(uint64_t)];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK, position = run->first[0] + done * run->strides[0];
        compute_block(run, done, count, loose ? dst->data + position * (dst->bits / 8) : (uint8_t *)storage);
        if (!loose) cf_element_store(dst->bits, dst->data, position, run->strides[0], count, storage);
    }
}

static void visit_run(void *context, const cf_loop *loop, int64_t n, const int64_t *first) {
    run run = {.call = context};
    const cf_array *dst = run.call->operands[0];
    for (int k = 0; k < loop->count; k++) {
        run.first[k] = first[k];
        run.strides[k] = loop->strides[k][loop->rank - 1];
    }
    int64_t bytes = dst->bits / 8;
    if (run.strides[0] == 1 && run.call->streamed && cf_stream_pays(bytes, n)) {
        cf_stream_run(dst->data + first[0] * bytes, bytes, n, produce, &run);
    } else {
        compute_run(&run, n);
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

static bool some_identical(const cf_array *const *operands, int count) {
    for (int k = 1; k < count; k++) {
        if (cf_identical(operands[0], operands[k])) return true;
    }
    return false;
}

/* Contiguous operands in their computing format. */
typedef struct direct {
    cf_operation operation;
    const uint8_t *sources[MOST_SOURCES];
    int64_t width; /* bytes of a source's element */
    int arity;
} direct;

static void produce_directly(void *context, int64_t first, int64_t n, void *out) {
    const direct *direct = context;
    const void *sources[MOST_SOURCES];
    for (int k = 0; k < direct->arity; k++) sources[k] = direct->sources[k] + first * direct->width;
    direct->operation(sources, out, n);
}

/* One call of the operation over all elements, or a strip at a time where dst is to be streamed. */
static bool compute_directly(const pointwise *call) {
    const cf_array *dst = call->operands[0];
    if (cf_computing(call->dtype) != call->dtype || call->kernel == CF_KERNEL_WHERE) return false;
    if (!all_contiguous(call->operands, call->count)) return false;
    int64_t width = cf_dtype_bits(call->dtype) / 8;
    direct direct = {cf_operation_of(call->kernel, call->dtype), {NULL}, width, call->count - 1};
    for (int k = 0; k < direct.arity; k++) direct.sources[k] = first_element(call->operands[k + 1]);
    int64_t bytes = dst->bits / 8, size = dst->layout.size;
    if (call->streamed) {
        cf_stream_run(first_element(dst), bytes, size, produce_directly, &direct);
    } else {
        produce_directly(&direct, 0, size, first_element(dst));
    }
    return true;
}

static void compute(pointwise *call) {
    const cf_array *dst = call->operands[0];
    bool large = cf_stream_pays(dst->bits / 8, dst->layout.size);
    call->streamed = large && !some_identical(call->operands, call->count);
    if (compute_directly(call)) return;
    cf_loop loop;
    cf_loop_build(&loop, call->operands, call->count, false);
    cf_loop_run(&loop, visit_run, call);
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
    pointwise call = {operands, kernel, dtypes[count - 2], count, false};
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
