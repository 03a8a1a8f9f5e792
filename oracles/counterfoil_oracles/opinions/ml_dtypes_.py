"""ml_dtypes: conversions between float32 and the narrow formats, where it is right.

It rounds float64 and integers through float32 (twice), gives NaN for what overflows float8_e4m3fn, wraps integers into
int4, and makes NaNs of its own; so its sources here are finite float32 values within the destination's range, narrow
codes, and integers in range.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
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
_CODES: Final[dict[int, np.dtype[Any]]] = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32)}


def _held(dtype: Dtype, code: int) -> np.ndarray[Any, Any]:
    """One element of that code; ml_dtypes keeps one narrower than a byte in a byte of its own, an int4 by its value."""
    if dtype is int4 and code >= 8:
        code |= 0xF0
    return np.array([code], dtype=_CODES[max(dtype.bits, 8)]).view(_TYPES[dtype])


def _code(dtype: Dtype, held: np.ndarray[Any, Any]) -> int:
    return int(held.view(_CODES[max(dtype.bits, 8)])[0]) & (1 << dtype.bits) - 1


def _converted(element: Element) -> int:
    """The code ml_dtypes stores."""
    (code,) = element.arguments
    source, result = element.batch.source, element.batch.result
    return _code(result, _held(source, code).astype(_TYPES[result]))


def _narrowing(rng: random.Random) -> Iterator[Element]:
    """float32 values of every magnitude the destination holds, among them its own values and the ties between."""
    for dtype in _NARROW:
        assert dtype.float_format is not None
        greatest = _value(dtype, dtype.float_format.last_finite_code)
        for _ in range(12):
            yield from _cast(float32, dtype, [_float32_within(rng, dtype, greatest) for _ in range(_BATCH)])


def _float32_within(rng: random.Random, dtype: Dtype, greatest: float) -> int:
    while True:
        code = rng.getrandbits(32)
        if rng.random() < 0.5:
            code = _near_tie(rng, dtype)
        elif dtype.bits < 16:
            code = code & 0x807FFFFF | rng.randint(127 - 18, 127 + 16) << 23
        if abs(_value(float32, code)) <= greatest:
            return code


def _near_tie(rng: random.Random, dtype: Dtype) -> int:
    """A value of the format plus none, half or nearly half of its last place, as float32."""
    assert dtype.float_format is not None
    wide = _code(float32, _held(dtype, rng.getrandbits(dtype.bits)).astype(np.float32))
    half = 1 << 22 - dtype.float_format.fraction_bits
    return wide + rng.choice((0, half - 1, half, half + 1)) & 0xFFFFFFFF


def _widening(rng: random.Random) -> Iterator[Element]:
    """Every code of eight bits or less, and some of bfloat16, that is not NaN."""
    for dtype in (*_NARROW, int4, uint4):
        codes = range(1 << dtype.bits) if dtype.bits <= 8 else [rng.getrandbits(dtype.bits) for _ in range(600)]
        finite = [code for code in codes if not np.isnan(_value(dtype, code))]
        yield from _cast(dtype, float32, finite)


def _value(dtype: Dtype, code: int) -> float:
    return float(_held(dtype, code).astype(np.float32)[0])


def _integers(rng: random.Random) -> Iterator[Element]:
    """Integers in range into and out of the integers of four bits."""
    for narrow in (int4, uint4):
        low, high = int(narrow.min_value), int(narrow.max_value)
        yield from _cast(int8, narrow, [value & 0xFF for value in range(low, high + 1)])
        yield from _cast(narrow, int8, list(range(16)))


def _cast(source: Dtype, result: Dtype, codes: list[int]) -> list[Element]:
    return elements(Batch("cast", source, result, (tuple(codes),)))


def _topic(name: str, floor: int, draw: Callable[[random.Random], Iterator[Element]]) -> Topic:
    return Topic(ORACLE, name, ("kernels/rounded-once", "dtypes/store-rule"), floor, draw, _converted, result_code)


TOPICS: Final = (
    _topic("narrowing", 3216, _narrowing),
    _topic("widening", 1120, _widening),
    _topic("integers", 64, _integers),
)
