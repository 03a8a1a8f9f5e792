/* Arrays: a dtype and a layout over a buffer. Plain data, immutable once made; the buffer outlives it. */
#ifndef COUNTERFOIL_ARRAY_H
#define COUNTERFOIL_ARRAY_H

#include "layout.h"
#include "memory.h"
#include "move.h"

typedef struct cf_array {
    uint8_t *data;                  /* the buffer's first byte: memory->base + buffer->offset */
    cf_buffer *buffer;
    int32_t dtype;                  /* enum cf_dtype */
    int32_t bits;                   /* bits per element */
    cf_layout layout;               /* positions count from data, in elements: p lies at bits [p*bits, (p+1)*bits) */
} cf_array;

/* Bits per element, and the multiple in bytes on which a first element lies. */
int cf_dtype_bits(int dtype);
int cf_dtype_alignment(int dtype);

/* The array of a layout over a buffer. Answers 0, or the rule violated, *out untouched: memory/dead, then (with an
 * element) arrays/past-the-end, then arrays/misaligned (in its memory, and by address where addressable). */
int cf_array_make(cf_array *out, int dtype, const cf_layout *layout, cf_buffer *buffer);

/* A C-contiguous array of a shape, as cf_array_make of cf_layout_contiguous: for fresh memory, in one call. Answers 0
 * or the rule violated. */
int cf_array_contiguous(cf_array *out, int dtype, int rank, const int64_t *shape, cf_buffer *buffer);

/* The array seen through a move (move.h): CF_MOVED, CF_NO_LAYOUT or CF_REFUSED; after CF_REFUSED, cf_layout_move on
 * the array's layout gives the fault. `out` differs from `array`. */
int cf_array_view(cf_array *out, const cf_array *array, int kind, int count, const int64_t *params);

/* The same elements over another buffer of the same bytes (a borrow, or the buffer a consume answered). */
void cf_array_rebuffer(cf_array *out, const cf_array *array, cf_buffer *buffer);

/* The array's bits as another dtype (arrays/bitcast-map). CF_MOVED, CF_NO_LAYOUT (widening's conditions fail, or the
 * result is misaligned), or CF_REFUSED with *rule memory/dead, arrays/bitcast-rank, or
 * layouts/too-many-elements (an array that repeats elements, or has none, whose shape with one more axis breaks A7). 
 * `out` differs from `array`. */
int cf_array_bitcast(cf_array *out, const cf_array *array, int dtype, int *rule);

/* The position of an index with `layout.rank` entries, or -1 if one lies outside its axis. */
int64_t cf_array_position(const cf_array *array, const int64_t *index);

/* The address of the first and one past the last byte that hold bits of the array; both 0 without an element. */
typedef struct cf_bytes {
    uintptr_t first, end;
} cf_bytes;
cf_bytes cf_array_bytes(const cf_array *array);

static inline bool cf_array_empty(const cf_array *array) {
    return array->layout.flags & CF_LAYOUT_EMPTY;
}

#endif
