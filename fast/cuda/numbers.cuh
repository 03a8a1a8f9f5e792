/* The 21 dtypes on a device: codes (an element's bits), the types that compute, conversions and stores (N1).
 *
 * A code is an element's bits as an unsigned integer, a sub-byte element's in the low bits of a byte; a complex one is
 * a pair of codes. Narrow floats compute in float and round once, integers of less than 32 bits in 32, booleans as bool.
 * Every conversion is written on bits where hardware is free to choose (the bits of NaN) and rounds once otherwise. The
 * codes of dtypes (CF_FLOAT64 ...) are defined before this file.
 */
#ifndef COUNTERFOIL_NUMBERS_CUH
#define COUNTERFOIL_NUMBERS_CUH

#define CF_DEVICE __device__ __forceinline__

typedef unsigned char cf_u8;
typedef unsigned short cf_u16;
typedef unsigned cf_u32;
typedef unsigned long long cf_u64;
typedef signed char cf_i8;
typedef short cf_i16;
typedef int cf_i32;
typedef long long cf_i64;

template <class T> struct cf_pair {
    T re, im;
};

/* ---- bits ------------------------------------------------------------------------------------------------------- */

template <class TO, class FROM> CF_DEVICE TO cf_same_bits(FROM from) {
    static_assert(sizeof(TO) == sizeof(FROM), "as many bits");
    TO to;
    memcpy(&to, &from, sizeof to);
    return to;
}

CF_DEVICE cf_u32 cf_bits_of(float x) { return cf_same_bits<cf_u32>(x); }
CF_DEVICE cf_u64 cf_bits_of(double x) { return cf_same_bits<cf_u64>(x); }
CF_DEVICE float cf_real_of(cf_u32 bits) { return cf_same_bits<float>(bits); }
CF_DEVICE double cf_real_of(cf_u64 bits) { return cf_same_bits<double>(bits); }

/* ---- what each dtype is ----------------------------------------------------------------------------------------- */

enum cf_kind { CF_IS_FLOAT, CF_IS_COMPLEX, CF_IS_SIGNED, CF_IS_UNSIGNED, CF_IS_BOOLEAN };

template <int D> struct cf_traits;

#define CF_TRAITS(dtype, width, is, code_type, wide_type)                                                             \
    template <> struct cf_traits<dtype> {                                                                             \
        enum { bits = width, kind = is };                                                                             \
        typedef code_type code;                                                                                       \
        typedef wide_type wide;                                                                                       \
    };

CF_TRAITS(CF_FLOAT64, 64, CF_IS_FLOAT, cf_u64, double)
CF_TRAITS(CF_FLOAT32, 32, CF_IS_FLOAT, cf_u32, float)
CF_TRAITS(CF_FLOAT16, 16, CF_IS_FLOAT, cf_u16, float)
CF_TRAITS(CF_BFLOAT16, 16, CF_IS_FLOAT, cf_u16, float)
CF_TRAITS(CF_FLOAT8_E4M3FN, 8, CF_IS_FLOAT, cf_u8, float)
CF_TRAITS(CF_FLOAT8_E5M2, 8, CF_IS_FLOAT, cf_u8, float)
CF_TRAITS(CF_FLOAT4_E2M1FN, 4, CF_IS_FLOAT, cf_u8, float)
CF_TRAITS(CF_INT64, 64, CF_IS_SIGNED, cf_u64, cf_i64)
CF_TRAITS(CF_UINT64, 64, CF_IS_UNSIGNED, cf_u64, cf_u64)
CF_TRAITS(CF_INT32, 32, CF_IS_SIGNED, cf_u32, cf_i32)
CF_TRAITS(CF_UINT32, 32, CF_IS_UNSIGNED, cf_u32, cf_u32)
CF_TRAITS(CF_INT16, 16, CF_IS_SIGNED, cf_u16, cf_i32)
CF_TRAITS(CF_UINT16, 16, CF_IS_UNSIGNED, cf_u16, cf_u32)
CF_TRAITS(CF_INT8, 8, CF_IS_SIGNED, cf_u8, cf_i32)
CF_TRAITS(CF_UINT8, 8, CF_IS_UNSIGNED, cf_u8, cf_u32)
CF_TRAITS(CF_INT4, 4, CF_IS_SIGNED, cf_u8, cf_i32)
CF_TRAITS(CF_UINT4, 4, CF_IS_UNSIGNED, cf_u8, cf_u32)
CF_TRAITS(CF_COMPLEX128, 128, CF_IS_COMPLEX, cf_pair<cf_u64>, cf_pair<double>)
CF_TRAITS(CF_COMPLEX64, 64, CF_IS_COMPLEX, cf_pair<cf_u32>, cf_pair<float>)
CF_TRAITS(CF_BOOL, 8, CF_IS_BOOLEAN, cf_u8, bool)
CF_TRAITS(CF_BIT, 1, CF_IS_BOOLEAN, cf_u8, bool)

