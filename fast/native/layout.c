#include "layout.h"

#include "bounds.h"
#include "distinct.h"

_Static_assert(CF_RULE_ARGUMENTS_NOT_INTEGER == CF_FINE, "the core never answers the rule with code 0");

#define KNOWN (CF_LAYOUT_DISTINCT | CF_LAYOUT_REPEATED)

int cf_shape_check(int rank, const int64_t *shape, int *where) {
    cf_index size;
    *where = 0;
    if (rank > CF_MAX_RANK) return CF_RULE_LAYOUTS_RANK;
    for (int axis = 0; axis < rank; axis++) {
        if (shape[axis] >= 0) continue;
        *where = axis;
        return CF_RULE_LAYOUTS_NEGATIVE_EXTENT;
    }
    return cf_product_within(rank, shape, &size) ? CF_FINE : CF_RULE_LAYOUTS_TOO_MANY_ELEMENTS;
}

static bool has_empty_axis(const cf_layout *layout) {
    for (int axis = 0; axis < layout->rank; axis++) {
        if (layout->shape[axis] == 0) return true;
    }
    return false;
}

static void finish_empty(cf_layout *layout) {
    layout->flags = CF_LAYOUT_CONTIGUOUS | CF_LAYOUT_EMPTY | CF_LAYOUT_DISTINCT;
    layout->size = layout->offset = layout->low = layout->high = 0;
    for (int axis = 0; axis < layout->rank; axis++) layout->strides[axis] = 0;
}

static bool repeats_an_axis(const cf_layout *layout) {
    for (int axis = 0; axis < layout->rank; axis++) {
        if (layout->shape[axis] > 1 && layout->strides[axis] == 0) return true;
    }
    return false;
}

/* What is known of distinctness without a sweep. */
static uint32_t distinctness(const cf_layout *layout) {
    if (repeats_an_axis(layout)) return CF_LAYOUT_REPEATED;
    return cf_layout_nests(layout) ? CF_LAYOUT_DISTINCT : 0;
}

void cf_layout_finish(cf_layout *layout, uint32_t known) {
    if (has_empty_axis(layout)) {
        finish_empty(layout);
        return;
    }
    int64_t size = 1, low = layout->offset, high = layout->offset;
    bool contiguous = true;
    for (int axis = layout->rank - 1; axis >= 0; axis--) {
        int64_t extent = layout->shape[axis];
        if (extent == 1) {
            layout->strides[axis] = 0;
            continue;
        }
        int64_t stride = layout->strides[axis], reach = (extent - 1) * stride;
        contiguous &= stride == size;
        size *= extent;
        if (reach < 0) low += reach;
        else high += reach;
    }
    layout->size = size;
    layout->low = low;
    layout->high = high + 1;
    if (contiguous) layout->flags = CF_LAYOUT_CONTIGUOUS | CF_LAYOUT_DISTINCT;
    else layout->flags = known ? known : distinctness(layout);
}

/* The rule that a layout's positions violate, 0 if none. */
static int check_positions(int rank, const int64_t *shape, const int64_t *strides, int64_t offset) {
    cf_index low, high;
    switch (cf_span(rank, shape, strides, offset, &low, &high)) {
    case CF_SPAN_NEGATIVE:
        return CF_RULE_LAYOUTS_NEGATIVE_POSITION;
    case CF_SPAN_PAST:
        return CF_RULE_LAYOUTS_PAST_LIMIT;
    default:
        return CF_FINE;
    }
}

int cf_layout_make(cf_layout *out, int rank, const int64_t *shape, const int64_t *strides, int64_t offset, int *where) {
    int axis;
    int rule = cf_shape_check(rank, shape, where ? where : &axis);
    if (rule == CF_FINE) rule = check_positions(rank, shape, strides, offset);
    if (rule != CF_FINE) return rule;
    out->rank = rank;
    out->offset = offset;
    for (int k = 0; k < rank; k++) {
        out->shape[k] = shape[k];
        out->strides[k] = strides[k];
    }
    cf_layout_finish(out, 0);
    return CF_FINE;
}

