/* softmax along an axis: exp(x - max) / sum of those, in float32 for floats of 32 bits and less, else in float64.
 *
 * A line is walked three times: for its maximum, for its exponentials and their sum, to divide by that. Lines that are
 * neighbours, or too short for vectors of their own, are taken side by side, one vector across many of them.
 */
#include <math.h>
#include <string.h>

#include "axes.h"
#include "convert.h"
#include "element.h"
#include "exponential.h"
#include "kernel.h"
#include "loop.h"
#include "pointwise.h"
#include "stream.h"
#include "vector.h"

enum { CHUNK = 4096, SIDE = 512, LANES = 16, SEARCHED = 64, SHORT = 64 };

/* ---- one computing format --------------------------------------------------------------------------------------- */

/* Along a line: x to out (which may be x). Across lines: one element of each of n lines. */
typedef struct format {
    int dtype, width;
    double (*greatest)(const void *x, int64_t n, double greatest);
    double (*exponentials)(const void *x, void *out, int64_t n, double greatest); /* their sum */
    void (*scale)(void *x, int64_t n, double factor);
    void (*raise)(void *greatest, const void *x, int64_t n);
    void (*exponentials_across)(const void *x, const void *greatest, void *out, void *totals, int64_t n);
    void (*divide_across)(void *x, const void *totals, int64_t n);
} format;

/* The greatest term; beside a NaN any term, since the sum will be NaN. */
#define GREATEST(type)                                                                                                \
    CF_VECTOR static double greatest_##type(const void *terms, int64_t n, double least) {                             \
        const type *x = terms;                                                                                        \
        type lanes[SEARCHED], greatest = (type)least;                                                                 \
        for (int j = 0; j < SEARCHED; j++) lanes[j] = greatest;                                                       \
        int64_t i = 0;                                                                                                \
        for (; i + SEARCHED <= n; i += SEARCHED) {                                                                    \
            for (int j = 0; j < SEARCHED; j++) lanes[j] = x[i + j] <= lanes[j] ? lanes[j] : x[i + j];                 \
        }                                                                                                             \
        for (; i < n; i++) lanes[0] = x[i] <= lanes[0] ? lanes[0] : x[i];                                             \
        for (int j = 0; j < SEARCHED; j++) greatest = lanes[j] <= greatest ? greatest : lanes[j];                     \
        return greatest;                                                                                              \
    }                                                                                                                 \
    CF_VECTOR static void raise_##type(void *sofar, const void *terms, int64_t n) {                                   \
        type *greatest = sofar;                                                                                       \
        const type *x = terms;                                                                                        \
        for (int64_t i = 0; i < n; i++) greatest[i] = x[i] <= greatest[i] ? greatest[i] : x[i];                       \
    }

#define EXPONENTIALS(type, exponential)                                                                               \
    CF_VECTOR static double exponentials_##type(const void *terms, void *results, int64_t n, double above) {          \
        const type *x = terms;                                                                                        \
        type *out = results, greatest = (type)above, lanes[LANES] = {0}, total = 0;                                   \
        int64_t i = 0;                                                                                                \
        for (; i + LANES <= n; i += LANES) {                                                                          \
            for (int j = 0; j < LANES; j++) {                                                                         \
                type value = exponential(x[i + j] - greatest);                                                        \
                out[i + j] = value;                                                                                   \
                lanes[j] += value;                                                                                    \
            }                                                                                                         \
        }                                                                                                             \
        for (; i < n; i++) lanes[0] += out[i] = exponential(x[i] - greatest);                                         \
        for (int j = 0; j < LANES; j++) total += lanes[j];                                                            \
        return total;                                                                                                 \
    }                                                                                                                 \
    CF_VECTOR static void exponentials_across_##type(const void *terms, const void *above, void *results, void *sums, \
                                                     int64_t n) {                                                     \
        const type *x = terms, *greatest = above;                                                                     \
        type *out = results, *totals = sums;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            type value = exponential(x[i] - greatest[i]);                                                             \
            out[i] = value;                                                                                           \
            totals[i] += value;                                                                                       \
        }                                                                                                             \
    }

#define DIVISION(type)                                                                                                \
    CF_VECTOR static void scale_##type(void *terms, int64_t n, double factor) {                                       \
        type *x = terms, by = (type)factor;                                                                           \
        for (int64_t i = 0; i < n; i++) x[i] *= by;                                                                   \
    }                                                                                                                 \
    CF_VECTOR static void divide_across_##type(void *terms, const void *sums, int64_t n) {                            \
        type *x = terms;                                                                                              \
        const type *totals = sums;                                                                                    \
        for (int64_t i = 0; i < n; i++) x[i] /= totals[i];                                                            \
    }

