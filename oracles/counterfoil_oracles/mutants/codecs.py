"""Defects of the codecs: how values become bits, bits become values, and values become text."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

CODECS: Final = (
    Defect(
        "codecs/ties-away",
        "fast/native/format.h",
        "even = (magnitude >> shift) & 1;",
        "even = 1;",
        "a float halfway between two values of a narrower format is rounded up instead of to the even one",
    ),
    Defect(
        "codecs/bfloat16-truncates",
        "fast/native/format.h",
        "rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16",
        "rounded = bits >> 16",
        "bfloat16 drops the low half of a float32 instead of rounding it",
    ),
    Defect(
        "codecs/float16-subnormals",
        "fast/native/format.h",
        "cf_round_magnitude(magnitude, 10, 15, 0x1p-14f, 0x1p-1f)",
        "cf_round_magnitude(magnitude, 10, 15, 0x1p-14f, 0x1p0f)",
        "float16 values below its least normal one lose their last bit",
    ),
    Defect(
        "codecs/e5m2-saturates",
        "fast/native/format.h",
        "bounded = magnitude > 0x47600000u ? 0x47600000u : magnitude;",
        "bounded = magnitude > 0x47700000u ? 0x47700000u : magnitude;",
        "float8_e5m2 stores an infinity where it should store its largest finite value",
    ),
    Defect(
        "codecs/nan-to-integer",
        "fast/native/format.h",
        "return (int32_t)(x == x ? bounded : 0.0f);",
        "return (int32_t)bounded;",
        "a NaN becomes the least value of a narrow integer instead of 0",
    ),
    Defect(
        "codecs/int4-sign",
        "fast/native/format.h",
        "return ((code & 15) ^ 8) - 8;",
        "return code & 15;",
        "negative int4 elements are read as positive ones",
    ),
    Defect(
        "codecs/double-rounding",
        "fast/native/convert.c",
        "        odd_float_of_double(in, narrow, n);",
        "        float_of_double(in, narrow, n);",
        "a float64 reaches a narrow float through a rounding to float32, so it is rounded twice",
    ),
    Defect(
        "codecs/nearest-text",
        "fast/counterfoil/printing.py",
        "nearest += 2 * rest > step or (2 * rest == step and nearest % 2)",
        "nearest += 0",
        "the text of a float is the shortest that reads back, but not the nearest of those",
    ),
)
