/* What float32 arithmetic and a store would not do right for narrower floats (operation.h). */
#include "convert.h"
#include "format.h"
#include "operation.h"
#include "vector.h"

enum { BLOCK = 256 };

static bool is_wide(int dtype) { return dtype == CF_FLOAT16 || dtype == CF_BFLOAT16; }

/* ---- signs ------------------------------------------------------------------------------------------------------ */

#define SIGNS(type)                                                                                                   \
    CF_VECTOR static void signs_##type(const type *x, type keep, type flip, type *out, int64_t n) {                   \
        for (int64_t i = 0; i < n; i++) out[i] = (type)((x[i] & keep) ^ flip);                                        \
    }

SIGNS(uint8_t)
SIGNS(uint16_t)

void cf_narrow_sign(int dtype, bool negate, const void *x, void *out, int64_t n) {
    int sign = is_wide(dtype) ? 0x8000 : dtype == CF_FLOAT4_E2M1FN ? 8 : 0x80;
    int keep = negate ? 0xffff : 0xffff & ~sign, flip = negate ? sign : 0;
    if (is_wide(dtype)) {
        signs_uint16_t(x, (uint16_t)keep, (uint16_t)flip, out, n);
    } else {
        signs_uint8_t(x, (uint8_t)keep, (uint8_t)flip, out, n);
    }
}

/* ---- extremes --------------------------------------------------------------------------------------------------- */

void cf_narrow_extreme(int dtype, const float *extremes, void *out, int64_t n) {
    cf_convert(CF_FLOAT32, dtype, extremes, out, n);
    if (dtype != CF_FLOAT8_E5M2) return; /* of the formats that saturate only this one has infinities */
    uint8_t *codes = out;
    for (int64_t i = 0; i < n; i++) {
        uint32_t magnitude = cf_bits_of_float(extremes[i]) & 0x7fffffffu;
        if (magnitude == 0x7f800000u) codes[i] = (uint8_t)((codes[i] & 0x80) | 0x7c);
    }
}

/* ---- fma -------------------------------------------------------------------------------------------------------- */

/* x*y + z rounded to odd: the product of two narrow floats is exact in double, and what the sum drops is exact too. */
static inline double odd_multiply_add(float x, float y, float z) {
    double product = (double)x * (double)y, addend = z, sum = product + addend;
    double part = sum - product, dropped = (product - (sum - part)) + (addend - part);
    uint64_t bits = cf_bits_of_double(sum);
    uint64_t toward_zero = (dropped != 0) & ((dropped < 0) != (sum < 0)); /* the sum was rounded away from zero */
    uint64_t odd = (bits - toward_zero) | (dropped != 0);
    return cf_double_of_bits(dropped - dropped == 0 && sum - sum == 0 ? odd : bits);
}

CF_VECTOR static void odd_multiply_adds(const float *x, const float *y, const float *z, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = odd_multiply_add(x[i], y[i], z[i]);
}

void cf_narrow_fma(int dtype, const float *x, const float *y, const float *z, void *out, int64_t n) {
    double exact[BLOCK];
    int width = is_wide(dtype) ? 2 : 1;
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t count = n - done < BLOCK ? n - done : BLOCK;
        odd_multiply_adds(x + done, y + done, z + done, exact, count);
        cf_convert(CF_FLOAT64, dtype, exact, (uint8_t *)out + done * width, count);
    }
}