#define FORMAT(type, exponential, dtype)                                                                              \
    GREATEST(type)                                                                                                    \
    EXPONENTIALS(type, exponential)                                                                                   \
    DIVISION(type)                                                                                                    \
    static const format format_##type = {dtype, sizeof(type), greatest_##type, exponentials_##type, scale_##type,     \
                                         raise_##type, exponentials_across_##type, divide_across_##type};

FORMAT(float, cf_exp_float, CF_FLOAT32)
FORMAT(double, cf_exp_double, CF_FLOAT64)

typedef struct softmax {
    const cf_array *dst, *src;
    int64_t extent, to_step, from_step; /* along the axis */
    const format *format;
    bool streamed;
} softmax;

typedef uint64_t chunk[CHUNK]; /* of the wider format */

/* n <= CHUNK elements of src in the computing format: where they lie, or in `loose`. */
static const void *load(const softmax *call, int64_t position, int64_t stride, int64_t n, void *loose) {
    const cf_array *src = call->src;
    if (src->dtype == call->format->dtype) {
        if (stride == 1) return src->data + position * call->format->width;
        cf_element_load(src->bits, src->data, position, stride, n, loose);
        return loose;
    }
    uint32_t raw[SIDE]; /* narrower than the computing format */
    for (int64_t done = 0; done < n; done += SIDE) {
        int64_t count = n - done < SIDE ? n - done : SIDE;
        cf_element_load(src->bits, src->data, position + done * stride, stride, count, raw);
        cf_convert(src->dtype, call->format->dtype, raw, (uint8_t *)loose + done * call->format->width, count);
    }
    return loose;
}

static void store(const softmax *call, int64_t position, int64_t stride, int64_t n, const void *results) {
    const cf_array *dst = call->dst;
    if (dst->dtype == call->format->dtype) {
        cf_element_store(dst->bits, dst->data, position, stride, n, results);
        return;
    }
    uint32_t rounded[SIDE];
    for (int64_t done = 0; done < n; done += SIDE) {
        int64_t count = n - done < SIDE ? n - done : SIDE;
        const uint8_t *first = (const uint8_t *)results + done * call->format->width;
        cf_convert(call->format->dtype, dst->dtype, first, rounded, count);
        cf_element_store(dst->bits, dst->data, position + done * stride, stride, count, rounded);
    }
}

/* ---- one line --------------------------------------------------------------------------------------------------- */

/* Both sides contiguous in the computing format: dst holds the exponentials meanwhile, or near storage if it is to be
 * streamed. */
static void direct_line(const softmax *call, int64_t to, int64_t from) {
    const format *format = call->format;
    int64_t n = call->extent;
    const void *x = call->src->data + from * format->width;
    uint8_t *dst = call->dst->data + to * format->width;
    chunk near;
    bool streamed = call->streamed && n <= CHUNK;
    void *out = streamed ? (uint8_t *)near : dst;
    double total = format->exponentials(x, out, n, format->greatest(x, n, -INFINITY));
    format->scale(out, n, 1.0 / total);
    if (streamed) cf_stream_store(dst, out, (size_t)(n * format->width));
}

static int64_t chunk_length(const softmax *call, int64_t done) {
    return call->extent - done < CHUNK ? call->extent - done : CHUNK;
}

static double greatest_of(const softmax *call, int64_t from) {
    chunk loose;
    double greatest = -INFINITY;
    for (int64_t done = 0; done < call->extent; done += CHUNK) {
        int64_t n = chunk_length(call, done);
        const void *x = load(call, from + done * call->from_step, call->from_step, n, loose);
        greatest = call->format->greatest(x, n, greatest);
    }
    return greatest;
}

/* The exponentials of a line of one chunk are kept; those of a longer one are computed once more. */
static void indirect_line(const softmax *call, int64_t to, int64_t from) {
    const format *format = call->format;
    chunk terms;
    double greatest = greatest_of(call, from), total = 0.0;
    for (int64_t done = 0; done < call->extent; done += CHUNK) {
        int64_t n = chunk_length(call, done);
        const void *x = load(call, from + done * call->from_step, call->from_step, n, terms);
        total += format->exponentials(x, terms, n, greatest);
    }
    for (int64_t done = 0; done < call->extent; done += CHUNK) {
        int64_t n = chunk_length(call, done);
        if (call->extent > CHUNK) {
            const void *x = load(call, from + done * call->from_step, call->from_step, n, terms);
            format->exponentials(x, terms, n, greatest);
        }
        format->scale(terms, n, 1.0 / total);
        store(call, to + done * call->to_step, call->to_step, n, terms);
    }
}

