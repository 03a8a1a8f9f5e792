/* The kernels that move elements: copy (one dtype, bits kept) and cast (any pair). */
#include "convert.h"
#include "copy.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"

enum { BLOCK = 2048, WIDEST = 16 };

/* Elements at stride 1 of a byte or more are converted where they lie; others pass through loose storage. */
static void cast_block(const cf_array *dst, const cf_array *src, int64_t to, int64_t to_stride, int64_t from,
                       int64_t from_stride, int64_t n) {
    uint8_t source[BLOCK * WIDEST], target[BLOCK * WIDEST];
    bool source_loose = from_stride == 1 && src->bits >= 8, target_loose = to_stride == 1 && dst->bits >= 8;
    const uint8_t *in = source_loose ? src->data + from * (src->bits / 8) : source;
    uint8_t *out = target_loose ? dst->data + to * (dst->bits / 8) : target;
    if (!source_loose) cf_element_load(src->bits, src->data, from, from_stride, n, source);
    cf_convert(src->dtype, dst->dtype, in, out, n);
    if (!target_loose) cf_element_store(dst->bits, dst->data, to, to_stride, n, target);
}

static void cast_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const cf_array *const *operands = context;
    int64_t to_stride = loop->strides[0][loop->rank - 1], from_stride = loop->strides[1][loop->rank - 1];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        cast_block(operands[0], operands[1], positions[0] + done * to_stride, to_stride,
                   positions[1] + done * from_stride, from_stride, count);
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
        cf_loop_run(&loop, cast_run, operands);
    }
    return cf_door_leave(operands, 2);
}
