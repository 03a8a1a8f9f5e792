#include "loop.h"

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* One axis of one element for every operand walked in steps of 1: a run, if all are C-contiguous. */
static bool single_run(cf_loop *loop, const cf_array *const *operands, int count) {
    for (int k = 0; k < count; k++) {
        if (!(operands[k]->layout.flags & CF_LAYOUT_CONTIGUOUS)) return false;
        loop->start[k] = operands[k]->layout.offset;
        loop->strides[k][0] = 1;
    }
    loop->rank = 1;
    loop->shape[0] = loop->size;
    return true;
}

/* Copies the axes of more than one index. */
static void take_axes(cf_loop *loop, const cf_array *const *operands, int count) {
    const cf_layout *first = &operands[0]->layout;
    loop->rank = 0;
    for (int axis = 0; axis < first->rank; axis++) {
        if (first->shape[axis] == 1) continue;
        loop->shape[loop->rank] = first->shape[axis];
        for (int k = 0; k < count; k++) loop->strides[k][loop->rank] = operands[k]->layout.strides[axis];
        loop->rank++;
    }
    for (int k = 0; k < count; k++) loop->start[k] = operands[k]->layout.offset;
}

/* Walks an axis from its other end where the first operand that moves on it moves down. */
static void turn_axis(cf_loop *loop, int axis) {
    int k = 0;
    while (k < loop->count && loop->strides[k][axis] == 0) k++;
    if (k == loop->count || loop->strides[k][axis] > 0) return;
    for (k = 0; k < loop->count; k++) {
        loop->start[k] += (loop->shape[axis] - 1) * loop->strides[k][axis];
        loop->strides[k][axis] = -loop->strides[k][axis];
    }
}

/* Whether axis a belongs outside axis b: larger steps outside, the first operand (a written one) deciding first. */
static bool belongs_outside(const cf_loop *loop, int a, int b) {
    for (int k = 0; k < loop->count; k++) {
        int64_t step_a = magnitude(loop->strides[k][a]), step_b = magnitude(loop->strides[k][b]);
        if (step_a != step_b) return step_a > step_b;
    }
    return false;
}

static void swap_axes(cf_loop *loop, int a, int b) {
    int64_t extent = loop->shape[a];
    loop->shape[a] = loop->shape[b];
    loop->shape[b] = extent;
    for (int k = 0; k < loop->count; k++) {
        int64_t stride = loop->strides[k][a];
        loop->strides[k][a] = loop->strides[k][b];
        loop->strides[k][b] = stride;
    }
}

static void order_axes(cf_loop *loop) {
    for (int axis = 0; axis < loop->rank; axis++) turn_axis(loop, axis);
    for (int i = 1; i < loop->rank; i++) {
        for (int j = i; j > 0 && belongs_outside(loop, j, j - 1); j--) swap_axes(loop, j, j - 1);
    }
}

static bool walked_as_one(const cf_loop *loop, int outer, int inner) {
    for (int k = 0; k < loop->count; k++) {
        if (loop->strides[k][outer] != loop->strides[k][inner] * loop->shape[inner]) return false;
    }
    return true;
}

/* Merges neighbouring axes that every operand walks as one. */
static void merge_axes(cf_loop *loop) {
    int merged = 0;
    for (int axis = 1; axis < loop->rank; axis++) {
        int64_t extent = loop->shape[axis];
        bool one = walked_as_one(loop, merged, axis);
        if (!one) merged++;
        loop->shape[merged] = one ? loop->shape[merged] * extent : extent;
        for (int k = 0; k < loop->count; k++) loop->strides[k][merged] = loop->strides[k][axis];
    }
    loop->rank = merged + 1;
}

/* A loop always has an axis: a scalar's has one index. */
static void add_unit_axis(cf_loop *loop) {
    loop->rank = 1;
    loop->shape[0] = 1;
    for (int k = 0; k < loop->count; k++) loop->strides[k][0] = 1;
}

void cf_loop_build(cf_loop *loop, const cf_array *const *operands, int count, bool keep_order) {
    loop->count = count;
    loop->size = operands[0]->layout.size;
    if (single_run(loop, operands, count)) return; /* also where there is no element */
    take_axes(loop, operands, count);
    if (!keep_order) order_axes(loop);
    if (loop->rank == 0) add_unit_axis(loop);
    else merge_axes(loop);
}

/* Steps the outer axes to their next index; false past the last. */
static bool advance(const cf_loop *loop, int64_t *index, int64_t *positions) {
    for (int axis = loop->rank - 2; axis >= 0; axis--) {
        bool more = ++index[axis] < loop->shape[axis];
        int64_t steps = more ? 1 : 1 - loop->shape[axis];
        for (int k = 0; k < loop->count; k++) positions[k] += steps * loop->strides[k][axis];
        if (more) return true;
        index[axis] = 0;
    }
    return false;
}

void cf_loop_run(const cf_loop *loop, cf_run body, void *context) {
    int64_t index[CF_MAX_RANK], positions[CF_LOOP_OPERANDS];
    if (loop->size == 0) return;
    for (int axis = 0; axis < loop->rank; axis++) index[axis] = 0;
    for (int k = 0; k < loop->count; k++) positions[k] = loop->start[k];
    do body(context, loop, loop->shape[loop->rank - 1], positions);
    while (advance(loop, index, positions));
}
