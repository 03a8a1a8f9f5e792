#include "placement.h"

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Indices of the layout, an axis of stride 0 counted once. */
static int64_t places(const cf_layout *layout) {
    int64_t count = 1;
    for (int axis = 0; axis < layout->rank; axis++) {
        if (layout->strides[axis] != 0) count *= layout->shape[axis];
    }
    return count;
}

/* The axes that move, by decreasing magnitude of stride, ties in axis order; answers how many. */
static int moving_axes(const cf_layout *layout, int axes[CF_MAX_RANK]) {
    int count = 0;
    for (int axis = 0; axis < layout->rank; axis++) {
        if (layout->strides[axis] == 0) continue;
        int at = count++;
        int64_t step = magnitude(layout->strides[axis]);
        for (; at > 0 && magnitude(layout->strides[axes[at - 1]]) < step; at--) axes[at] = axes[at - 1];
        axes[at] = axis;
    }
    return count;
}

static void compact(cf_layout *out, const cf_layout *from) {
    int axes[CF_MAX_RANK];
    int64_t stride = 1;
    cf_layout_assign(out, from);
    out->offset = 0;
    for (int k = moving_axes(from, axes) - 1; k >= 0; k--) {
        int axis = axes[k];
        bool down = from->strides[axis] < 0;
        out->strides[axis] = down ? -stride : stride;
        if (down) out->offset += (from->shape[axis] - 1) * stride; /* so that the least position is 0 */
        stride *= from->shape[axis];
    }
    cf_layout_finish(out, 0);
}

void cf_layout_place(cf_placement *out, const cf_layout *layout, int bits) {
    int64_t need = (places(layout) * bits + 7) / 8;
    int64_t first = layout->low * bits / 8, last = (layout->high * bits + 7) / 8;
    out->keep = last - first <= need;
    out->first_byte = out->keep ? first : 0;
    out->nbytes = out->keep ? last - first : need;
    if (!out->keep) {
        compact(&out->layout, layout);
        return;
    }
    cf_layout_assign(&out->layout, layout);
    int64_t skipped = first * 8 / bits;
    out->layout.offset -= skipped;
    out->layout.low -= skipped;
    out->layout.high -= skipped;
}

void cf_placement_plan(cf_placement *out, const cf_array *array) {
    cf_layout_place(out, &array->layout, array->bits);
}
