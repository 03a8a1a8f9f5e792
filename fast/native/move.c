#include "move.h"

#include "bounds.h"

static int refuse(cf_fault *fault, int rule, int of, int where) {
    fault->rule = rule;
    fault->of = of;
    fault->where = where;
    return CF_REFUSED;
}

/* Checks the shape a move asks for; CF_MOVED if it is one. */
static int check_target(cf_fault *fault, int rank, const int64_t *shape) {
    int where;
    int rule = cf_shape_check(rank, shape, &where);
    return rule == CF_FINE ? CF_MOVED : refuse(fault, rule, CF_OF_TARGET, where);
}

static int finish(cf_layout *out, uint32_t known) {
    cf_layout_finish(out, known);
    return CF_MOVED;
}

/* ---- reshape ---- */

static int64_t product(int rank, const int64_t *shape) {
    int64_t size = 1;
    for (int axis = 0; axis < rank; axis++) size *= shape[axis];
    return size;
}

static void set_contiguous(cf_layout *out, int64_t stride) {
    for (int axis = out->rank - 1; axis >= 0; axis--) {
        out->strides[axis] = stride;
        stride *= out->shape[axis];
    }
}

/* Splits one run of `out`'s axes [first, end) in C order, the last at `stride`. */
static void split_run(cf_layout *out, int first, int end, int64_t stride) {
    for (int axis = end - 1; axis >= first; axis--) {
        out->strides[axis] = stride;
        stride *= out->shape[axis];
    }
}

static int skip_ones(const int64_t *shape, int rank, int axis) {
    while (axis < rank && shape[axis] == 1) axis++;
    return axis;
}

/* Axes of old and new are taken in matching groups: the least ones whose extents have one product. Strides express the
 * group iff its old axes are walked as one, for its elements then are one run. Both shapes have one product > 0. */
static int regroup(cf_layout *out, const cf_layout *old) {
    int i = skip_ones(old->shape, old->rank, 0), j = skip_ones(out->shape, out->rank, 0);
    while (i < old->rank && j < out->rank) {
        int first = j, last = i;
        int64_t from = old->shape[i++], to = out->shape[j++];
        while (from != to) {
            if (to < from) {
                to *= out->shape[j++];
                continue;
            }
            i = skip_ones(old->shape, old->rank, i);
            if (old->strides[last] != old->strides[i] * old->shape[i]) return CF_NO_LAYOUT;
            last = i;
            from *= old->shape[i++];
        }
        split_run(out, first, j, old->strides[last]);
        i = skip_ones(old->shape, old->rank, i);
        j = skip_ones(out->shape, out->rank, j);
    }
    return CF_MOVED;
}

int cf_move_reshape(cf_layout *out, const cf_layout *layout, int rank, const int64_t *shape, cf_fault *fault) {
    if (check_target(fault, rank, shape) != CF_MOVED) return CF_REFUSED;
    if (product(rank, shape) != layout->size) return refuse(fault, CF_RULE_MOVES_RESHAPE_COUNT, CF_OF_ARGUMENT, 0);
    out->rank = rank;
    out->offset = layout->offset;
    for (int axis = 0; axis < rank; axis++) out->shape[axis] = shape[axis];
    if (layout->flags & CF_LAYOUT_CONTIGUOUS) set_contiguous(out, 1);
    else if (regroup(out, layout) == CF_NO_LAYOUT) return CF_NO_LAYOUT;
    return finish(out, layout->flags & (CF_LAYOUT_DISTINCT | CF_LAYOUT_REPEATED)); /* the same positions */
}

/* ---- broadcast ---- */

int cf_move_broadcast(cf_layout *out, const cf_layout *layout, int rank, const int64_t *shape, cf_fault *fault) {
    if (check_target(fault, rank, shape) != CF_MOVED) return CF_REFUSED;
    int added = rank - layout->rank;
    if (added < 0) return refuse(fault, CF_RULE_MOVES_BROADCAST_RANK, CF_OF_ARGUMENT, 0);
    out->rank = rank;
    out->offset = layout->offset;
    for (int axis = 0; axis < added; axis++) {
        out->shape[axis] = shape[axis];
        out->strides[axis] = 0;
    }
    for (int axis = 0; axis < layout->rank; axis++) {
        int64_t extent = layout->shape[axis], target = shape[added + axis];
        if (extent != 1 && extent != target)
            return refuse(fault, CF_RULE_MOVES_BROADCAST_EXTENT, CF_OF_ARGUMENT, axis);
        out->shape[added + axis] = target;
        out->strides[added + axis] = layout->strides[axis]; /* 0 where the extent is 1: layouts are canonical */
    }
    return finish(out, 0);
}

/* ---- permute ---- */

static bool in_c_order(const cf_layout *layout) {
    int64_t stride = 1;
    for (int axis = layout->rank - 1; axis >= 0; axis--) {
        if (layout->shape[axis] == 1) continue;
        if (layout->strides[axis] != stride) return false;
        stride *= layout->shape[axis];
    }
    return true;
}

