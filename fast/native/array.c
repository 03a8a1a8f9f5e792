#include "array.h"

#include <stddef.h>

#include "bounds.h"

#define WIDTH_ROW(code, name, bits, kind, alignment, exponent, fraction) [code] = (bits),
#define ALIGNMENT_ROW(code, name, bits, kind, alignment, exponent, fraction) [code] = (alignment),
static const uint8_t widths[CF_DTYPES] = {CF_DTYPE_ROWS(WIDTH_ROW)};
static const uint8_t alignments[CF_DTYPES] = {CF_DTYPE_ROWS(ALIGNMENT_ROW)};

int cf_dtype_bits(int dtype) {
    return widths[dtype];
}

int cf_dtype_alignment(int dtype) {
    return alignments[dtype];
}

/* Whether the buffer's first byte is on a multiple of the dtype's alignment: then every position is. */
static bool aligned(const cf_buffer *buffer, int dtype) {
    uintptr_t mask = alignments[dtype] - 1u, address = (uintptr_t)buffer->memory->base + (uintptr_t)buffer->offset;
    if ((uintptr_t)buffer->offset & mask) return false;
    return !buffer->addressable || (address & mask) == 0;
}

/* Everything but the layout. */
static void dress(cf_array *out, int dtype, cf_buffer *buffer) {
    out->data = buffer->memory->base + buffer->offset;
    out->buffer = buffer;
    out->dtype = dtype;
    out->bits = widths[dtype];
}

static int check(int dtype, const cf_layout *layout, const cf_buffer *buffer) {
    if (cf_buffer_dead(buffer)) return CF_RULE_MEMORY_DEAD;
    if (layout->flags & CF_LAYOUT_EMPTY) return CF_FINE;
    if (!cf_reach_within_bytes(layout->high, widths[dtype], buffer->nbytes)) return CF_RULE_ARRAYS_PAST_THE_END;
    return aligned(buffer, dtype) ? CF_FINE : CF_RULE_ARRAYS_MISALIGNED;
}

int cf_array_make(cf_array *out, int dtype, const cf_layout *layout, cf_buffer *buffer) {
    int rule = check(dtype, layout, buffer);
    if (rule != CF_FINE) return rule;
    dress(out, dtype, buffer);
    cf_layout_assign(&out->layout, layout);
    return CF_FINE;
}

int cf_array_contiguous(cf_array *out, int dtype, int rank, const int64_t *shape, cf_buffer *buffer) {
    cf_layout layout;
    int rule = cf_layout_contiguous(&layout, rank, shape, NULL);
    return rule == CF_FINE ? cf_array_make(out, dtype, &layout, buffer) : rule;
}

void cf_array_rebuffer(cf_array *out, const cf_array *array, cf_buffer *buffer) {
    dress(out, array->dtype, buffer);
    if (out != array) cf_layout_assign(&out->layout, &array->layout);
}

int cf_array_view(cf_array *out, const cf_array *array, int kind, int count, const int64_t *params) {
    cf_fault fault;
    out->data = array->data;
    out->buffer = array->buffer;
    out->dtype = array->dtype;
    out->bits = array->bits;
    return cf_layout_move(&out->layout, &array->layout, kind, count, params, &fault);
}

/* ---- bitcast ---- */

/* The layout over elements `ratio` times narrower: one more axis. Positions stay within the buffer's bits, but an array
 * that repeats elements, or has none, can have too large a shape; answers that rule, 0 if none. */
static int narrow(cf_layout *out, const cf_layout *from, int64_t ratio) {
    cf_index size;
    out->rank = from->rank + 1;
    out->offset = from->offset * ratio;
    for (int axis = 0; axis < from->rank; axis++) {
        out->shape[axis] = from->shape[axis];
        out->strides[axis] = from->strides[axis] * ratio;
    }
    out->shape[from->rank] = ratio;
    out->strides[from->rank] = 1;
    if (!cf_product_within(out->rank, out->shape, &size)) return CF_RULE_LAYOUTS_TOO_MANY_ELEMENTS;
    cf_layout_finish(out, 0);
    return CF_FINE;
}

/* The layout over elements `ratio` times wider, without its last axis; false where it does not divide. */
static bool widen(cf_layout *out, const cf_layout *from, int64_t ratio) {
    int last = from->rank - 1;
    if (last < 0 || from->shape[last] != ratio) return false;
    bool empty = from->flags & CF_LAYOUT_EMPTY;
    if (!empty && (from->strides[last] != 1 || from->offset % ratio != 0)) return false;
    out->rank = last;
    out->offset = from->offset / ratio;
    for (int axis = 0; axis < last; axis++) {
        if (from->strides[axis] % ratio != 0) return false; /* without an element all are 0 */
        out->shape[axis] = from->shape[axis];
        out->strides[axis] = from->strides[axis] / ratio;
    }
    cf_layout_finish(out, 0);
    return true;
}

static int refuse(int *rule, int why) {
    *rule = why;
    return CF_REFUSED;
}

int cf_array_bitcast(cf_array *out, const cf_array *array, int dtype, int *rule) {
    const cf_layout *layout = &array->layout;
    int from = array->bits, to = widths[dtype];
    if (cf_buffer_dead(array->buffer)) return refuse(rule, CF_RULE_MEMORY_DEAD);
    if (to < from && layout->rank == CF_MAX_RANK) return refuse(rule, CF_RULE_ARRAYS_BITCAST_RANK);
    *rule = to < from ? narrow(&out->layout, layout, from / to) : CF_FINE;
    if (*rule != CF_FINE) return CF_REFUSED;
    if (to == from) cf_layout_assign(&out->layout, layout);
    if (to > from && !widen(&out->layout, layout, to / from)) return CF_NO_LAYOUT;
    if (!(out->layout.flags & CF_LAYOUT_EMPTY) && !aligned(array->buffer, dtype)) return CF_NO_LAYOUT;
    dress(out, dtype, array->buffer);
    return CF_MOVED;
}

/* ---- positions ---- */

int64_t cf_array_position(const cf_array *array, const int64_t *index) {
    const cf_layout *layout = &array->layout;
    int64_t position = layout->offset;
    for (int axis = 0; axis < layout->rank; axis++) {
        if (index[axis] < 0 || index[axis] >= layout->shape[axis]) return -1;
        position += index[axis] * layout->strides[axis];
    }
    return position;
}

cf_bytes cf_array_bytes(const cf_array *array) {
    const cf_layout *layout = &array->layout;
    if (layout->flags & CF_LAYOUT_EMPTY) return (cf_bytes){0, 0};
    uintptr_t start = (uintptr_t)array->data;
    int64_t bits = array->bits;
    return (cf_bytes){start + (uintptr_t)(layout->low * bits / 8), start + (uintptr_t)((layout->high * bits + 7) / 8)};
}
