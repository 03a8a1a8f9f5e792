/* Copies of elements between layouts, bit for bit: no claims, no checks, no conversion. */
#ifndef COUNTERFOIL_COPY_H
#define COUNTERFOIL_COPY_H

#include "array.h"

/* dst's elements become src's; one shape and one width, dst distinct, and either identical or sharing no byte.
 * Contiguous runs are copied as bytes, transposed ones by tiles, large destinations by streaming stores. */
void cf_copy_elements(const cf_array *dst, const cf_array *src);

#endif
