/* Splitting axes (axes.h). */
#include "axes.h"

#include <string.h>

static bool mark(bool *walked, int rank, const int64_t *axes, int count) {
    memset(walked, 0, (size_t)rank * sizeof *walked);
    for (int i = 0; i < count; i++) {
        if (axes[i] < 0 || axes[i] >= rank || walked[axes[i]]) return false;
        walked[axes[i]] = true;
    }
    return true;
}

static void append(cf_layout *layout, int64_t extent, int64_t stride) {
    layout->shape[layout->rank] = extent;
    layout->strides[layout->rank] = stride;
    layout->rank++;
    layout->size *= extent;
}

static void begin(cf_array *part, const cf_array *array, int64_t offset) {
    part->data = array->data;
    part->buffer = array->buffer;
    part->dtype = array->dtype;
    part->bits = array->bits;
    part->layout.rank = 0;
    part->layout.flags = 0;
    part->layout.size = 1;
    part->layout.offset = offset;
}

static void end(cf_array *part) {
    if (part->layout.size == 0) part->layout.flags |= CF_LAYOUT_EMPTY;
}

bool cf_split_axes(cf_split *split, const cf_array *array, const int64_t *axes, int count) {
    bool walked[CF_MAX_RANK];
    const cf_layout *layout = &array->layout;
    if (count > layout->rank || !mark(walked, layout->rank, axes, count)) return false;
    begin(&split->kept, array, layout->offset);
    begin(&split->walked, array, 0);
    for (int axis = 0; axis < layout->rank; axis++) {
        append(walked[axis] ? &split->walked.layout : &split->kept.layout, layout->shape[axis], layout->strides[axis]);
    }
    end(&split->kept);
    end(&split->walked);
    split->terms = split->walked.layout.size;
    return true;
}