static void softmax_lines(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const softmax *call = context;
    int inner = loop->rank - 1;
    bool contiguous = call->to_step == 1 && call->from_step == 1, wide = call->src->dtype == call->format->dtype;
    for (int64_t i = 0; i < n; i++) {
        int64_t to = positions[0] + i * loop->strides[0][inner], from = positions[1] + i * loop->strides[1][inner];
        if (contiguous && wide) {
            direct_line(call, to, from);
        } else {
            indirect_line(call, to, from);
        }
    }
}

/* ---- lines side by side ----------------------------------------------------------------------------------------- */

/* n <= SIDE lines: their first elements' positions, and the strides from one line to the next. */
typedef struct sides {
    int64_t to, to_stride, from, from_stride, n;
} sides;

static const void *load_side(const softmax *call, const sides *at, int64_t k, void *loose) {
    return load(call, at->from + k * call->from_step, at->from_stride, at->n, loose);
}

/* Where dst itself can hold the exponentials: contiguous across lines, in the computing format. Else NULL. */
static void *kept_side(const softmax *call, const sides *at, int64_t k) {
    if (at->to_stride != 1 || call->dst->dtype != call->format->dtype) return NULL;
    return call->dst->data + (at->to + k * call->to_step) * call->format->width;
}

/* Exponentials that dst cannot hold are computed twice. */
static void softmax_side_by_side(const softmax *call, const sides *at) {
    const format *format = call->format;
    uint64_t greatest[SIDE], totals[SIDE] = {0}, unused[SIDE] = {0}, terms[SIDE];
    memcpy(greatest, load_side(call, at, 0, terms), (size_t)(at->n * format->width));
    for (int64_t k = 1; k < call->extent; k++) format->raise(greatest, load_side(call, at, k, terms), at->n);
    for (int64_t k = 0; k < call->extent; k++) {
        void *kept = kept_side(call, at, k);
        format->exponentials_across(load_side(call, at, k, terms), greatest, kept ? kept : terms, totals, at->n);
    }
    for (int64_t k = 0; k < call->extent; k++) {
        void *kept = kept_side(call, at, k);
        if (kept == NULL) {
            format->exponentials_across(load_side(call, at, k, terms), greatest, terms, unused, at->n);
        }
        format->divide_across(kept ? kept : terms, totals, at->n);
        if (kept == NULL) store(call, at->to + k * call->to_step, at->to_stride, at->n, terms);
    }
}

static void softmax_sides(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const softmax *call = context;
    int64_t to_stride = loop->strides[0][loop->rank - 1], from_stride = loop->strides[1][loop->rank - 1];
    for (int64_t done = 0; done < n; done += SIDE) {
        sides at = {positions[0] + done * to_stride, to_stride, positions[1] + done * from_stride, from_stride,
                    n - done < SIDE ? n - done : SIDE};
        softmax_side_by_side(call, &at);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

static void softmax_all(const cf_array *dst, const cf_array *src, int64_t axis) {
    cf_split to, from;
    cf_split_axes(&to, dst, &axis, 1);
    cf_split_axes(&from, src, &axis, 1);
    softmax call = {dst, src, src->layout.shape[axis], dst->layout.strides[axis], src->layout.strides[axis],
                    cf_computing(src->dtype) == CF_FLOAT32 ? &format_float : &format_double,
                    cf_stream_pays(dst->bits / 8, dst->layout.size) && !cf_identical(dst, src)};
    const cf_array *kept[] = {&to.kept, &from.kept};
    cf_loop loop;
    cf_loop_build(&loop, kept, 2, false);
    int inner = loop.rank - 1;
    bool nearer = magnitude(loop.strides[1][inner]) < magnitude(call.from_step), many = loop.shape[inner] >= LANES;
    cf_loop_run(&loop, many && (nearer || call.extent <= SHORT) ? softmax_sides : softmax_lines, &call);
    cf_stream_end();
}

int cf_softmax(const cf_array *dst, const cf_array *x, int64_t axis) {
    const cf_array *operands[] = {dst, x};
    int answer = cf_door_enter(operands, 1, 2, cf_row_fits(CF_KERNEL_SOFTMAX, dst->dtype, &x->dtype, 1));
    if (answer != CF_DONE) return answer;
    if (!cf_same_shape(dst, x) || axis < 0 || axis >= x->layout.rank) {
        return cf_door_refuse(operands, 2, CF_SHAPE_MISMATCH);
    }
    if (cf_door_wait(operands, 1, 2)) return CF_LOST;
    if (x->layout.size > 0) softmax_all(dst, x, axis);
    return cf_door_leave(operands, 2);
}
