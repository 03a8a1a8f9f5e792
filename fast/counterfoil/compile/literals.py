"""Numbers and dtypes as C writes them."""

from __future__ import annotations

import math
import struct
from typing import Final

from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64

CTYPES: Final = {float32: "float", float64: "double", int32: "i32", int64: "i64"}
"""The C type of each dtype of programs."""

SUFFIX: Final = {float32: "f32", float64: "f64", int32: "i32", int64: "i64"}
"""What helpers for a dtype end in."""

WIDTH: Final = {int32: 32, int64: 64}
"""Bits of the integer dtypes."""


def is_float(dtype: Dtype) -> bool:
    """Whether it is one of the two float dtypes."""
    return dtype is float32 or dtype is float64


def number(value: float, dtype: Dtype) -> str:
    """The C constant of a number stored in the dtype: rounded once, or, in an integer dtype, saturated or wrapped."""
    if is_float(dtype):
        return _float(_rounded(value, dtype), dtype)
    return _integer(_whole(value, WIDTH[dtype]), WIDTH[dtype])


def stored(value: float, dtype: Dtype) -> float:
    """The number as the dtype holds it."""
    return _rounded(value, dtype) if is_float(dtype) else _whole(value, WIDTH[dtype])


def _rounded(value: float, dtype: Dtype) -> float:
    if isinstance(value, int):
        return _rounded_integer(int(value), dtype)
    return _single(value) if dtype is float32 else float(value)


def _rounded_integer(value: int, dtype: Dtype) -> float:
    """An integer rounded once, half to even: by the format's precision, not twice through double."""
    precision = 24 if dtype is float32 else 53
    excess = abs(value).bit_length() - precision
    if excess > 0:
        half = 1 << (excess - 1)
        magnitude, rest = abs(value) >> excess, abs(value) & ((1 << excess) - 1)
        magnitude += rest > half or (rest == half and magnitude & 1)
        value = (magnitude << excess) * (1 if value > 0 else -1)
    try:
        return _single(float(value)) if dtype is float32 else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _whole(value: float, bits: int) -> int:
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if isinstance(value, int):
        return (int(value) - least) % (1 << bits) + least
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return greatest if value > 0 else least
    return max(least, min(greatest, int(value)))


def _float(value: float, dtype: Dtype) -> str:
    suffix = "f" if dtype is float32 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    text = f"{value:.1f}" if value == int(value) and abs(value) < 1e6 else value.hex()
    text = f"{text}{suffix}"
    return f"({text})" if text.startswith("-") else text


def _integer(value: int, bits: int) -> str:
    if value == -(1 << (bits - 1)):
        return f"(-{-(value + 1)}{'LL' if bits == 64 else ''} - 1)"
    text = f"{value}{'LL' if bits == 64 else ''}"
    return f"({text})" if value < 0 else text
