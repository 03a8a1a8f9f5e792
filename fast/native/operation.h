/* What pointwise kernels compute, over contiguous elements of a computing format (convert.h). */
#ifndef COUNTERFOIL_OPERATION_H
#define COUNTERFOIL_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "words.h"

/* n elements: out[i] from in[0][i], in[1][i], ... All are of the computing format, but a comparison's out is uint8 (0
 * or 1). out may be one of the inputs. */
typedef void (*cf_operation)(const void *const *in, void *out, int64_t n);

/* The operation of a pointwise kernel in a computing format; NULL where the kernel's row has no such dtype, and for
 * where and copies, which move bits. */
cf_operation cf_operation_of(int kernel, int computing);

/* By family, used by cf_operation_of alone. */
cf_operation cf_float32_operation(int kernel);
cf_operation cf_float64_operation(int kernel);
cf_operation cf_integer_operation(int kernel, int computing);
cf_operation cf_complex_operation(int kernel, int computing);

/* For floats of 16 bits and less, where float32 and a store would not do. fma: x, y, z held as float32, exact until the
 * one rounding to `dtype`. Signs: neg, else abs, on the loose codes themselves, so that NaN and infinities are kept.
 * Extremes: float32 values that are elements of `dtype`, an infinity among them, to their loose codes. */
void cf_narrow_fma(int dtype, const float *x, const float *y, const float *z, void *out, int64_t n);
void cf_narrow_sign(int dtype, bool negate, const void *x, void *out, int64_t n);
void cf_narrow_extreme(int dtype, const float *extremes, void *out, int64_t n);

#endif
