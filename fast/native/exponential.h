/* exp, written so that loops over it become vector code, below 2 units in the last place.
 *
 * x = k ln 2 + r with |r| <= ln 2 / 2; exp r by its series; the power of two in two halves, so that subnormal results
 * are reached without losing the quotient's bits. Arguments are bounded first, past both ends of the results' range.
 */
#ifndef COUNTERFOIL_EXPONENTIAL_H
#define COUNTERFOIL_EXPONENTIAL_H

#include "format.h"

static inline float cf_exp_float(float x) {
    const float log2e = 0x1.715476p+0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f, shifter = 0x1.8p23f;
    float bounded = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
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

static inline double cf_exp_double(double x) {
    const double log2e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    const double shifter = 0x1.8p52;
    double bounded = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
    double shifted = bounded * log2e + shifter, k = shifted - shifter;
    double r = (bounded - k * ln2_high) - k * ln2_low;
    double series = 0x1.6124613a86d09p-33; /* 1/13!, and so on up to 1/2! */
    series = series * r + 0x1.1eed8eff8d898p-29;
    series = series * r + 0x1.ae64567f544e4p-26;
    series = series * r + 0x1.27e4fb7789f5cp-22;
    series = series * r + 0x1.71de3a556c734p-19;
    series = series * r + 0x1.a01a01a01a01ap-16;
    series = series * r + 0x1.a01a01a01a01ap-13;
    series = series * r + 0x1.6c16c16c16c17p-10;
    series = series * r + 0x1.1111111111111p-7;
    series = series * r + 0x1.5555555555555p-5;
    series = series * r + 0x1.5555555555555p-3;
    series = series * r + 0.5;
    double power = (series * r) * r + r + 1.0;
    int64_t whole = (int64_t)(cf_bits_of_double(shifted) - cf_bits_of_double(shifter)), half = whole / 2;
    double first = cf_double_of_bits((uint64_t)(half + 1023) << 52);
    double second = cf_double_of_bits((uint64_t)(whole - half + 1023) << 52);
    double result = power * first * second;
    return x != x ? x : result;
}

#endif
