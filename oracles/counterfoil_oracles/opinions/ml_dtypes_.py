"""ml_dtypes: conversions between float32 and the narrow formats, where it is right.

It rounds float64 and integers through float32 (twice), gives NaN for what overflows float8_e4m3fn, wraps integers into
int4, and makes NaNs of its own; so its sources here are finite float32 values within the destination's range, narrow
codes, and integers in range.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import ml_dtypes
import numpy as np

from counterfoil_oracles.opinions.codes import Batch, Element, elements, result_code
from counterfoil_oracles.opinions.opinion import Topic
from counterfoil_spec.dtypes import (
    Dtype,
    bfloat16,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float32,
    int4,
    int8,
    uint4,
)

ORACLE: Final = "ml_dtypes"

_BATCH: Final = 67

_TYPES: Final[dict[Dtype, np.dtype[Any]]] = {
    bfloat16: np.dtype(ml_dtypes.bfloat16),
    float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
    float4_e2m1fn: np.dtype(ml_dtypes.float4_e2m1fn),
    int4: np.dtype(ml_dtypes.int4),
    uint4: np.dtype(ml_dtypes.uint4),
    float32: np.dtype(np.float32),
    int8: np.dtype(np.int8),
}
_NARROW: Final = (bfloat16, float8_e4m3fn, float8_e5m2, float4_e2m1fn)
_CODES: Final = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32)}


def _converted(element: Element) -> int:
    """The code ml_dtypes stores; it keeps one element narrower than a byte in the low bits of a byte of its own."""
    (code,) = element.arguments
    source, result = element.batch.source, element.batch.result
    held = np.array([code], _CODES[max(source.bits, 8)])
    if source is int4 and code >= 8:
        held |= np.uint8(0xF0)
    value = held.view(_TYPES[source]).astype(_TYPES[result])
    return int(value.view(_CODES[max(result.bits, 8)])[0]) & (1 << result.bits) - 1


def _narrowing(rng: random.Random) -> Iterator[Element]:
    """float32 values of every magnitude the destination holds, among them its own values and the ties between."""
    for dtype in _NARROW:
        greatest = float(ml_dtypes.finfo(_TYPES[dtype]).max)
        for _ in range(12):
            yield from _cast(float32, dtype, [_float32_within(rng, dtype, greatest) for _ in range(_BATCH)])


def _float32_within(rng: random.Random, dtype: Dtype, greatest: float) -> int:
    while True:
        code = rng.getrandbits(32)
        if rng.random() < 0.5:
            code = _near_tie(rng, dtype)
        elif dtype.bits < 16:
            code = code & 0x807FFFFF | rng.randint(127 - 18, 127 + 16) << 23
        value = float(np.uint32(code).view(np.float32))
        if abs(value) <= greatest:
            return code


def _near_tie(rng: random.Random, dtype: Dtype) -> int:
    """A value of the format plus none, half or nearly half of its last place, as float32."""
    narrow = np.array([rng.getrandbits(dtype.bits)], _CODES[max(dtype.bits, 8)]).view(_TYPES[dtype])
    assert dtype.float_format is not None
    half = 1 << 22 - dtype.float_format.fraction_bits
    return int(narrow.astype(np.float32).view(np.uint32)[0] + rng.choice((0, half - 1, half, half + 1))) & 0xFFFFFFFF


def _widening(rng: random.Random) -> Iterator[Element]:
    """Every code of eight bits or less, and some of bfloat16, that is not NaN."""
    for dtype in (*_NARROW, int4, uint4):
        codes = range(1 << dtype.bits) if dtype.bits <= 8 else [rng.getrandbits(dtype.bits) for _ in range(600)]
        finite = [code for code in codes if not np.isnan(_value(dtype, code))]
        yield from _cast(dtype, float32, finite)


def _value(dtype: Dtype, code: int) -> float:
    return float(np.array([code], _CODES[max(dtype.bits, 8)]).view(_TYPES[dtype]).astype(np.float32)[0])


def _integers(rng: random.Random) -> Iterator[Element]:
    """Integers in range into and out of the integers of four bits."""
    for narrow in (int4, uint4):
        low, high = int(narrow.min_value), int(narrow.max_value)
        yield from _cast(int8, narrow, [value & 0xFF for value in range(low, high + 1)])
        yield from _cast(narrow, int8, list(range(16)))


def _cast(source: Dtype, result: Dtype, codes: list[int]) -> list[Element]:
    return elements(Batch("cast", source, result, (tuple(codes),)))


TOPICS: Final = (
    Topic(ORACLE, "narrowing", ("dtypes/store-rule", "kernels/rounded-once"), 3216, _narrowing, _converted, result_code),
    Topic(ORACLE, "widening", ("kernels/rounded-once",), 1100, _widening, _converted, result_code),
    Topic(ORACLE, "integers", ("kernels/rounded-once",), 64, _integers, _converted, result_code),
)
