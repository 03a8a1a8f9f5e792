"""C helpers that emitted code calls: each is emitted only where it is used, once.

The integer ones wrap and never trap. Functions of float32 are computed in double and rounded, which leaves half a unit
in the last place and a trace; those of hot loops are written out here so that loops over them become vector code.
Functions of float64 are the C library's; its tanh strays by 2.2 units, so that one goes through long double.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64

HEAD: Final = """\
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef struct cf_services {
    void (*product_f32)(i64, i64, i64, const float *, i64, i64, const float *, i64, float *, i64, int);
    void (*product_f64)(i64, i64, i64, const double *, i64, i64, const double *, i64, double *, i64, int);
    void (*pack_f32)(i64, i64, const float *, i64, i64, float *, i64);
    void (*pack_f64)(i64, i64, const double *, i64, i64, double *, i64);
    void (*sgemm)(int, int, i64, i64, i64, float, const float *, i64, const float *, i64, float, float *, i64);
    void (*dgemm)(int, int, i64, i64, i64, double, const double *, i64, const double *, i64, double, double *, i64);
    void (*parallel_for)(void (*)(void *, i64, i64), void *, i64, i64);
} cf_services;
#define INLINE static inline __attribute__((always_inline))
"""
"""What every source begins with; cf_services is the declaration in fast/native/dispatch.h."""

_WORDS: Final = {
    float32: {"T": "float", "S": "f32", "I": "i32", "MOST": "0x7fffffff"},
    float64: {"T": "double", "S": "f64", "I": "i64", "MOST": "0x7fffffffffffffffLL"},
    int32: {"T": "i32", "U": "u32", "S": "i32", "LIMIT": "0x1p31", "MOST": "0x7fffffff"},
    int64: {"T": "i64", "U": "u64", "S": "i64", "LIMIT": "0x1p63", "MOST": "0x7fffffffffffffffLL"},
}

_GENERIC: Final = {
    "idiv": "INLINE T cf_idiv_S(T x, T y) { return y == 0 ? 0 : y == -1 ? (T)(0 - (U)x) : (T)(x / y); }",
    "imod": "INLINE T cf_imod_S(T x, T y) { return y == 0 ? x : y == -1 ? 0 : (T)(x % y); }",
    "ipow": """\
INLINE T cf_ipow_S(T x, T y) {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    U result = 1, base = (U)x;
    for (U rest = (U)y; rest != 0; rest >>= 1) {
        if (rest & 1) result *= base;
        base *= base;
    }
    return (T)result;
}""",
    "imax": "INLINE T cf_imax_S(T x, T y) { return x > y ? x : y; }",
    "imin": "INLINE T cf_imin_S(T x, T y) { return x < y ? x : y; }",
    "saturate": """\
INLINE T cf_saturate_S(double x) {
    return x != x ? 0 : x >= LIMIT ? (T)MOST : x < -LIMIT ? (T)(-MOST - 1) : (T)x;
}""",
    "max": "INLINE T cf_max_S(T x, T y) { return x != x ? x : x == 0 && y == 0 ? x + y : x > y ? x : y; }",
    "min": "INLINE T cf_min_S(T x, T y) { return x != x ? x : x == 0 && y == 0 ? -(-x - y) : x < y ? x : y; }",
    "recip_sqrt": "INLINE T cf_recip_sqrt_S(T x) { return (T)(1.0 / __builtin_sqrt((double)x)); }",
    "mul3": "INLINE T cf_mul3_S(T x, T y, T z) { return x * y * z; }",
    "relu": "INLINE T cf_relu_S(T x) { return x > 0 ? x : 0; }",
    "satur01": "INLINE T cf_satur01_S(T x) { return x > 0 ? x < 1 ? x : 1 : 0; }",
    "relu_gate": "INLINE T cf_relu_gate_S(T x, T y) { return x > 0 ? y : 0; }",
    "satur01_gate": "INLINE T cf_satur01_gate_S(T x, T y) { return x > 0 && x < 1 ? y : 0; }",
    "rank": """\
/* An integer for each float but NaN, in the order of floats, -0 below 0; and the float back. */
INLINE I cf_rank_S(T x) { I k; __builtin_memcpy(&k, &x, sizeof k); return k ^ (k >> (8 * (int)sizeof k - 1) & MOST); }
INLINE T cf_ranked_S(I k) {
    k ^= k >> (8 * (int)sizeof k - 1) & MOST;
    T x;
    __builtin_memcpy(&x, &k, sizeof x);
    return x;
}
""",
    "rank_max": "INLINE I cf_rank_max_S(T x) { return x != x ? MOST : cf_rank_S(x); }",
    "rank_min": "INLINE I cf_rank_min_S(T x) { return x != x ? -MOST - 1 : cf_rank_S(x); }",
}
"""Helpers for several dtypes: T is the type, U its unsigned twin, I a float's integer twin, S the suffix of names.

