/* The float formats, one value at a time, branch-free so that loops over them become vector code.
 *
 * Encoders take a float and round once, to nearest, ties to even. Values below the format's least normal are rounded by
 * adding a power of two whose last place is the format's least subnormal; the rest by an integer add on the bits.
 * A finite value past the last finite one, and an infinity: the last finite code where the format saturates.
 */
#ifndef COUNTERFOIL_FORMAT_H
#define COUNTERFOIL_FORMAT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t cf_bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float cf_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t cf_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double cf_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The magnitude bits of `magnitude`, a non-negative float, rounded to `fraction` bits and rebiased from 127 to `bias`;
 * `least` is the format's least normal, `magic` the power of two that rounds below it. Overflow is left to callers. */
static inline uint32_t cf_round_magnitude(uint32_t magnitude, int fraction, int bias, float least, float magic) {
    int shift = 23 - fraction;
    uint32_t half = (1u << (shift - 1)) - 1, even = (magnitude >> shift) & 1;
    uint32_t normal = ((magnitude + half + even) >> shift) - ((uint32_t)(127 - bias) << fraction);
    uint32_t small = cf_bits_of_float(cf_float_of_bits(magnitude) + magic) - cf_bits_of_float(magic);
    return magnitude < cf_bits_of_float(least) ? small : normal;
}