template <int D> using cf_code = typename cf_traits<D>::code;
template <int D> using cf_wide = typename cf_traits<D>::wide;

template <int D> CF_DEVICE constexpr bool cf_is_integer() {
    return cf_traits<D>::kind == CF_IS_SIGNED || cf_traits<D>::kind == CF_IS_UNSIGNED;
}
template <int D> CF_DEVICE constexpr bool cf_is_complex() { return cf_traits<D>::kind == CF_IS_COMPLEX; }
template <int D> CF_DEVICE constexpr bool cf_is_boolean() { return cf_traits<D>::kind == CF_IS_BOOLEAN; }
template <int D> CF_DEVICE constexpr bool cf_is_narrow() {
    return cf_traits<D>::kind == CF_IS_FLOAT && cf_traits<D>::bits < 32;
}

/* ---- between float and double ----------------------------------------------------------------------------------- */

/* NaN keeps its sign and payload, and becomes quiet. */
CF_DEVICE double cf_double_of_float(float x) {
    cf_u64 bits = cf_bits_of(x), nan = (bits >> 31 << 63) | 0x7ff8000000000000u | ((bits & 0x3fffffu) << 29);
    return x != x ? cf_real_of(nan) : (double)x;
}

/* Rounded to nearest even; NaN keeps its sign and the top of its payload, and becomes quiet. */
CF_DEVICE float cf_float_of_double(double x) {
    cf_u64 bits = cf_bits_of(x);
    cf_u32 nan = (cf_u32)(bits >> 63) << 31 | 0x7fc00000u | ((cf_u32)(bits >> 29) & 0x3fffffu);
    return x != x ? cf_real_of(nan) : (float)x;
}

/* Rounded to odd: truncated, the last bit set if anything was dropped. What is rounded once more after that, to at most
 * 22 bits, is rounded as if once. */
CF_DEVICE float cf_odd_float(double x) {
    if (x != x) return cf_float_of_double(x);
    float nearest = (float)x;
    cf_u32 bits = cf_bits_of(nearest);
    cf_u64 back = cf_bits_of((double)nearest) << 1 >> 1, magnitude = cf_bits_of(x) << 1 >> 1;
    return cf_real_of((bits - (back > magnitude ? 1u : 0u)) | (back != magnitude ? 1u : 0u));
}

/* An integer as a double of at most 52 significant bits, the dropped ones summed up in the last one kept. */
CF_DEVICE double cf_odd_double(cf_u64 value) {
    cf_u64 folded = (value & ~(cf_u64)0xfff) | ((value & 0xfff) != 0 ? 0x1000 : 0);
    return (double)(value >> 53 ? folded : value);
}
CF_DEVICE double cf_odd_double(cf_i64 value) {
    double magnitude = cf_odd_double(value < 0 ? 0 - (cf_u64)value : (cf_u64)value);
    return value < 0 ? -magnitude : magnitude;
}

/* ---- narrow floats from float ----------------------------------------------------------------------------------- */

/* The bits of `magnitude`, a non-negative float, rounded to `fraction` bits and rebiased to `bias`. `least` is the
 * format's least normal, `magic` the power of two whose last place is its least subnormal. Overflow is for callers. */
