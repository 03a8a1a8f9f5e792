// Arithmetic that the dialect adds to C: integers, bit patterns, rounded operations, saturating conversions.
#pragma once

namespace emucuda {

template <class To, class From>
inline To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits on both sides");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// Conversions to integers stay inside the range and take NaN to 0 (to the most negative number for 64 bits).
template <class Integer, class Float>
inline Integer saturate(Float value, Integer least, Integer most, Integer of_nan) {
    if (value != value) return of_nan;
    if (value <= Float(least)) return least;
    // Float(most) may round up, past the range; whatever is as large does not fit.
    if (value >= Float(most)) return most;
    return Integer(value);
}
template <class Float>
inline int to_int(Float value) { return saturate<int, Float>(value, INT_MIN, INT_MAX, 0); }
template <class Float>
inline unsigned to_uint(Float value) { return saturate<unsigned, Float>(value, 0, UINT_MAX, 0); }
template <class Float>
inline long long to_ll(Float value) { return saturate<long long, Float>(value, LLONG_MIN, LLONG_MAX, LLONG_MIN); }
template <class Float>
inline unsigned long long to_ull(Float value) {
    return saturate<unsigned long long, Float>(value, 0, ULLONG_MAX, 1ull << 63);
}

}  // namespace emucuda

// --- integers

inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t{a} * b >> 32); }
inline int __mulhi(int a, int b) { return int(int64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline int __mul24(int a, int b) { return int(unsigned(a << 8 >> 8) * unsigned(b << 8 >> 8)); }
inline int __clz(int value) { return value ? __builtin_clz(unsigned(value)) : 32; }
inline int __clzll(long long value) { return value ? __builtin_clzll((unsigned long long)value) : 64; }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline unsigned __brev(unsigned value) {
    value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
    value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
    value = (value >> 4 & 0x0F0F0F0Fu) | (value & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(value);
}
inline unsigned long long __brevll(unsigned long long value) {
    return (unsigned long long)__brev(unsigned(value)) << 32 | __brev(unsigned(value >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    uint64_t bytes = uint64_t{b} << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned pick = selector >> (4 * i) & 0xF, byte = unsigned(bytes >> (8 * (pick & 7))) & 0xFF;
        result |= (pick & 8 ? (byte & 0x80 ? 0xFFu : 0u) : byte) << (8 * i);
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned((uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned((uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }

// --- bit patterns

inline unsigned __float_as_uint(float value) { return emucuda::same_bits<unsigned>(value); }
inline int __float_as_int(float value) { return emucuda::same_bits<int>(value); }
inline float __uint_as_float(unsigned bits) { return emucuda::same_bits<float>(bits); }
inline float __int_as_float(int bits) { return emucuda::same_bits<float>(bits); }
inline long long __double_as_longlong(double value) { return emucuda::same_bits<long long>(value); }
inline double __longlong_as_double(long long bits) { return emucuda::same_bits<double>(bits); }
inline int __double2hiint(double value) { return int(emucuda::same_bits<uint64_t>(value) >> 32); }
inline int __double2loint(double value) { return int(emucuda::same_bits<uint64_t>(value)); }
inline double __hiloint2double(int high, int low) {
    return emucuda::same_bits<double>(uint64_t{unsigned(high)} << 32 | unsigned(low));
}

// --- operations rounded to nearest, never contracted

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __frsqrt_rn(float a) { return float(1.0 / sqrt(double(a))); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

// --- conversions: rn to nearest even, rz towards zero, rd down, ru up

#define EMUCUDA_ROUNDINGS(name, type, from, to)                                  \
    inline type name##_rn(from value) { return emucuda::to(rint(value)); }       \
    inline type name##_rz(from value) { return emucuda::to(trunc(value)); }      \
    inline type name##_rd(from value) { return emucuda::to(floor(value)); }      \
    inline type name##_ru(from value) { return emucuda::to(ceil(value)); }
EMUCUDA_ROUNDINGS(__float2int, int, float, to_int)
EMUCUDA_ROUNDINGS(__float2uint, unsigned, float, to_uint)
EMUCUDA_ROUNDINGS(__float2ll, long long, float, to_ll)
EMUCUDA_ROUNDINGS(__float2ull, unsigned long long, float, to_ull)
EMUCUDA_ROUNDINGS(__double2int, int, double, to_int)
EMUCUDA_ROUNDINGS(__double2uint, unsigned, double, to_uint)
EMUCUDA_ROUNDINGS(__double2ll, long long, double, to_ll)
EMUCUDA_ROUNDINGS(__double2ull, unsigned long long, double, to_ull)
#undef EMUCUDA_ROUNDINGS

inline float __double2float_rn(double value) { return float(value); }
inline float __int2float_rn(int value) { return float(value); }
inline float __uint2float_rn(unsigned value) { return float(value); }
inline float __ll2float_rn(long long value) { return float(value); }
inline float __ull2float_rn(unsigned long long value) { return float(value); }
inline double __int2double_rn(int value) { return value; }
inline double __uint2double_rn(unsigned value) { return value; }
inline double __ll2double_rn(long long value) { return double(value); }
inline double __ull2double_rn(unsigned long long value) { return double(value); }

// Towards zero: one step back from the nearest when that is farther out.
inline float __double2float_rz(double value) {
    float nearest = float(value);
    return fabs(double(nearest)) > fabs(value) ? nextafterf(nearest, 0.0f) : nearest;
}

// --- functions that C lacks, or whose fast forms differ

inline float rsqrtf(float value) { return 1.0f / sqrtf(value); }
inline double rsqrt(double value) { return 1.0 / sqrt(value); }
inline float __expf(float value) { return expf(value); }
inline float __logf(float value) { return logf(value); }
inline float __sinf(float value) { return sinf(value); }
inline float __cosf(float value) { return cosf(value); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float value) { return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f; }
inline float normcdff(float value) { return 0.5f * erfcf(-value * 0.70710678118654752440f); }
inline double normcdf(double value) { return 0.5 * erfc(-value * 0.70710678118654752440); }
inline float sinpif(float value) { return float(sin(double(value) * 3.14159265358979323846)); }
inline double sinpi(double value) { return sin(value * 3.14159265358979323846); }
inline float cospif(float value) { return float(cos(double(value) * 3.14159265358979323846)); }
inline double cospi(double value) { return cos(value * 3.14159265358979323846); }

#define EMUCUDA_LEAST_AND_MOST(type)                               \
    inline type min(type a, type b) { return b < a ? b : a; }      \
    inline type max(type a, type b) { return a < b ? b : a; }
EMUCUDA_LEAST_AND_MOST(int)
EMUCUDA_LEAST_AND_MOST(unsigned)
EMUCUDA_LEAST_AND_MOST(long)
EMUCUDA_LEAST_AND_MOST(unsigned long)
EMUCUDA_LEAST_AND_MOST(long long)
EMUCUDA_LEAST_AND_MOST(unsigned long long)
#undef EMUCUDA_LEAST_AND_MOST
inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double max(double a, float b) { return fmax(a, double(b)); }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
