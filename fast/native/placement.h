/* What to_device copies (arrays/compact): the layout of the copy and the bytes it needs. */
#ifndef COUNTERFOIL_PLACEMENT_H
#define COUNTERFOIL_PLACEMENT_H

#include "array.h"

typedef struct cf_placement {
    cf_layout layout;               /* of the copy, over a buffer of nbytes */
    int32_t keep;                   /* 1: the copy is bytes [first_byte, first_byte + nbytes) of the buffer */
    int64_t first_byte;             /* 0 when compacting: elements move one by one */
    int64_t nbytes;
} cf_placement;

/* The plan for an array: its own layout where the bytes it spans are no more than one element per index (stride-0 axes
 * counted once), else axes by decreasing magnitude of stride, compacted, signs and stride-0 axes kept. */
void cf_placement_plan(cf_placement *out, const cf_array *array);

/* The compaction rule of the seed for a layout alone, elements of `bits` bits. */
void cf_layout_place(cf_placement *out, const cf_layout *layout, int bits);

#endif