static inline uint16_t cf_f16_of_float(float x) {
    uint32_t bits = cf_bits_of_float(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
    uint32_t code = cf_round_magnitude(magnitude, 10, 15, 0x1p-14f, 0x1p-1f);
    code = code > 0x7c00u || magnitude >= 0x7f800000u ? 0x7c00u : code;
    code = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : code;
    return (uint16_t)(sign | code);
}

static inline uint16_t cf_bf16_of_float(float x) {
    uint32_t bits = cf_bits_of_float(x), magnitude = bits & 0x7fffffffu;
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40u;
    return (uint16_t)(magnitude > 0x7f800000u ? quiet : rounded);
}

static inline uint8_t cf_e4m3fn_of_float(float x) {
    uint32_t bits = cf_bits_of_float(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 24) & 0x80u;
    uint32_t bounded = magnitude > 0x43e00000u ? 0x43e00000u : magnitude; /* 448 */
    uint32_t code = cf_round_magnitude(bounded, 3, 7, 0x1p-6f, 0x1p14f);
    code = magnitude > 0x7f800000u ? 0x7fu : code;
    return (uint8_t)(sign | code);
}

static inline uint8_t cf_e5m2_of_float(float x) {
    uint32_t bits = cf_bits_of_float(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 24) & 0x80u;
    uint32_t bounded = magnitude > 0x47600000u ? 0x47600000u : magnitude; /* 57344 */
    uint32_t code = cf_round_magnitude(bounded, 2, 15, 0x1p-14f, 0x1p7f);
    code = magnitude > 0x7f800000u ? 0x7fu : code;
    return (uint8_t)(sign | code);
}

static inline uint8_t cf_e2m1fn_of_float(float x) {
    uint32_t bits = cf_bits_of_float(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 28) & 0x8u;
    uint32_t bounded = magnitude > 0x40c00000u ? 0x40c00000u : magnitude; /* 6 */
    uint32_t code = cf_round_magnitude(bounded, 1, 1, 1.0f, 0x1p22f) | sign;
    return (uint8_t)(magnitude > 0x7f800000u ? 0u : code);
}

/* A narrow magnitude moved under float's exponent and scaled by the difference of the biases: exact, subnormals too. */
static inline float cf_scaled(uint32_t magnitude, float scale) { return cf_float_of_bits(magnitude) * scale; }

static inline float cf_float_of_f16(uint16_t code) {
    uint32_t magnitude = code & 0x7fffu, sign = (uint32_t)(code & 0x8000u) << 16;
    uint32_t value = cf_bits_of_float(cf_scaled(magnitude << 13, 0x1p112f));
    uint32_t special = 0x7f800000u | ((magnitude & 0x3ffu) << 13) | (magnitude > 0x7c00u ? 0x400000u : 0u);
    return cf_float_of_bits(sign | (magnitude >= 0x7c00u ? special : value));
}

static inline float cf_float_of_bf16(uint16_t code) {
    uint32_t bits = (uint32_t)code << 16;
    return cf_float_of_bits(bits | ((bits & 0x7fffffffu) > 0x7f800000u ? 0x400000u : 0u));
}

static inline float cf_float_of_e4m3fn(uint8_t code) {
    uint32_t magnitude = code & 0x7fu, sign = (uint32_t)(code & 0x80u) << 24;
    uint32_t value = cf_bits_of_float(cf_scaled(magnitude << 20, 0x1p120f));
    return cf_float_of_bits(sign | (magnitude == 0x7fu ? 0x7fc00000u : value));
}

static inline float cf_float_of_e5m2(uint8_t code) {
    uint32_t magnitude = code & 0x7fu, sign = (uint32_t)(code & 0x80u) << 24;
    uint32_t value = cf_bits_of_float(cf_scaled(magnitude << 21, 0x1p112f));
    uint32_t special = magnitude > 0x7cu ? 0x7fc00000u : 0x7f800000u;
    return cf_float_of_bits(sign | (magnitude >= 0x7cu ? special : value));
}

static inline float cf_float_of_e2m1fn(uint8_t code) {
    uint32_t magnitude = code & 0x7u, sign = (uint32_t)(code & 0x8u) << 28;
    return cf_float_of_bits(sign | cf_bits_of_float(cf_scaled(magnitude << 22, 0x1p126f)));
}

static inline int cf_int4_value(uint8_t code) { return ((code & 15) ^ 8) - 8; }

/* Truncation with saturation, NaN to 0; the bounds are floats, so comparisons decide exactly. */
static inline int32_t cf_clamp_float(float x, float low, float high) {
    float bounded = x > low ? x : low; /* NaN: low */
    bounded = bounded < high ? bounded : high;
    return (int32_t)(x == x ? bounded : 0.0f);
}

/* The greatest int32 is no float: it is put in place of what is past the float below it. */
static inline int32_t cf_int32_of_float(float x) {
    int32_t whole = cf_clamp_float(x, -0x1p31f, 0x1.fffffep30f);
    return x >= 0x1p31f ? INT32_MAX : whole;
}

static inline int64_t cf_clamp_double(double x, double low, double high) {
    double bounded = x > low ? x : low;
    bounded = bounded < high ? bounded : high;
    return (int64_t)(x == x ? bounded : 0.0);
}

static inline int64_t cf_int64_of_double(double x) {
    if (x >= 0x1p63) return INT64_MAX;
    if (x < -0x1p63) return INT64_MIN;
    return x == x ? (int64_t)x : 0;
}

static inline uint64_t cf_uint64_of_double(double x) {
    if (x >= 0x1p64) return UINT64_MAX;
    return x > 0.0 ? (uint64_t)x : 0;
}

/* Round to odd: truncated, the last bit set if anything was dropped. NaN keeps its sign and top payload bits. */
static inline float cf_odd_float(double x) {
    float nearest = (float)x;
    double back = (double)nearest;
    uint32_t bits = cf_bits_of_float(nearest);
    uint64_t nearest_magnitude = cf_bits_of_double(back) & INT64_MAX, magnitude = cf_bits_of_double(x) & INT64_MAX;
    uint32_t odd = (bits - (nearest_magnitude > magnitude)) | (nearest_magnitude != magnitude);
    return cf_float_of_bits(magnitude > 0x7ff0000000000000u ? bits : odd);
}

/* An integer as a double of at most 52 significant bits, the dropped ones summed up in the last one kept. */
static inline double cf_odd_double_of_uint64(uint64_t value) {
    uint64_t folded = (value & ~(uint64_t)0xfff) | ((value & 0xfff) != 0 ? 0x1000 : 0);
    return (double)(value >> 53 ? folded : value);
}

static inline double cf_odd_double_of_int64(int64_t value) {
    double magnitude = cf_odd_double_of_uint64(value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    return value < 0 ? -magnitude : magnitude;
}

#endif
