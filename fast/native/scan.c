/* cumsum: the inclusive running sum along an axis, kept in the computing format, each prefix rounded once. */
#include <string.h>

#include "axes.h"
#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "operation.h"
#include "pointwise.h"

enum { BLOCK = 512 };

typedef uint64_t block[BLOCK * CF_WIDEST / sizeof(uint64_t)];

typedef struct scan {
    const cf_array *dst, *src;
    int64_t extent, to_step, from_step; /* along the axis */
    cf_operation add;
    int computing, width;
} scan;

/* n elements of src in the computing format. */
static void load(const scan *call, int64_t position, int64_t stride, int64_t n, void *terms) {
    block raw;
    cf_element_load(call->src->bits, call->src->data, position, stride, n, raw);
    cf_convert(call->src->dtype, call->computing, raw, terms, n);
}

static void store(const scan *call, int64_t position, int64_t stride, int64_t n, const void *sums) {
    block rounded;
    cf_convert(call->computing, call->dst->dtype, sums, rounded, n);
    cf_element_store(call->dst->bits, call->dst->data, position, stride, n, rounded);
}

/* ---- along the axis, one line at a time ------------------------------------------------------------------------- */

#define RUNNING(name, type)                                                                                           \
    static void name(type *terms, int64_t n, type *sum) {                                                             \
        type total = *sum;                                                                                            \
        for (int64_t i = 0; i < n; i++) terms[i] = total = (type)(total + terms[i]);                                  \
        *sum = total;                                                                                                 \
    }

/* Both parts of complex numbers. */
#define RUNNING_PAIRS(name, type)                                                                                     \
    static void name(type *terms, int64_t n, type *sums) {                                                            \
        type real = sums[0], imaginary = sums[1];                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            terms[2 * i] = real = real + terms[2 * i];                                                                \
            terms[2 * i + 1] = imaginary = imaginary + terms[2 * i + 1];                                              \
        }                                                                                                             \
        sums[0] = real;                                                                                               \
        sums[1] = imaginary;                                                                                          \
    }

RUNNING(running_float, float)
RUNNING(running_double, double)
RUNNING(running_uint32, uint32_t)
RUNNING(running_uint64, uint64_t)
RUNNING_PAIRS(running_complex64, float)
RUNNING_PAIRS(running_complex128, double)

/* Replaces n terms by running sums that go on from `sum`, one element, which becomes the last. */
static void run_sums(int computing, void *terms, int64_t n, void *sum) {
    switch (computing) {
    case CF_FLOAT32: running_float(terms, n, sum); return;
    case CF_COMPLEX64: running_complex64(terms, n, sum); return;
    case CF_FLOAT64: running_double(terms, n, sum); return;
    case CF_COMPLEX128: running_complex128(terms, n, sum); return;
    case CF_INT32:
    case CF_UINT32: running_uint32(terms, n, sum); return;
    default: running_uint64(terms, n, sum); return;
    }
}

static void scan_line(const scan *call, int64_t to, int64_t from) {
    uint64_t sum[2] = {0, 0};
    block terms;
    for (int64_t done = 0; done < call->extent; done += BLOCK) {
        int64_t count = call->extent - done < BLOCK ? call->extent - done : BLOCK;
        load(call, from + done * call->from_step, call->from_step, count, terms);
        run_sums(call->computing, terms, count, sum);
        store(call, to + done * call->to_step, call->to_step, count, terms);
    }
}

static void scan_lines(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    int inner = loop->rank - 1;
    for (int64_t i = 0; i < n; i++) {
        scan_line(context, positions[0] + i * loop->strides[0][inner], positions[1] + i * loop->strides[1][inner]);
    }
}

/* ---- across the axis, a block of lines at a time ---------------------------------------------------------------- */

static void scan_across(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const scan *call = context;
    int64_t to_stride = loop->strides[0][loop->rank - 1], from_stride = loop->strides[1][loop->rank - 1];
    block sums, terms;
    const void *in[] = {sums, terms};
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        memset(sums, 0, (size_t)(count * call->width));
        for (int64_t k = 0; k < call->extent; k++) {
            load(call, positions[1] + done * from_stride + k * call->from_step, from_stride, count, terms);
            call->add(in, sums, count);
            store(call, positions[0] + done * to_stride + k * call->to_step, to_stride, count, sums);
        }
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

static void scan_all(const cf_array *dst, const cf_array *src, int64_t axis) {
    cf_split to, from;
    cf_split_axes(&to, dst, &axis, 1);
    cf_split_axes(&from, src, &axis, 1);
    int computing = cf_computing(src->dtype);
    scan call = {dst, src, src->layout.shape[axis], dst->layout.strides[axis], src->layout.strides[axis],
                 cf_operation_of(CF_KERNEL_ADD, computing), computing, cf_loose_bytes(cf_dtype_bits(computing))};
    const cf_array *kept[] = {&to.kept, &from.kept};
    cf_loop loop;
    cf_loop_build(&loop, kept, 2, false);
    int inner = loop.rank - 1;
    bool across = loop.shape[inner] > 1 && magnitude(loop.strides[0][inner]) < magnitude(call.to_step);
    cf_loop_run(&loop, across ? scan_across : scan_lines, &call);
}

int cf_cumsum(const cf_array *dst, const cf_array *x, int64_t axis) {
    const cf_array *operands[] = {dst, x};
    int answer = cf_door_enter(operands, 1, 2, cf_row_fits(CF_KERNEL_CUMSUM, dst->dtype, &x->dtype, 1));
    if (answer != CF_DONE) return answer;
    if (!cf_same_shape(dst, x) || axis < 0 || axis >= x->layout.rank) {
        return cf_door_refuse(operands, 2, CF_SHAPE_MISMATCH);
    }
    if (cf_door_wait(operands, 1, 2)) return CF_LOST;
    if (x->layout.size > 0) scan_all(dst, x, axis);
    return cf_door_leave(operands, 2);
}
