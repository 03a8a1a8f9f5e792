/* exp of a float, written so that loops over it become vector code: below 2 units in the last place. */
#ifndef COUNTERFOIL_EXPONENTIAL_H
#define COUNTERFOIL_EXPONENTIAL_H

#include "format.h"

/* x = k ln 2 + r with |r| <= ln 2 / 2; exp r by its series to degree 7; the power of two in two halves, so that
 * subnormal results are reached without losing the quotient's bits. */
static inline float cf_exp_float(float x) {
    const float log2e = 0x1.715476p+0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f, shifter = 0x1.8p23f;
    float bounded = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x; /* past both ends of the results' range */
    float k = (bounded * log2e + shifter) - shifter;
    float r = (bounded - k * ln2_high) - k * ln2_low;
    float series = 0x1.a01a02p-13f;
    series = series * r + 0x1.6c16c2p-10f;
    series = series * r + 0x1.111112p-7f;
    series = series * r + 0x1.555556p-5f;
    series = series * r + 0x1.555556p-3f;
    series = series * r + 0.5f;
    float power = (series * r) * r + r + 1.0f;
    int32_t whole = (int32_t)k, half = whole / 2;
    float first = cf_float_of_bits((uint32_t)(half + 127) << 23);
    float second = cf_float_of_bits((uint32_t)(whole - half + 127) << 23);
    float result = power * first * second;
    return x != x ? x : result;
}

#endif
