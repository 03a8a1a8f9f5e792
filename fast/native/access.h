/* The host's own reads and writes of elements (A13): claim, checks, wait, access, release, in one call each.
 *
 * Answers: CF_DONE, CF_DEAD_BUFFER, CF_HELD_EXCLUSIVE, CF_READ_ONLY, CF_OFF_HOST, CF_REPEATED_ELEMENTS, CF_LOST
 * (door.h), or CF_OUTSIDE for an index. The caller words the refusal. Bits: low 64 then high 64, the element's code in
 * the lowest.
 */
#ifndef COUNTERFOIL_ACCESS_H
#define COUNTERFOIL_ACCESS_H

#include "array.h"

#define CF_OUTSIDE 11               /* an index entry lies outside its axis */

/* get and set of one element; `index` has rank entries (the caller checks the number). */
int cf_array_get(const cf_array *array, const int64_t *index, uint64_t bits[2]);
int cf_array_set(const cf_array *array, const int64_t *index, const uint64_t bits[2]);

/* All elements in C order, to loose storage (element.h): size * max(1, bits / 8) bytes. */
int cf_array_read(const cf_array *array, void *loose);

/* The same without claims, checks or waits, and its opposite: for arrays the caller holds or nobody else knows. */
void cf_array_gather(const cf_array *array, void *loose);
void cf_array_scatter(const cf_array *array, const void *loose);

/* Zeroes the bits past the last element of a fresh C-contiguous array's last byte (arrays/fresh-tail). */
void cf_array_zero_tail(const cf_array *array);

/* The elements of src into dst, bit for bit: same dtype width, one shape, dst distinct; identical, or no byte shared.
 * No claims or waits. Writes no bit beside dst's elements. */
void cf_array_transfer(const cf_array *dst, const cf_array *src);

/* Claim for reading or writing, off-host check, wait: for `reading`, `writing` and copies; CF_DONE holds the claim. */
int cf_array_enter(const cf_array *array, bool writing);

#endif
