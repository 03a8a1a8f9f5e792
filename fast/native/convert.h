/* Conversions between dtypes and to the computing formats, over loose elements (element.h).
 *
 * Every element converts as cast does (arrays: store rule, N1). Vector code, tails and scalar code give the same bits.
 */
#ifndef COUNTERFOIL_CONVERT_H
#define COUNTERFOIL_CONVERT_H

#include <stdint.h>

#include "words.h"

/* n loose elements of dtype `from` to loose elements of dtype `to`: all 441 pairs; no overlap of in and out, except
 * in == out where the widths are equal. */
void cf_convert(int from, int to, const void *in, void *out, int64_t n);

/* The computing format of a dtype: itself for float64, float32, complex and integers of 32 and 64 bits; float32 for
 * narrower floats; int32 for int16, int8, int4; uint32 for uint16, uint8, uint4; uint8 (0 or 1) for booleans. */
int cf_computing(int dtype);

/* The bits (low 64, high 64) a float64 stores as in a dtype (the store rule), and back to the nearest float64. */
void cf_of_double(int dtype, double x, uint64_t bits[2]);
double cf_to_double(int dtype, const uint64_t bits[2]);

#endif
