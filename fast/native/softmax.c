/* softmax along an axis: exp(x - max) / sum of those, in float32 for floats of 32 bits and less, else in float64.
 *
 * A line that fits is loaded once; a longer one is walked three times: for its maximum, for its sum, for its results.
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
#include "vector.h"

enum { CHUNK = 4096, LANES = 16 };

typedef union chunk {
    float f[CHUNK];
    double d[CHUNK];
} chunk;

typedef struct softmax {
    const cf_array *dst, *src;
    int64_t extent, to_step, from_step; /* along the axis */
    bool single;
} softmax;

/* ---- one chunk, for each computing format ----------------------------------------------------------------------- */

#define CHUNKWISE(type, exponential)                                                                                  \
    /* The greatest term; beside a NaN any term, since the sum will be NaN. */                                                                \
    CF_VECTOR static type greatest_##type(const type *x, int64_t n, type greatest) {                                  \
        type lanes[LANES];                                                                                            \
        for (int j = 0; j < LANES; j++) lanes[j] = greatest;                                                          \
        int64_t i = 0;                                                                                                \
        for (; i + LANES <= n; i += LANES) {                                                                          \
            for (int j = 0; j < LANES; j++) lanes[j] = x[i + j] <= lanes[j] ? lanes[j] : x[i + j];                    \
        }                                                                                                             \
        for (; i < n; i++) lanes[0] = x[i] <= lanes[0] ? lanes[0] : x[i];                                             \
        for (int j = 0; j < LANES; j++) greatest = lanes[j] <= greatest ? greatest : lanes[j];                        \
        return greatest;                                                                                              \
    }                                                                                                                 \
    /* Each term becomes exp(term - greatest). */                                                                     \
    CF_VECTOR static void exponentials_##type(type *x, int64_t n, type greatest) {                                    \
        for (int64_t i = 0; i < n; i++) x[i] = exponential(x[i] - greatest);                                          \
    }                                                                                                                 \
    CF_VECTOR static type total_##type(const type *x, int64_t n) {                                                    \
        type lanes[LANES] = {0}, total = 0;                                                                           \
        int64_t i = 0;                                                                                                \
        for (; i + LANES <= n; i += LANES) {                                                                          \
            for (int j = 0; j < LANES; j++) lanes[j] += x[i + j];                                                     \
        }                                                                                                             \
        for (; i < n; i++) lanes[0] += x[i];                                                                          \
        for (int j = 0; j < LANES; j++) total += lanes[j];                                                            \
        return total;                                                                                                 \
    }                                                                                                                 \
    CF_VECTOR static void divide_##type(type *x, int64_t n, type total) {                                             \
        for (int64_t i = 0; i < n; i++) x[i] /= total;                                                                \
    }

CHUNKWISE(float, cf_exp_float)
CHUNKWISE(double, exp)

/* ---- one line --------------------------------------------------------------------------------------------------- */

static int computing_of(const softmax *call) { return call->single ? CF_FLOAT32 : CF_FLOAT64; }

static void load(const softmax *call, int64_t position, int64_t n, chunk *terms) {
    uint64_t raw[CHUNK];
    cf_element_load(call->src->bits, call->src->data, position, call->from_step, n, raw);
    cf_convert(call->src->dtype, computing_of(call), raw, terms, n);
}

static void store(const softmax *call, int64_t position, int64_t n, const chunk *results) {
    uint64_t rounded[CHUNK];
    cf_convert(computing_of(call), call->dst->dtype, results, rounded, n);
    cf_element_store(call->dst->bits, call->dst->data, position, call->to_step, n, rounded);
}

static double greatest_of(const softmax *call, const chunk *terms, int64_t n, double greatest) {
    return call->single ? greatest_float(terms->f, n, (float)greatest) : greatest_double(terms->d, n, greatest);
}

static double exponentials_of(const softmax *call, chunk *terms, int64_t n, double greatest) {
    if (call->single) {
        exponentials_float(terms->f, n, (float)greatest);
        return total_float(terms->f, n);
    }
    exponentials_double(terms->d, n, greatest);
    return total_double(terms->d, n);
}

static void divide_by(const softmax *call, chunk *terms, int64_t n, double total) {
    if (call->single) {
        divide_float(terms->f, n, (float)total);
    } else {
        divide_double(terms->d, n, total);
    }
}

static void short_line(const softmax *call, int64_t to, int64_t from) {
    chunk terms;
    load(call, from, call->extent, &terms);
    double greatest = greatest_of(call, &terms, call->extent, -INFINITY);
    double total = exponentials_of(call, &terms, call->extent, greatest);
    divide_by(call, &terms, call->extent, total);
    store(call, to, call->extent, &terms);
}

static int64_t chunk_length(const softmax *call, int64_t done) {
    return call->extent - done < CHUNK ? call->extent - done : CHUNK;
}

static void long_line(const softmax *call, int64_t to, int64_t from) {
    chunk terms;
    double greatest = -INFINITY, total = 0.0;
    for (int64_t done = 0; done < call->extent; done += CHUNK) {
        load(call, from + done * call->from_step, chunk_length(call, done), &terms);
        greatest = greatest_of(call, &terms, chunk_length(call, done), greatest);
    }
    for (int64_t done = 0; done < call->extent; done += CHUNK) {
        load(call, from + done * call->from_step, chunk_length(call, done), &terms);
        total += exponentials_of(call, &terms, chunk_length(call, done), greatest);
    }
    for (int64_t done = 0; done < call->extent; done += CHUNK) {
        load(call, from + done * call->from_step, chunk_length(call, done), &terms);
        exponentials_of(call, &terms, chunk_length(call, done), greatest);
        divide_by(call, &terms, chunk_length(call, done), total);
        store(call, to + done * call->to_step, chunk_length(call, done), &terms);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static void softmax_lines(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const softmax *call = context;
    int inner = loop->rank - 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t to = positions[0] + i * loop->strides[0][inner], from = positions[1] + i * loop->strides[1][inner];
        if (call->extent <= CHUNK) {
            short_line(call, to, from);
        } else {
            long_line(call, to, from);
        }
    }
}

static void softmax_all(const cf_array *dst, const cf_array *src, int64_t axis) {
    cf_split to, from;
    cf_split_axes(&to, dst, &axis, 1);
    cf_split_axes(&from, src, &axis, 1);
    softmax call = {dst, src, src->layout.shape[axis], dst->layout.strides[axis], src->layout.strides[axis],
                    cf_computing(src->dtype) == CF_FLOAT32};
    const cf_array *kept[] = {&to.kept, &from.kept};
    cf_loop loop;
    cf_loop_build(&loop, kept, 2, false);
    cf_loop_run(&loop, softmax_lines, &call);
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
