/* Elements in and out of memory: packed sub-byte elements, strides, and the computing formats.
 *
 * "Loose" elements are contiguous, one per max(1, bits/8) bytes: a sub-byte element is a byte with its code in the low
 * bits. Stores of sub-byte elements change no neighbour, atomically: bytes shared with other elements are written by
 * compare-and-swap (relaxed; the claims order everything else), whole bytes plainly.
 */
#ifndef COUNTERFOIL_ELEMENT_H
#define COUNTERFOIL_ELEMENT_H

#include <stdint.h>

/* n elements of `bits` bits at positions first, first + stride, ... of data, to or from loose storage. */
void cf_element_load(int bits, const uint8_t *data, int64_t first, int64_t stride, int64_t n, void *loose);
void cf_element_store(int bits, uint8_t *data, int64_t first, int64_t stride, int64_t n, const void *loose);

/* Bytes of a loose element. */
static inline int cf_loose_bytes(int bits) { return bits < 8 ? 1 : bits / 8; }

#endif