int cf_move_permute(cf_layout *out, const cf_layout *layout, int count, const int64_t *axes, cf_fault *fault) {
    int rank = layout->rank;
    uint32_t seen = 0; /* one bit per axis: 32 at most */
    if (count != rank) return refuse(fault, CF_RULE_MOVES_PERMUTE_LENGTH, CF_OF_ARGUMENT, 0);
    for (int entry = 0; entry < rank; entry++) {
        int64_t axis = axes[entry];
        if (axis < 0 || axis >= rank) return refuse(fault, CF_RULE_MOVES_PERMUTE_AXIS, CF_OF_ARGUMENT, entry);
        if (seen >> axis & 1) return refuse(fault, CF_RULE_MOVES_PERMUTE_REPEAT, CF_OF_ARGUMENT, entry);
        seen |= UINT32_C(1) << axis;
        out->shape[entry] = layout->shape[axis];
        out->strides[entry] = layout->strides[axis];
    }
    out->rank = rank;
    out->size = layout->size;
    out->offset = layout->offset;
    out->low = layout->low;
    out->high = layout->high;
    out->flags = layout->flags; /* the positions are the same; only their order may be another */
    if (!(out->flags & CF_LAYOUT_EMPTY)) {
        out->flags &= ~CF_LAYOUT_CONTIGUOUS;
        if (out->flags & CF_LAYOUT_DISTINCT && in_c_order(out)) out->flags |= CF_LAYOUT_CONTIGUOUS;
    }
    return CF_MOVED;
}

/* ---- slice ---- */

/* The rule that one range (start, count, step) of an axis violates, 0 if none. */
static int check_range(int64_t extent, const int64_t range[3]) {
    int64_t start = range[0], count = range[1], step = range[2];
    if (step == 0) return CF_RULE_MOVES_SLICE_STEP;
    if (count < 0) return CF_RULE_MOVES_SLICE_COUNT;
    if (count > 0 && (start < 0 || start >= extent)) return CF_RULE_MOVES_SLICE_START;
    return cf_last_within(extent, start, count, step) ? CF_FINE : CF_RULE_MOVES_SLICE_LAST;
}

int cf_move_slice(cf_layout *out, const cf_layout *layout, int count, const int64_t *ranges, cf_fault *fault) {
    if (count != layout->rank) return refuse(fault, CF_RULE_MOVES_SLICE_RANGES, CF_OF_ARGUMENT, 0);
    int64_t offset = layout->offset;
    bool empty = false;
    for (int axis = 0; axis < count; axis++) {
        const int64_t *range = ranges + 3 * axis;
        int rule = check_range(layout->shape[axis], range);
        if (rule != CF_FINE) return refuse(fault, rule, CF_OF_ARGUMENT, axis);
        out->shape[axis] = range[1];
        out->strides[axis] = 0;
        empty |= range[1] == 0;
        if (empty) continue; /* nothing is reached any more: starts are free and may be huge */
        offset += range[0] * layout->strides[axis];
        if (range[1] > 1) out->strides[axis] = layout->strides[axis] * range[2];
    }
    out->rank = count;
    out->offset = offset;
    return finish(out, layout->flags & CF_LAYOUT_DISTINCT); /* some of the positions */
}

/* ---- window ---- */

/* The rule that window `entry` violates, 0 if none; `previous` is the axis before it, -1 for the first. */
static int check_window(const cf_layout *layout, const int64_t window[4], int64_t previous) {
    int64_t axis = window[0], size = window[1], step = window[2], dilation = window[3];
    if (axis < 0 || axis >= layout->rank) return CF_RULE_MOVES_WINDOW_AXIS;
    if (axis <= previous) return CF_RULE_MOVES_WINDOW_ORDER;
    if (size < 1) return CF_RULE_MOVES_WINDOW_SIZE;
    if (step < 1) return CF_RULE_MOVES_WINDOW_STEP;
    if (dilation < 1) return CF_RULE_MOVES_WINDOW_DILATION;
    return cf_window_count(layout->shape[axis], size, step, dilation) > 0 ? CF_FINE : CF_RULE_MOVES_WINDOW_FIT;
}

static int check_windows(const cf_layout *layout, int count, const int64_t *windows, cf_fault *fault) {
    int64_t previous = -1;
    for (int entry = 0; entry < count; entry++) {
        int rule = check_window(layout, windows + 4 * entry, previous);
        if (rule != CF_FINE) return refuse(fault, rule, CF_OF_ARGUMENT, entry);
        previous = windows[4 * entry];
    }
    if (layout->rank + count > CF_MAX_RANK) return refuse(fault, CF_RULE_LAYOUTS_RANK, CF_OF_TARGET, 0);
    return CF_MOVED;
}

int cf_move_window(cf_layout *out, const cf_layout *layout, int count, const int64_t *windows, cf_fault *fault) {
    if (check_windows(layout, count, windows, fault) != CF_MOVED) return CF_REFUSED;
    int rank = layout->rank;
    cf_layout_assign(out, layout);
    out->rank = rank + count;
    for (int entry = 0; entry < count; entry++) {
        const int64_t *window = windows + 4 * entry;
        int64_t axis = window[0], size = window[1], step = window[2], dilation = window[3];
        int64_t many = cf_window_count(layout->shape[axis], size, step, dilation);
        int64_t stride = layout->strides[axis];
        out->shape[axis] = many;
        out->strides[axis] = many > 1 ? stride * step : 0; /* one window: its step may be huge */
        out->shape[rank + entry] = size;
        out->strides[rank + entry] = size > 1 ? stride * dilation : 0;
    }
    if (check_target(fault, out->rank, out->shape) != CF_MOVED) return CF_REFUSED;
    return finish(out, 0);
}

/* ---- any ---- */

int cf_layout_move(cf_layout *out, const cf_layout *layout, int kind, int count, const int64_t *params,
                   cf_fault *fault) {
    switch (kind) {
    case CF_RESHAPE:
        return cf_move_reshape(out, layout, count, params, fault);
    case CF_BROADCAST:
        return cf_move_broadcast(out, layout, count, params, fault);
    case CF_PERMUTE:
        return cf_move_permute(out, layout, count, params, fault);
    case CF_SLICE:
        return cf_move_slice(out, layout, count, params, fault);
    default:
        return cf_move_window(out, layout, count, params, fault);
    }
}
