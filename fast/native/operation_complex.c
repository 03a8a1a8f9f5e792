/* Complex operations. A product's components are the exact ac - bd and ad + bc, each rounded once; where a factor is
 * not finite they are computed as written, in float64. Order is by real part, then imaginary part. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "format.h"
#include "operation.h"
#include "vector.h"

/* ---- exact sums of two products --------------------------------------------------------------------------------- */

/* p + q rounded once to float: p and q are exact products of floats, held in double. */
static inline float float_of_sum(double p, double q) {
    double sum = p + q, part = sum - p, dropped = (p - (sum - part)) + (q - part);
    uint64_t bits = cf_bits_of_double(sum);
    uint64_t toward_zero = (dropped != 0) & ((dropped < 0) != (sum < 0));
    return (float)cf_double_of_bits(dropped == 0 ? bits : (bits - toward_zero) | 1);
}

static inline float float_determinant(float a, float b, float c, float d) {
    double p = (double)a * b, q = (double)c * d;
    return p - p == 0 && q - q == 0 ? float_of_sum(p, q) : (float)(p + q);
}

/* Binary128 holds any product of two doubles exactly, its range being past them all; what the sum drops is exact.
 * Its name is the compiler's: long double where that is binary128 (arm64), __float128 in clang on x86-64, where clang
 * lacks the standard's name, else the standard's. */
#if LDBL_MANT_DIG == 113
typedef long double quad;
#elif defined(__clang__)
__extension__ typedef __float128 quad;
#else
__extension__ typedef _Float128 quad;
#endif
_Static_assert(sizeof(quad) == 16, "quad is binary128");

static quad odd_quad(quad p, quad q) {
    quad sum = p + q, part = sum - p, dropped = (p - (sum - part)) + (q - part);
    if (dropped == 0) return sum;
    __extension__ unsigned __int128 bits;
    memcpy(&bits, &sum, sizeof bits);
    if ((dropped < 0) != (sum < 0)) bits -= 1;
    bits |= 1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static double double_determinant(double a, double b, double c, double d) {
    if (!isfinite(a) || !isfinite(b) || !isfinite(c) || !isfinite(d)) return a * b + c * d;
    return (double)odd_quad((quad)a * b, (quad)c * d);
}

/* ---- the table, once per component type ------------------------------------------------------------------------- */

#define COMPLEX(REAL, NAME, DETERMINANT)                                                                              \
    CF_VECTOR static void NAME##_neg(const void *const *in, void *result, int64_t n) {                                \
        const REAL *xs = in[0];                                                                                       \
        REAL *out = result;                                                                                           \
        for (int64_t i = 0; i < 2 * n; i++) out[i] = -xs[i];                                                          \
    }                                                                                                                 \
    CF_VECTOR static void NAME##_add(const void *const *in, void *result, int64_t n) {                                \
        const REAL *xs = in[0], *ys = in[1];                                                                          \
        REAL *out = result;                                                                                           \
        for (int64_t i = 0; i < 2 * n; i++) out[i] = xs[i] + ys[i];                                                   \
    }                                                                                                                 \
    CF_VECTOR static void NAME##_sub(const void *const *in, void *result, int64_t n) {                                \
        const REAL *xs = in[0], *ys = in[1];                                                                          \
        REAL *out = result;                                                                                           \
        for (int64_t i = 0; i < 2 * n; i++) out[i] = xs[i] - ys[i];                                                   \
    }                                                                                                                 \
    static void NAME##_mul(const void *const *in, void *result, int64_t n) {                                          \
        const REAL *xs = in[0], *ys = in[1];                                                                          \
        REAL *out = result;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            REAL a = xs[2 * i], b = xs[2 * i + 1], c = ys[2 * i], d = ys[2 * i + 1];                                  \
            out[2 * i] = DETERMINANT(a, c, -b, d);                                                                    \
            out[2 * i + 1] = DETERMINANT(a, d, b, c);                                                                 \
        }                                                                                                             \
    }                                                                                                                 \
    COMPARISON(REAL, NAME##_equal, a == c && b == d)                                                                  \
    COMPARISON(REAL, NAME##_not_equal, a != c || b != d)                                                              \
    COMPARISON(REAL, NAME##_less, ORDERED && (a < c || (a == c && b < d)))                                            \
    COMPARISON(REAL, NAME##_less_equal, ORDERED && (a < c || (a == c && b <= d)))                                     \
    static const cf_operation NAME##_table[CF_KERNELS] = {                                                            \
        [CF_KERNEL_NEG] = NAME##_neg, [CF_KERNEL_ADD] = NAME##_add, [CF_KERNEL_SUB] = NAME##_sub,                     \
        [CF_KERNEL_MUL] = NAME##_mul, [CF_KERNEL_EQUAL] = NAME##_equal, [CF_KERNEL_NOT_EQUAL] = NAME##_not_equal,     \
        [CF_KERNEL_LESS] = NAME##_less, [CF_KERNEL_LESS_EQUAL] = NAME##_less_equal,                                   \
    };

#define ORDERED (a == a && b == b && c == c && d == d)

#define COMPARISON(REAL, name, expression)                                                                            \
    static void name(const void *const *in, void *result, int64_t n) {                                                \
        const REAL *xs = in[0], *ys = in[1];                                                                          \
        uint8_t *out = result;                                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                                             \
            REAL a = xs[2 * i], b = xs[2 * i + 1], c = ys[2 * i], d = ys[2 * i + 1];                                  \
            out[i] = (uint8_t)(expression);                                                                           \
        }                                                                                                             \
    }

COMPLEX(float, complex64, float_determinant)
COMPLEX(double, complex128, double_determinant)

cf_operation cf_complex_operation(int kernel, int computing) {
    return computing == CF_COMPLEX64 ? complex64_table[kernel] : complex128_table[kernel];
}
