/* Reductions: sum, prod, max, min, mean.
 *
 * Terms are combined in the computing format by the pointwise operation of the kernel, in one of two ways. By rows: the
 * terms of one result are folded into LANES partial results, those into one. By columns, where neighbouring results
 * have neighbouring terms: a block of results at once, term by term. Either order is fixed by the layouts alone.
 */
#include <math.h>
#include <string.h>

#include "axes.h"
#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "operation.h"
#include "pointwise.h"
#include "vector.h"

enum { LANES = 512, COLUMNS = 4096, SHORT = 32 };

typedef struct reduction {
    const cf_array *dst, *src;
    cf_loop walk;           /* the walked axes of src, for each result */
    cf_operation combine;
    int64_t terms;
    int kernel, computing, width; /* width: bytes of a computing element */
    uint8_t identity[CF_WIDEST];  /* what no terms give; for max and min unused */
} reduction;

/* ---- what is combined ------------------------------------------------------------------------------------------- */

static int combining_kernel(int kernel) {
    switch (kernel) {
    case CF_KERNEL_PROD: return CF_KERNEL_MUL;
    case CF_KERNEL_MAX: return CF_KERNEL_MAXIMUM;
    case CF_KERNEL_MIN: return CF_KERNEL_MINIMUM;
    default: return CF_KERNEL_ADD;
    }
}

static bool has_identity(const reduction *call) {
    return call->kernel != CF_KERNEL_MAX && call->kernel != CF_KERNEL_MIN;
}

static void combine(const reduction *call, void *into, const void *with, int64_t n) {
    const void *in[] = {into, with};
    call->combine(in, into, n);
}

/* n elements of src from `position` in the computing format: where they lie if they are so already, else in `loose`. */
static const void *terms_at(const reduction *call, int64_t position, int64_t stride, int64_t n, void *loose) {
    const cf_array *src = call->src;
    if (stride == 1 && src->dtype == call->computing) return src->data + position * call->width;
    uint64_t raw[LANES * CF_WIDEST / sizeof(uint64_t)];
    if (src->dtype == call->computing) {
        cf_element_load(src->bits, src->data, position, stride, n, loose);
        return loose;
    }
    for (int64_t done = 0; done < n; done += LANES) {
        int64_t count = n - done < LANES ? n - done : LANES;
        cf_element_load(src->bits, src->data, position + done * stride, stride, count, raw);
        cf_convert(src->dtype, call->computing, raw, (uint8_t *)loose + done * call->width, count);
    }
    return loose;
}

/* ---- finished results ------------------------------------------------------------------------------------------- */

static void divide(const reduction *call, void *results, int64_t n) {
    double terms = (double)call->terms;
    bool single = call->computing == CF_FLOAT32 || call->computing == CF_COMPLEX64;
    bool complex = call->computing == CF_COMPLEX64 || call->computing == CF_COMPLEX128;
    for (int64_t i = 0; i < (complex ? 2 * n : n); i++) {
        if (single) {
            ((float *)results)[i] /= (float)terms;
        } else {
            ((double *)results)[i] /= terms;
        }
    }
}

/* A sum is one from +0: only a sum of -0 alone differs from what was combined. */
CF_VECTOR static void add_zero_float(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] += 0.0f;
}

CF_VECTOR static void add_zero_double(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] += 0.0;
}

static void add_zero(int computing, void *sums, int64_t n) {
    switch (computing) {
    case CF_FLOAT32: add_zero_float(sums, n); return;
    case CF_COMPLEX64: add_zero_float(sums, 2 * n); return;
    case CF_FLOAT64: add_zero_double(sums, n); return;
    case CF_COMPLEX128: add_zero_double(sums, 2 * n); return;
    default: return;
    }
}

