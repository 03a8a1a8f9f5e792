/* The kernels that move elements: copy (one dtype, bits kept) and cast (any pair). */
#include "convert.h"
#include "copy.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"
#include "stream.h"

enum { BLOCK = 2048, WIDEST = 16 };

/* An innermost run. */
typedef struct run {
    const cf_array *dst, *src;
    int64_t to, to_stride, from, from_stride;
} run;

/* Elements done .. done + n - 1, n <= BLOCK, to `out`. At stride 1 whole bytes are read where they lie. */
static void cast_block(const run *run, int64_t done, int64_t n, void *out) {
    const cf_array *src = run->src;
    uint64_t loose[BLOCK * WIDEST / sizeof(uint64_t)];
    int64_t position = run->from + done * run->from_stride;
    const void *in = src->data + position * (src->bits / 8);
    if (run->from_stride != 1 || src->bits < 8) {
        cf_element_load(src->bits, src->data, position, run->from_stride, n, loose);
        in = loose;
    }
    cf_convert(src->dtype, run->dst->dtype, in, out, n);
}

/* As cf_produce: a strip has at most CF_STRIP elements, no more than a block. */
static void produce(void *context, int64_t first, int64_t n, void *out) { cast_block(context, first, n, out); }

/* To where dst lies, if it lies loose there, else through storage. */
static void cast_run(const run *run, int64_t n) {
    const cf_array *dst = run->dst;
    bool loose = run->to_stride == 1 && dst->bits >= 8;
    uint64_t storage[BLOCK * WIDEST / sizeof(uint64_t)];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK, position = run->to + done * run->to_stride;
        cast_block(run, done, count, loose ? dst->data + position * (dst->bits / 8) : (uint8_t *)storage);
        if (!loose) cf_element_store(dst->bits, dst->data, position, run->to_stride, count, storage);
    }
}

static void visit_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const cf_array *const *operands = context, *dst = operands[0];
    int inner = loop->rank - 1;
    run run = {dst, operands[1], positions[0], loop->strides[0][inner], positions[1], loop->strides[1][inner]};
    int64_t bytes = dst->bits / 8;
    if (run.to_stride == 1 && cf_stream_pays(bytes, n) && !cf_identical(dst, operands[1])) {
        cf_stream_run(dst->data + run.to * bytes, bytes, n, produce, &run);
    } else {
        cast_run(&run, n);
    }
}

/* Enters the door for dst and x of one shape and waits; CF_DONE holds the claims. */
static int enter(int kernel, const cf_array *const *operands) {
    int answer = cf_door_enter(operands, 1, 2, cf_row_fits(kernel, operands[0]->dtype, &operands[1]->dtype, 1));
    if (answer != CF_DONE) return answer;
    if (!cf_same_shape(operands[0], operands[1])) return cf_door_refuse(operands, 2, CF_SHAPE_MISMATCH);
    return cf_door_wait(operands, 1, 2) ? CF_LOST : CF_DONE;
}

int cf_copy(const cf_array *dst, const cf_array *x) {
    const cf_array *operands[] = {dst, x};
    int answer = enter(CF_KERNEL_COPY, operands);
    if (answer != CF_DONE) return answer;
    cf_copy_elements(dst, x);
    return cf_door_leave(operands, 2);
}

int cf_cast(const cf_array *dst, const cf_array *x) {
    const cf_array *operands[] = {dst, x};
    int answer = enter(CF_KERNEL_CAST, operands);
    if (answer != CF_DONE) return answer;
    if (dst->dtype == x->dtype) {
        cf_copy_elements(dst, x);
    } else {
        cf_loop loop;
        cf_loop_build(&loop, operands, 2, false);
        cf_loop_run(&loop, visit_run, operands);
    }
    return cf_door_leave(operands, 2);
}