CF_DEVICE cf_u32 cf_round_magnitude(cf_u32 magnitude, int fraction, int bias, float least, float magic) {
    int shift = 23 - fraction;
    cf_u32 half = (1u << (shift - 1)) - 1, even = (magnitude >> shift) & 1;
    cf_u32 normal = ((magnitude + half + even) >> shift) - ((cf_u32)(127 - bias) << fraction);
    cf_u32 small = cf_bits_of(cf_real_of(magnitude) + magic) - cf_bits_of(magic);
    return magnitude < cf_bits_of(least) ? small : normal;
}

template <int D> CF_DEVICE cf_code<D> cf_narrow_float(float x) {
    cf_u32 bits = cf_bits_of(x), magnitude = bits & 0x7fffffffu;
    bool nan = magnitude > 0x7f800000u;
    if constexpr (D == CF_FLOAT16) {
        cf_u32 code = cf_round_magnitude(magnitude, 10, 15, 0x1p-14f, 0x1p-1f);
        code = code > 0x7c00u || magnitude >= 0x7f800000u ? 0x7c00u : code;
        code = nan ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : code;
        return (cf_u16)(((bits >> 16) & 0x8000u) | code);
    } else if constexpr (D == CF_BFLOAT16) {
        cf_u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40u;
        return (cf_u16)(nan ? quiet : rounded);
    } else if constexpr (D == CF_FLOAT8_E4M3FN) {
        cf_u32 bounded = magnitude > 0x43e00000u ? 0x43e00000u : magnitude; /* 448 */
        cf_u32 code = nan ? 0x7fu : cf_round_magnitude(bounded, 3, 7, 0x1p-6f, 0x1p14f);
        return (cf_u8)(((bits >> 24) & 0x80u) | code);
    } else if constexpr (D == CF_FLOAT8_E5M2) {
        cf_u32 bounded = magnitude > 0x47600000u ? 0x47600000u : magnitude; /* 57344 */
        cf_u32 code = nan ? 0x7fu : cf_round_magnitude(bounded, 2, 15, 0x1p-14f, 0x1p7f);
        return (cf_u8)(((bits >> 24) & 0x80u) | code);
    } else {
        cf_u32 bounded = magnitude > 0x40c00000u ? 0x40c00000u : magnitude; /* 6 */
        cf_u32 code = cf_round_magnitude(bounded, 1, 1, 1.0f, 0x1p22f) | ((bits >> 28) & 0x8u);
        return (cf_u8)(nan ? 0u : code);
    }
}

/* ---- narrow floats to float: exact ------------------------------------------------------------------------------ */

/* A magnitude moved under float's exponent and scaled by the difference of the biases; from `limit` on the format's
 * infinity (at `limit` itself) and NaNs. */
CF_DEVICE float cf_widen_float(cf_u32 sign, cf_u32 magnitude, float scale, cf_u32 limit, cf_u32 special) {
    cf_u32 value = cf_bits_of(cf_real_of(magnitude) * scale);
    return cf_real_of(sign | (magnitude >= limit ? special : value));
}

template <int D> CF_DEVICE float cf_float_of(cf_code<D> code) {
    if constexpr (D == CF_FLOAT16) {
        cf_u32 magnitude = (code & 0x7fffu) << 13;
        cf_u32 special = 0x7f800000u | (magnitude & 0x7fe000u) | (magnitude > 0xf800000u ? 0x400000u : 0u);
        return cf_widen_float((code & 0x8000u) << 16, magnitude, 0x1p112f, 0xf800000u, special);
    } else if constexpr (D == CF_BFLOAT16) {
        cf_u32 bits = (cf_u32)code << 16;
        return cf_real_of(bits | ((bits & 0x7fffffffu) > 0x7f800000u ? 0x400000u : 0u));
    } else if constexpr (D == CF_FLOAT8_E4M3FN) {
        cf_u32 magnitude = (code & 0x7fu) << 20;
        return cf_widen_float((code & 0x80u) << 24, magnitude, 0x1p120f, 0x7f00000u, 0x7fc00000u);
    } else if constexpr (D == CF_FLOAT8_E5M2) {
        cf_u32 magnitude = (code & 0x7fu) << 21, special = magnitude > 0xf800000u ? 0x7fc00000u : 0x7f800000u;
        return cf_widen_float((code & 0x80u) << 24, magnitude, 0x1p112f, 0xf800000u, special);
    } else {
        return cf_widen_float((code & 0x8u) << 28, (code & 0x7u) << 22, 0x1p126f, 0xffffffffu, 0);
    }
}