The most and the least of many floats are found among ranks: compilers make vector code of integers' extremes, and none
of what NaN and the zeros ask for. A rank past all others, which is some NaN's, stands for NaN.
"""

_BITS: Final = """\
INLINE double cf_of_bits(u64 bits) { double x; __builtin_memcpy(&x, &bits, 8); return x; }
INLINE u64 cf_bits_of(double x) { u64 bits; __builtin_memcpy(&bits, &x, 8); return bits; }
"""

_EXPONENTIAL: Final = """\
/* exp(r) 2**k to about 1e-14, |r| <= ln 2 / 2; k is the low part of shifted, |k| < 1022. NaN stays NaN. */
INLINE double cf_scaled_exp(double r, double shifted) {
    double p = 0x1.ae64567f544e4p-26;
    p = p * r + 0x1.27e4fb7789f5cp-22;
    p = p * r + 0x1.71de3a556c734p-19;
    p = p * r + 0x1.a01a01a01a01ap-16;
    p = p * r + 0x1.a01a01a01a01ap-13;
    p = p * r + 0x1.6c16c16c16c17p-10;
    p = p * r + 0x1.1111111111111p-7;
    p = p * r + 0x1.5555555555555p-5;
    p = p * r + 0x1.5555555555555p-3;
    p = p * r + 0.5;
    return ((p * r) * r + r + 1.0) * cf_of_bits((cf_bits_of(shifted) + 1023) << 52);
}
INLINE double cf_exp(double x) {
    double bounded = x > 200.0 ? 200.0 : x < -200.0 ? -200.0 : x;
    double shifted = bounded * 0x1.71547652b82fep+0 + 0x1.8p52, k = shifted - 0x1.8p52;
    return cf_scaled_exp((bounded - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45, shifted);
}
"""

_LOGARITHM: Final = """\
/* ln m and k of x = m 2**k, m about 1, for a positive normal x. */
INLINE double cf_log_parts(double x, double *k) {
    u64 bits = cf_bits_of(x), whole = (bits - 0x3fe6a09e667f3bcdULL) & 0xfff0000000000000ULL;
    *k = cf_of_bits(0x4338000000000000ULL + (u64)((i64)whole >> 52)) - 0x1.8p52;
    double m = cf_of_bits(bits - whole), t = (m - 1.0) / (m + 1.0), s = t * t;
    double p = 2.0 / 13;
    p = p * s + 2.0 / 11;
    p = p * s + 2.0 / 9;
    p = p * s + 2.0 / 7;
    p = p * s + 2.0 / 5;
    p = p * s + 2.0 / 3;
    return p * s * t + 2.0 * t;
}
INLINE double cf_log_ends(double x, double inside) {
    double ends = x == 0 ? -__builtin_inf() : x < 0 ? __builtin_nan("") : x;
    return x > 0 && x < __builtin_inf() ? inside : ends;
}
"""

_SINGLE: Final = {
    "bits": (_BITS, ()),
    "exponential": (_EXPONENTIAL, ("bits",)),
    "logarithm": (_LOGARITHM, ("bits",)),
    "exp_f32": ("INLINE float cf_exp_f32(float x) { return (float)cf_exp(x); }\n", ("exponential",)),
    "exp2_f32": (
        """\
INLINE float cf_exp2_f32(float x) {
    double bounded = x > 250.0f ? 250.0 : x < -250.0f ? -250.0 : x, shifted = bounded + 0x1.8p52;
    return (float)cf_scaled_exp((bounded - (shifted - 0x1.8p52)) * 0x1.62e42fefa39efp-1, shifted);
}
""",
        ("exponential",),
    ),
    "tanh_f32": (
        """\
INLINE float cf_tanh_f32(float x) {
    double e = cf_exp(2.0 * x), wide = x, near = wide * (1.0 - wide * wide / 3);
    return (float)(wide < 0x1p-12 && wide > -0x1p-12 ? near : (e - 1.0) / (e + 1.0));
}
""",
        ("exponential",),
    ),
    "log_f32": (
        """\
INLINE float cf_log_f32(float x) {
    double k, part = cf_log_parts(x, &k);
    return (float)cf_log_ends(x, part + k * 0x1.62e42fefa39efp-1);
}
""",
        ("logarithm",),
    ),
    "log2_f32": (
        """\
INLINE float cf_log2_f32(float x) {
    double k, part = cf_log_parts(x, &k);
    return (float)cf_log_ends(x, part * 0x1.71547652b82fep+0 + k);
}
""",
        ("logarithm",),
    ),
    "sin_f32": ("INLINE float cf_sin_f32(float x) { return (float)__builtin_sin(x); }\n", ()),
    "cos_f32": ("INLINE float cf_cos_f32(float x) { return (float)__builtin_cos(x); }\n", ()),
    "pow_f32": ("INLINE float cf_pow_f32(float x, float y) { return (float)__builtin_pow(x, y); }\n", ()),
    "tanh_f64": ("INLINE double cf_tanh_f64(double x) { return (double)__builtin_tanhl(x); }\n", ()),
}


def helper(name: str, dtype: Dtype) -> str:
    """What a helper is called for a dtype; ``helpers`` then writes it."""
    return f"{name}_{_WORDS[dtype]['S']}"


def helpers(used: Iterable[str]) -> str:
    """The C text of the helpers used (their names without ``cf_``), and of those they call, in one fixed order."""
    wanted: set[str] = set()
    for name in used:
        _want(name, wanted)
    dtypes = {words["S"]: dtype for dtype, words in _WORDS.items()}
    parts = [_SINGLE[name][0] for name in _SINGLE if name in wanted]
    for name, text in _GENERIC.items():
        for suffix, dtype in dtypes.items():
            if f"{name}_{suffix}" in wanted:
                parts.append(_spelled(text, dtype) + "\n")
    return "".join(parts)


def _want(name: str, wanted: set[str]) -> None:
    wanted.add(name)
    for needed in _SINGLE[name][1] if name in _SINGLE else ():
        _want(needed, wanted)


def _spelled(text: str, dtype: Dtype) -> str:
    words = _WORDS[dtype]
    return re.sub(r"\b((?:cf|CF)_\w+_)?([TUIS]|LIMIT|MOST)\b", lambda found: (found[1] or "") + words[found[2]], text)
