/* Whether a layout reaches a position twice (A2). */
#ifndef COUNTERFOIL_DISTINCT_H
#define COUNTERFOIL_DISTINCT_H

#include "layout.h"

/* The nesting test: each stride, by magnitude, exceeds the reach of all smaller ones. True implies distinct. */
bool cf_layout_nests(const cf_layout *layout);

/* A2: exact for spans up to 2^32 positions, the nesting test above. Never wrong for want of memory: without scratch
 * the same sweep goes through a window of fixed size, more slowly. Reads layout->flags first, and writes nothing. */
bool cf_layout_is_distinct(const cf_layout *layout);

#endif
