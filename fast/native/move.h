/* Moves of layouts: reshape, broadcast, permute, slice, window (moves/...).
 *
 * A move is a kind, a count of entries, and a flat list of int64 parameters:
 *   CF_RESHAPE, CF_BROADCAST   count extents
 *   CF_PERMUTE                 count axes
 *   CF_SLICE                   count times (start, count, step)
 *   CF_WINDOW                  count times (axis, size, step, dilation)
 * Entries outside int64 may be saturated by the caller: no answer changes, and refusals name the caller's own values.
 */
#ifndef COUNTERFOIL_MOVE_H
#define COUNTERFOIL_MOVE_H

#include "layout.h"

enum cf_move {
    CF_RESHAPE = 0,
    CF_BROADCAST = 1,
    CF_PERMUTE = 2,
    CF_SLICE = 3,
    CF_WINDOW = 4
};

#define CF_MOVED 1                  /* *out is the moved layout */
#define CF_NO_LAYOUT 0              /* a reshape that no strides express (moves/reshape-none) */
#define CF_REFUSED (-1)             /* *fault says why; *out is unspecified */

/* Moves a layout: the checks of `move_shape` in its order, then the layout. `out` differs from `layout`.
 * move_shape itself is this on a contiguous layout, which every move can express. */
int cf_layout_move(cf_layout *out, const cf_layout *layout, int kind, int count, const int64_t *params,
                   cf_fault *fault);

/* The five, each as cf_layout_move. */
int cf_move_reshape(cf_layout *out, const cf_layout *layout, int rank, const int64_t *shape, cf_fault *fault);
int cf_move_broadcast(cf_layout *out, const cf_layout *layout, int rank, const int64_t *shape, cf_fault *fault);
int cf_move_permute(cf_layout *out, const cf_layout *layout, int count, const int64_t *axes, cf_fault *fault);
int cf_move_slice(cf_layout *out, const cf_layout *layout, int count, const int64_t *ranges, cf_fault *fault);
int cf_move_window(cf_layout *out, const cf_layout *layout, int count, const int64_t *windows, cf_fault *fault);

#endif
