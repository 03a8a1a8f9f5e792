"""CUDA C helpers that emitted kernels call: each is written only where it is used, once.

They are C++17 that a host compiler takes too, but for what CUDA names itself. Integers wrap and never trap. Functions
of floats are CUDA's, whose published bounds lie within N2's; -fmad=false keeps products and sums apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64

HEAD: Final = """\
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
#define INLINE static __device__ __forceinline__
"""
"""What every source begins with."""

_WORDS: Final = {
    float32: {"T": "float", "U": "u32", "S": "f32"},
    float64: {"T": "double", "U": "u64", "S": "f64"},
    int32: {"T": "i32", "U": "u32", "S": "i32", "LIMIT": "0x1p31", "MOST": "0x7fffffff"},
    int64: {"T": "i64", "U": "u64", "S": "i64", "LIMIT": "0x1p63", "MOST": "0x7fffffffffffffffLL"},
}

_HELPERS: Final = {
    "bits": "INLINE T cf_bits_S(U bits) { T x; memcpy(&x, &bits, sizeof x); return x; }",
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
template <class F> INLINE T cf_saturate_S(F x) {
    return x != x ? 0 : x >= (F)LIMIT ? (T)MOST : x < (F)-LIMIT ? (T)(-MOST - 1) : (T)x;
}""",
    "max": "INLINE T cf_max_S(T x, T y) { return x != x ? x : x == 0 && y == 0 ? x + y : x > y ? x : y; }",
    "min": "INLINE T cf_min_S(T x, T y) { return x != x ? x : x == 0 && y == 0 ? -(-x - y) : x < y ? x : y; }",
    "mul3": "INLINE T cf_mul3_S(T x, T y, T z) { return x * y * z; }",
    "relu": "INLINE T cf_relu_S(T x) { return x > 0 ? x : 0; }",
    "satur01": "INLINE T cf_satur01_S(T x) { return x > 0 ? x < 1 ? x : 1 : 0; }",
    "relu_gate": "INLINE T cf_relu_gate_S(T x, T y) { return x > 0 ? y : 0; }",
    "satur01_gate": "INLINE T cf_satur01_gate_S(T x, T y) { return x > 0 && x < 1 ? y : 0; }",
}
"""Helpers by name: T is the type, U the unsigned one of its size, S the suffix of names."""

PACK: Final = """\
/* N neighbours read or written at once, at an address that is a multiple of their size or of 16. */
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) cf_pack { T v[N]; };
template <int N, class T> INLINE void cf_read(T *x, const T *p) {
    const cf_pack<T, N> whole = *reinterpret_cast<const cf_pack<T, N> *>(p);
    memcpy(x, &whole, sizeof whole);
}
template <int N, class T> INLINE void cf_write(T *p, const T *x) {
    cf_pack<T, N> whole;
    memcpy(&whole, x, sizeof whole);
    *reinterpret_cast<cf_pack<T, N> *>(p) = whole;
}
"""


def helper(name: str, dtype: Dtype) -> str:
    """What a helper is called for a dtype; ``helpers`` then writes it."""
    return f"{name}_{_WORDS[dtype]['S']}"


def helpers(used: Iterable[str]) -> str:
    """The text of the helpers used (their names without ``cf_``), in one fixed order."""
    wanted = set(used)
    parts = [PACK] if "pack" in wanted else []
    for name, text in _HELPERS.items():
        for dtype in _WORDS:
            if helper(name, dtype) in wanted:
                parts.append(_spelled(text, dtype) + "\n")
    return "".join(parts)


def _spelled(text: str, dtype: Dtype) -> str:
    words = _WORDS[dtype]
    return re.sub(r"\b(cf_\w+_)?([TUS]|LIMIT|MOST)\b", lambda found: (found[1] or "") + words[found[2]], text)
