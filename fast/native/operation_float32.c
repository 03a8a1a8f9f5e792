/* float32 operations, also for narrower floats: those round once more, harmlessly, since 24 bits are at least twice the
 * narrow precision plus two. Functions are computed in double and rounded. */
#include <math.h>

#include "convert.h"
#include "format.h"
#include "operation.h"
#include "vector.h"

#define REAL float
#define WIDE double
#define BITS_OF cf_bits_of_float
#define OF_BITS cf_float_of_bits
#define SQRT sqrtf
#define FABS fabsf
#define FLOOR floorf
#define CEIL ceilf
#define TRUNC truncf
#define ROUND roundf
#define FMOD fmodf
#define FMA fmaf
#define PICK cf_float32_operation

#include "operation_float.inc"

enum { BLOCK = 256 };

/* x*y + z rounded to odd: the product of two narrow floats is exact in double, and what the sum drops is known exactly. */
static inline double odd_multiply_add(float x, float y, float z) {
    double product = (double)x * (double)y, addend = z, sum = product + addend;
    double part = sum - product, dropped = (product - (sum - part)) + (addend - part);
    uint64_t bits = cf_bits_of_double(sum);
    uint64_t toward_zero = (dropped != 0) & ((dropped < 0) != (sum < 0)); /* the sum was rounded away from zero */
    uint64_t odd = (bits - toward_zero) | (dropped != 0);
    return cf_double_of_bits(dropped - dropped == 0 && sum - sum == 0 ? odd : bits);
}

void cf_narrow_fma(int dtype, const float *x, const float *y, const float *z, void *out, int64_t n) {
    double exact[BLOCK];
    int width = dtype == CF_FLOAT16 || dtype == CF_BFLOAT16 ? 2 : 1;
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        for (int64_t i = 0; i < count; i++) exact[i] = odd_multiply_add(x[done + i], y[done + i], z[done + i]);
        cf_convert(CF_FLOAT64, dtype, exact, (uint8_t *)out + done * width, count);
    }
}