/* ---- codes and values ------------------------------------------------------------------------------------------- */

/* The value of a code, in the type that computes. */
template <int D> CF_DEVICE cf_wide<D> cf_widen(cf_code<D> code) {
    if constexpr (cf_is_narrow<D>()) return cf_float_of<D>(code);
    else if constexpr (cf_is_boolean<D>()) return code != 0;
    else if constexpr (D == CF_INT4) return (((cf_i32)code & 15) ^ 8) - 8;
    else if constexpr (D == CF_INT8) return (cf_i8)code;
    else if constexpr (D == CF_INT16) return (cf_i16)code;
    else if constexpr (D == CF_UINT4) return code & 15;
    else if constexpr (D == CF_UINT8 || D == CF_UINT16) return code;
    else return cf_same_bits<cf_wide<D>>(code);
}

/* The code of a computed value: floats round once, integers wrap. */
template <int D> CF_DEVICE cf_code<D> cf_narrow(cf_wide<D> value) {
    if constexpr (cf_is_narrow<D>()) return cf_narrow_float<D>(value);
    else if constexpr (cf_is_boolean<D>()) return value ? 1 : 0;
    else if constexpr (D == CF_INT4 || D == CF_UINT4) return (cf_u8)(value & 15);
    else if constexpr (cf_is_integer<D>()) return (cf_code<D>)value;
    else return cf_same_bits<cf_code<D>>(value);
}

/* ---- conversions: the store rule -------------------------------------------------------------------------------- */

/* Toward zero, saturating, NaN to 0. Where the dtype's high end is no REAL it rounds to the one above, a power of two: what
 * is below that is an INT. */
template <class INT, class REAL> CF_DEVICE INT cf_truncated(REAL x, INT low, INT high) {
    if (x != x) return 0;
    if (x <= (REAL)low) return low;
    if (x >= (REAL)high) return high;
    return (INT)x;
}

template <int TO, class REAL> CF_DEVICE cf_code<TO> cf_integer_of(REAL x) {
    constexpr int BITS = cf_traits<TO>::bits;
    constexpr cf_u64 MOST = ~(cf_u64)0 >> (cf_traits<TO>::kind == CF_IS_SIGNED ? 65 - BITS : 64 - BITS);
    typedef cf_wide<TO> wide;
    constexpr wide LEAST = cf_traits<TO>::kind == CF_IS_SIGNED ? (wide)(-(cf_i64)MOST - 1) : 0;
    return cf_narrow<TO>(cf_truncated<wide>(x, LEAST, (wide)MOST));
}

template <int TO> CF_DEVICE cf_code<TO> cf_of_double(double x) {
    if constexpr (TO == CF_FLOAT64) return cf_bits_of(x);
    else if constexpr (TO == CF_FLOAT32) return cf_bits_of(cf_float_of_double(x));
    else if constexpr (cf_is_narrow<TO>()) return cf_narrow_float<TO>(cf_odd_float(x));
    else if constexpr (cf_is_boolean<TO>()) return x != 0;
    else return cf_integer_of<TO>(x);
}

template <int TO> CF_DEVICE cf_code<TO> cf_of_float(float x) {
    if constexpr (TO == CF_FLOAT32) return cf_bits_of(x);
    else if constexpr (cf_is_narrow<TO>()) return cf_narrow_float<TO>(x);
    else if constexpr (cf_is_boolean<TO>()) return x != 0;
    else if constexpr (cf_is_integer<TO>()) return cf_integer_of<TO>(x);
    else return cf_bits_of(cf_double_of_float(x));
}