int cf_layout_contiguous(cf_layout *out, int rank, const int64_t *shape, int *where) {
    int axis;
    int rule = cf_shape_check(rank, shape, where ? where : &axis);
    if (rule != CF_FINE) return rule;
    int64_t stride = 1;
    out->rank = rank;
    out->offset = 0;
    for (int k = rank - 1; k >= 0; k--) {
        out->shape[k] = shape[k];
        out->strides[k] = stride;
        if (shape[k] > 1) stride *= shape[k];
    }
    cf_layout_finish(out, 0);
    return CF_FINE;
}

void cf_layout_assign(cf_layout *out, const cf_layout *from) {
    out->rank = from->rank;
    out->flags = from->flags;
    out->size = from->size;
    out->offset = from->offset;
    out->low = from->low;
    out->high = from->high;
    for (int axis = 0; axis < from->rank; axis++) {
        out->shape[axis] = from->shape[axis];
        out->strides[axis] = from->strides[axis];
    }
}

bool cf_layout_equal(const cf_layout *a, const cf_layout *b) {
    if (a->rank != b->rank || a->offset != b->offset) return false;
    for (int axis = 0; axis < a->rank; axis++) {
        if (a->shape[axis] != b->shape[axis] || a->strides[axis] != b->strides[axis]) return false;
    }
    return true;
}

static bool same_shapes(int count, const cf_layout *const *layouts) {
    for (int k = 1; k < count; k++) {
        if (layouts[k]->rank != layouts[0]->rank) return false;
        for (int axis = 0; axis < layouts[0]->rank; axis++) {
            if (layouts[k]->shape[axis] != layouts[0]->shape[axis]) return false;
        }
    }
    return true;
}

/* Whether every layout walks axis `outer` and then axis `inner`, its next one kept, as one axis. */
static bool walked_as_one(int count, const cf_layout *const *layouts, int outer, int inner) {
    for (int k = 0; k < count; k++) {
        const cf_layout *layout = layouts[k];
        if (layout->strides[outer] != layout->strides[inner] * layout->shape[inner]) return false;
    }
    return true;
}

/* A layout of one axis, whose extent is 0 or 1. */
static void assign_single(cf_layout *out, const cf_layout *from, int64_t extent) {
    out->offset = from->offset;
    out->rank = 1;
    out->shape[0] = extent;
    out->strides[0] = 0;
    cf_layout_finish(out, 0);
}

/* The axes of `layouts` merged: groups[g] is the last axis of merged axis g, extents[g] its extent. Answers how
 * many. */
static int merge_axes(int count, const cf_layout *const *layouts, int groups[CF_MAX_RANK],
                      int64_t extents[CF_MAX_RANK]) {
    int merged = 0;
    for (int axis = 0; axis < layouts[0]->rank; axis++) {
        int64_t extent = layouts[0]->shape[axis];
        if (extent == 1) continue;
        if (merged > 0 && walked_as_one(count, layouts, groups[merged - 1], axis)) {
            groups[merged - 1] = axis;
            extents[merged - 1] *= extent;
        } else {
            groups[merged] = axis;
            extents[merged++] = extent;
        }
    }
    return merged;
}

bool cf_layout_coalesce(int count, const cf_layout *const *layouts, cf_layout *const *out) {
    int groups[CF_MAX_RANK];
    int64_t extents[CF_MAX_RANK];
    if (!same_shapes(count, layouts)) return false;
    bool empty = layouts[0]->flags & CF_LAYOUT_EMPTY;
    int merged = empty ? 0 : merge_axes(count, layouts, groups, extents);
    for (int k = 0; k < count; k++) {
        if (merged == 0) {
            assign_single(out[k], layouts[k], empty ? 0 : 1);
            continue;
        }
        out[k]->offset = layouts[k]->offset;
        for (int g = 0; g < merged; g++) { /* groups[g] >= g, so out[k] may be layouts[k] */
            out[k]->strides[g] = layouts[k]->strides[groups[g]];
            out[k]->shape[g] = extents[g];
        }
        out[k]->rank = merged;
        cf_layout_finish(out[k], layouts[k]->flags & KNOWN);
    }
    return true;
}
