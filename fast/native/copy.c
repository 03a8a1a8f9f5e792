/* Copies between layouts (copy.h). */
#include "copy.h"

#include <string.h>

#include "door.h"
#include "element.h"
#include "loop.h"
#include "stream.h"
#include "transpose.h"

enum { BLOCK = 1024, WIDEST = 16 };

typedef struct copying {
    const cf_array *dst, *src;
    int64_t bytes;   /* of an element; 0 for sub-byte elements */
    bool streamed;
} copying;

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Bits that start at the same place of a byte on both sides are whole bytes but for the first and last. */
static void copy_bits(const copying *copy, const int64_t *positions, int64_t n) {
    int bits = copy->dst->bits, per_byte = 8 / bits;
    int64_t head = -positions[0] & (per_byte - 1);
    uint8_t loose[8];
    if (head > n) head = n;
    cf_element_load(bits, copy->src->data, positions[1], 1, head, loose);
    cf_element_store(bits, copy->dst->data, positions[0], 1, head, loose);
    int64_t bytes = (n - head) / per_byte, tail = (n - head) % per_byte, done = head + bytes * per_byte;
    cf_stream_copy(copy->dst->data + (positions[0] + head) / per_byte,
                   copy->src->data + (positions[1] + head) / per_byte, (size_t)bytes);
    cf_element_load(bits, copy->src->data, positions[1] + done, 1, tail, loose);
    cf_element_store(bits, copy->dst->data, positions[0] + done, 1, tail, loose);
}

/* Any strides, through loose storage. */
static void copy_blocks(const copying *copy, const int64_t *positions, int64_t to_stride, int64_t from_stride,
                        int64_t n) {
    uint64_t loose[BLOCK * WIDEST / sizeof(uint64_t)];
    int bits = copy->dst->bits;
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        cf_element_load(bits, copy->src->data, positions[1] + done * from_stride, from_stride, count, loose);
        cf_element_store(bits, copy->dst->data, positions[0] + done * to_stride, to_stride, count, loose);
    }
}

static void copy_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const copying *copy = context;
    int64_t to_stride = loop->strides[0][loop->rank - 1], from_stride = loop->strides[1][loop->rank - 1];
    uint8_t *to = copy->dst->data + positions[0] * copy->bytes;
    const uint8_t *from = copy->src->data + positions[1] * copy->bytes;
    if (copy->bytes == 0) {
        int per_byte = 8 / copy->dst->bits;
        if (to_stride == 1 && from_stride == 1 && (positions[0] - positions[1]) % per_byte == 0) {
            copy_bits(copy, positions, n);
        } else {
            copy_blocks(copy, positions, to_stride, from_stride, n);
        }
    } else if (to_stride == 1 && from_stride == 1) {
        cf_stream_copy(to, from, (size_t)(n * copy->bytes));
    } else if (to_stride == 1) {
        cf_element_load(copy->dst->bits, copy->src->data, positions[1], from_stride, n, to);
    } else if (from_stride == 1) {
        cf_element_store(copy->dst->bits, copy->dst->data, positions[0], to_stride, n, from);
    } else {
        copy_blocks(copy, positions, to_stride, from_stride, n);
    }
}

/* ---- transposed ------------------------------------------------------------------------------------------------- */

/* The loop axis along which the source runs, if the destination runs along the innermost one and both are worth a
 * tile; -1 if there is none. */
static int64_t transposed_axis(const cf_loop *loop, int64_t bytes) {
    int inner = loop->rank - 1;
    if (bytes == 0 || bytes > 8 || loop->strides[0][inner] != 1 || loop->strides[1][inner] == 1) return -1;
    int64_t least = CF_LINE / bytes;
    for (int axis = 0; axis < inner; axis++) {
        if (loop->strides[1][axis] == 1 && loop->shape[axis] >= least && loop->shape[inner] >= least) return axis;
    }
    return -1;
}

/* The plane of two axes at each index of the others; those two have extent 1 in the loop that visits the planes. */
typedef struct plane {
    copying copy;
    int64_t rows, columns, to_stride, from_stride;
} plane;

static void copy_plane(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const plane *plane = context;
    const copying *copy = &plane->copy;
    (void)loop, (void)n; /* the innermost axis is one of the plane's: n is 1 */
    cf_transpose((int)copy->bytes, copy->dst->data + positions[0] * copy->bytes, plane->to_stride,
                 copy->src->data + positions[1] * copy->bytes, plane->from_stride, plane->rows, plane->columns,
                 copy->streamed);
}

static void copy_transposed(const copying *copy, cf_loop *loop, int64_t axis) {
    int inner = loop->rank - 1;
    plane plane = {*copy, loop->shape[axis], loop->shape[inner], loop->strides[0][axis], loop->strides[1][inner]};
    loop->size /= loop->shape[axis] * loop->shape[inner];
    loop->shape[axis] = loop->shape[inner] = 1;
    cf_loop_run(loop, copy_plane, &plane);
}

void cf_copy_elements(const cf_array *dst, const cf_array *src) {
    if ((dst->layout.flags & CF_LAYOUT_EMPTY) || cf_identical(dst, src)) return;
    const cf_array *operands[] = {dst, src};
    int64_t bytes = dst->bits / 8;
    copying copy = {dst, src, bytes, (size_t)(dst->layout.size * bytes) >= CF_STREAM_BYTES};
    cf_loop loop;
    cf_loop_build(&loop, operands, 2, false);
    int64_t axis = transposed_axis(&loop, bytes);
    if (axis >= 0) {
        copy_transposed(&copy, &loop, axis);
    } else {
        cf_loop_run(&loop, copy_run, &copy);
    }
}