template <int TO, class INT> CF_DEVICE cf_code<TO> cf_of_integer(INT x) {
    if constexpr (TO == CF_FLOAT64) return cf_bits_of((double)x);
    else if constexpr (TO == CF_FLOAT32) return cf_bits_of((float)x);
    else if constexpr (cf_is_narrow<TO>()) return cf_narrow_float<TO>(cf_odd_float(cf_odd_double(x)));
    else if constexpr (cf_is_boolean<TO>()) return x != 0;
    else return cf_narrow<TO>((cf_wide<TO>)x);
}

/* A real dtype's code to another's. */
template <int FROM, int TO> CF_DEVICE cf_code<TO> cf_convert_real(cf_code<FROM> code) {
    auto value = cf_widen<FROM>(code);
    if constexpr (FROM == CF_FLOAT64) return cf_of_double<TO>(value);
    else if constexpr (cf_traits<FROM>::kind == CF_IS_FLOAT) return cf_of_float<TO>(value);
    else if constexpr (FROM == CF_UINT64) return cf_of_integer<TO, cf_u64>(value);
    else return cf_of_integer<TO, cf_i64>((cf_i64)value);
}

/* Any dtype's code to another's, as cast does it. */
template <int FROM, int TO> CF_DEVICE cf_code<TO> cf_convert(cf_code<FROM> code) {
    constexpr int PART = TO == CF_COMPLEX64 ? CF_FLOAT32 : CF_FLOAT64;
    constexpr int SOURCE = FROM == CF_COMPLEX64 ? CF_FLOAT32 : CF_FLOAT64;
    if constexpr (FROM == TO) {
        return code;
    } else if constexpr (cf_is_complex<FROM>() && cf_is_complex<TO>()) {
        return {cf_convert_real<SOURCE, PART>(code.re), cf_convert_real<SOURCE, PART>(code.im)};
    } else if constexpr (cf_is_complex<TO>()) {
        return {cf_convert_real<FROM, PART>(code), 0};
    } else if constexpr (cf_is_complex<FROM>() && cf_is_boolean<TO>()) {
        return cf_convert_real<SOURCE, TO>(code.re) | cf_convert_real<SOURCE, TO>(code.im);
    } else if constexpr (cf_is_complex<FROM>()) {
        return cf_convert_real<SOURCE, TO>(code.re);
    } else {
        return cf_convert_real<FROM, TO>(code);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* The code at a position, which counts elements from `data` and may be negative. */
template <int D> CF_DEVICE cf_code<D> cf_load(const void *data, cf_i64 position) {
    constexpr int BITS = cf_traits<D>::bits;
    if constexpr (BITS >= 8) {
        return ((const cf_code<D> *)data)[position];
    } else {
        cf_i64 bit = position * BITS;
        return (cf_u8)((((const cf_u8 *)data)[bit >> 3] >> (bit & 7)) & ((1 << BITS) - 1));
    }
}

/* A sub-byte code among neighbours that other threads may be storing: one exchange of the bits that change. The bits
 * replaced are this thread's own, so they are still what was read. It reads and writes an aligned word, in memory of
 * the device alone: what a driver gives begins and ends with whole ones, and atomics there are whole for the device. */
template <int BITS> CF_DEVICE void cf_store_part(void *data, cf_i64 position, cf_u32 code) {
    cf_u64 address = (cf_u64)data;
    cf_i64 bit = position * BITS + (cf_i64)(address & 3) * 8;
    cf_u32 *word = (cf_u32 *)(address & ~(cf_u64)3) + (bit >> 5);
    int shift = (int)(bit & 31);
    cf_u32 change = (*(volatile cf_u32 *)word ^ (code << shift)) & (((1u << BITS) - 1) << shift);
    if (change != 0) atomicXor(word, change);
}

/* A code to a position; changes no bit beside it. */
template <int D> CF_DEVICE void cf_store(void *data, cf_i64 position, cf_code<D> code) {
    if constexpr (cf_traits<D>::bits >= 8) ((cf_code<D> *)data)[position] = code;
    else cf_store_part<cf_traits<D>::bits>(data, position, code);
}

#endif
