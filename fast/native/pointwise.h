/* Pointwise kernels on loose elements, shared by the kernels themselves and by map. */
#ifndef COUNTERFOIL_POINTWISE_H
#define COUNTERFOIL_POINTWISE_H

#include <stdint.h>

#include "element.h"
#include "words.h"

enum { CF_POINTWISE_BLOCK = 512, CF_WIDEST = 16 };

/* n <= CF_POINTWISE_BLOCK elements: `kernel` (unary to fma, comparisons, where) of loose sources of `dtype`, into loose
 * elements of the result's dtype. where: sources[0] is the condition (loose, true for any non-zero byte). out may be a
 * source. Rounds once to the dtype. */
void cf_pointwise(int kernel, int dtype, const void *const *sources, int64_t n, void *out);

#endif