/* n <= COLUMNS results in the computing format: divided for a mean, rounded once and stored. */
static void finish(const reduction *call, void *results, int64_t n, int64_t position, int64_t stride) {
    uint64_t rounded[COLUMNS * CF_WIDEST / sizeof(uint64_t)];
    int dtype = call->dst->dtype;
    if (call->kernel == CF_KERNEL_SUM || call->kernel == CF_KERNEL_MEAN) add_zero(call->computing, results, n);
    if (call->kernel == CF_KERNEL_MEAN) divide(call, results, n);
    if (call->computing == CF_FLOAT32 && dtype != CF_FLOAT32 && !has_identity(call)) {
        cf_narrow_extreme(dtype, results, rounded, n);
    } else {
        cf_convert(call->computing, dtype, results, rounded, n);
    }
    cf_element_store(call->dst->bits, call->dst->data, position, stride, n, rounded);
}

/* ---- by rows ---------------------------------------------------------------------------------------------------- */

typedef struct row {
    const reduction *call;
    int64_t origin;         /* position of the row's first term, relative to the walk's */
    int64_t lanes;          /* partial results in use */
    uint64_t partial[LANES * CF_WIDEST / sizeof(uint64_t)];
} row;

static void fold_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    row *row = context;
    const reduction *call = row->call;
    int64_t stride = loop->strides[0][loop->rank - 1];
    uint64_t loose[LANES * CF_WIDEST / sizeof(uint64_t)];
    for (int64_t done = 0; done < n; done += LANES) {
        int64_t count = n - done < LANES ? n - done : LANES;
        const uint8_t *terms = terms_at(call, row->origin + positions[0] + done * stride, stride, count, loose);
        int64_t shared = count < row->lanes ? count : row->lanes;
        combine(call, row->partial, terms, shared);
        if (count > row->lanes) {
            memcpy((uint8_t *)row->partial + shared * call->width, terms + shared * call->width,
                   (size_t)((count - shared) * call->width));
            row->lanes = count;
        }
    }
}

static void fold_lanes(row *row) {
    for (int64_t n = row->lanes; n > 1; n = (n + 1) / 2) {
        int64_t half = (n + 1) / 2;
        combine(row->call, row->partial, (uint8_t *)row->partial + half * row->call->width, n - half);
    }
}

static void reduce_rows(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const reduction *call = context;
    int inner = loop->rank - 1;
    row row;
    row.call = call;
    for (int64_t i = 0; i < n; i++) {
        row.origin = positions[1] + i * loop->strides[1][inner];
        row.lanes = 0;
        cf_loop_run(&call->walk, fold_run, &row);
        if (row.lanes == 0) memcpy(row.partial, call->identity, (size_t)call->width);
        fold_lanes(&row);
        finish(call, row.partial, 1, positions[0] + i * loop->strides[0][inner], 1);
    }
}

/* ---- by columns ------------------------------------------------------------------------------------------------- */

typedef struct column {
    const reduction *call;
    int64_t origin, stride, count; /* of the block's first terms in src */
    bool begun;
    uint64_t partial[COLUMNS * CF_WIDEST / sizeof(uint64_t)];
} column;

static void fold_columns(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    column *column = context;
    const reduction *call = column->call;
    int64_t step = loop->strides[0][loop->rank - 1];
    uint64_t loose[COLUMNS * CF_WIDEST / sizeof(uint64_t)];
    for (int64_t i = 0; i < n; i++) {
        int64_t position = column->origin + positions[0] + i * step;
        const void *terms = terms_at(call, position, column->stride, column->count, loose);
        if (column->begun) {
            combine(call, column->partial, terms, column->count);
        } else {
            memcpy(column->partial, terms, (size_t)(column->count * call->width));
            column->begun = true;
        }
    }
}

