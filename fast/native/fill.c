/* The kernels without a source: fill and iota. */
#include <string.h>

#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "loop.h"

enum { BLOCK = 512, WIDEST = 16 };

/* ---- fill ------------------------------------------------------------------------------------------------------- */

typedef struct filling {
    const cf_array *dst;
    uint64_t block[BLOCK * WIDEST / sizeof(uint64_t)];
} filling;

static void fill_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    filling *fill = context;
    int64_t stride = loop->strides[0][loop->rank - 1];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        cf_element_store(fill->dst->bits, fill->dst->data, positions[0] + done * stride, stride, count, fill->block);
    }
}

int cf_fill(const cf_array *dst, uint64_t low, uint64_t high) {
    int answer = cf_door_enter(&dst, 1, 1, true);
    if (answer != CF_DONE) return answer;
    if (cf_door_wait(&dst, 1, 1)) return CF_LOST;
    filling fill = {.dst = dst};
    uint64_t value[2] = {low, high};
    int width = cf_loose_bytes(dst->bits);
    for (int i = 0; i < BLOCK; i++) memcpy((uint8_t *)fill.block + i * width, value, (size_t)width);
    cf_loop loop;
    cf_loop_build(&loop, &dst, 1, false);
    cf_loop_run(&loop, fill_run, &fill);
    return cf_door_leave(&dst, 1);
}

/* ---- iota ------------------------------------------------------------------------------------------------------- */

typedef struct counting {
    const cf_array *dst;
    int64_t axis_stride, extent;
} counting;

/* The coordinates first, first + 1, ... as elements of the dtype. */
static void coordinates(int dtype, int64_t first, int64_t count, void *block) {
    int64_t values[BLOCK];
    for (int64_t i = 0; i < count; i++) values[i] = first + i;
    cf_convert(CF_INT64, dtype, values, block, count);
}

/* At each element of the layout's face (the axis left out), one run along the axis. */
static void count_run(void *context, const cf_loop *loop, int64_t n, const int64_t *positions) {
    const counting *count = context;
    const cf_array *dst = count->dst;
    int64_t stride = loop->strides[0][loop->rank - 1];
    uint64_t block[BLOCK * WIDEST / sizeof(uint64_t)];
    for (int64_t done = 0; done < count->extent; done += BLOCK) {
        int64_t length = count->extent - done < BLOCK ? count->extent - done : BLOCK;
        coordinates(dst->dtype, done, length, block);
        for (int64_t i = 0; i < n; i++) {
            int64_t first = positions[0] + i * stride + done * count->axis_stride;
            cf_element_store(dst->bits, dst->data, first, count->axis_stride, length, block);
        }
    }
}

static void count_along(const cf_array *dst, int64_t axis) {
    if (dst->layout.flags & CF_LAYOUT_EMPTY) return;
    counting count = {dst, dst->layout.strides[axis], dst->layout.shape[axis]};
    cf_array face = *dst;
    const cf_array *faces[] = {&face};
    face.layout.size /= face.layout.shape[axis];
    face.layout.shape[axis] = 1;
    face.layout.strides[axis] = 0;
    face.layout.flags = 0; /* no longer known */
    cf_loop loop;
    cf_loop_build(&loop, faces, 1, false);
    cf_loop_run(&loop, count_run, &count);
}

int cf_iota(const cf_array *dst, int64_t axis) {
    int answer = cf_door_enter(&dst, 1, 1, cf_row_fits(CF_KERNEL_IOTA, dst->dtype, NULL, 0));
    if (answer != CF_DONE) return answer;
    if (axis < 0 || axis >= dst->layout.rank) return cf_door_refuse(&dst, 1, CF_SHAPE_MISMATCH);
    if (cf_door_wait(&dst, 1, 1)) return CF_LOST;
    count_along(dst, axis);
    return cf_door_leave(&dst, 1);
}