static void reduce_columns(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const reduction *call = context;
    int64_t to_stride = loop->strides[0][loop->rank - 1], from_stride = loop->strides[1][loop->rank - 1];
    column column;
    column.call = call;
    column.stride = from_stride;
    for (int64_t done = 0; done < n; done += COLUMNS) {
        column.origin = positions[1] + done * from_stride;
        column.count = n - done < COLUMNS ? n - done : COLUMNS;
        column.begun = false;
        cf_loop_run(&call->walk, fold_columns, &column);
        finish(call, column.partial, column.count, positions[0] + done * to_stride, to_stride);
    }
}

/* ---- the kernels ------------------------------------------------------------------------------------------------ */

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/* Columns where neighbouring results are nearer to each other in src than the terms of one result are, and where the
 * terms of a result are too few to be worth a row. */
static bool by_columns(const cf_loop *kept, const reduction *call) {
    int64_t across = magnitude(kept->strides[1][kept->rank - 1]), results = kept->shape[kept->rank - 1];
    int64_t along = magnitude(call->walk.strides[0][call->walk.rank - 1]);
    return call->terms > 0 && results > 1 && (across < along || (call->terms <= SHORT && results >= call->terms));
}

static void set_identity(reduction *call) {
    double value = call->kernel == CF_KERNEL_PROD ? 1.0 : 0.0;
    uint64_t bits[2];
    cf_of_double(call->computing, value, bits);
    memcpy(call->identity, bits, sizeof call->identity);
}

/* What no terms give: the identity itself, 0/0 for a mean. Nothing was walked. */
static void reduce(const cf_array *dst, const cf_array *src, const cf_split *split, int kernel) {
    int computing = cf_computing(src->dtype);
    reduction call = {.dst = dst, .src = src, .terms = split->terms, .kernel = kernel, .computing = computing,
                      .width = cf_loose_bytes(cf_dtype_bits(computing)),
                      .combine = cf_operation_of(combining_kernel(kernel), computing)};
    const cf_array *walked[] = {&split->walked}, *kept[] = {dst, &split->kept};
    cf_loop loop;
    cf_loop_build(&call.walk, walked, 1, false);
    cf_loop_build(&loop, kept, 2, false);
    set_identity(&call);
    cf_loop_run(&loop, by_columns(&loop, &call) ? reduce_columns : reduce_rows, &call);
}

static bool results_fit(const cf_array *dst, const cf_split *split) {
    return cf_same_shape(dst, &split->kept);
}

static int call_reduction(int kernel, const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    const cf_array *operands[] = {dst, x};
    int answer = cf_door_enter(operands, 1, 2, cf_row_fits(kernel, dst->dtype, &x->dtype, 1));
    if (answer != CF_DONE) return answer;
    cf_split split;
    if (!cf_split_axes(&split, x, axes, count) || !results_fit(dst, &split)) {
        return cf_door_refuse(operands, 2, CF_SHAPE_MISMATCH);
    }
    bool needs_terms = kernel == CF_KERNEL_MAX || kernel == CF_KERNEL_MIN;
    if (needs_terms && split.terms == 0 && dst->layout.size > 0) {
        return cf_door_refuse(operands, 2, CF_SHAPE_MISMATCH);
    }
    if (dst->layout.size > 0 && x->layout.size > 0 && cf_identical(dst, x)) {
        return cf_door_refuse(operands, 2, CF_DECLINED);
    }
    if (cf_door_wait(operands, 1, 2)) return CF_LOST;
    if (dst->layout.size > 0) reduce(dst, x, &split, kernel);
    return cf_door_leave(operands, 2);
}

int cf_sum(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_reduction(CF_KERNEL_SUM, dst, x, axes, count);
}

int cf_prod(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_reduction(CF_KERNEL_PROD, dst, x, axes, count);
}

int cf_max(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_reduction(CF_KERNEL_MAX, dst, x, axes, count);
}

int cf_min(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_reduction(CF_KERNEL_MIN, dst, x, axes, count);
}

int cf_mean(const cf_array *dst, const cf_array *x, const int64_t *axes, int count) {
    return call_reduction(CF_KERNEL_MEAN, dst, x, axes, count);
}
