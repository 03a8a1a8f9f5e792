"""Drawing values and raw bytes: the edges of every format, odd patterns, and plain small numbers."""

from __future__ import annotations

import random
import struct
from typing import Any, Final

from counterfoil_oracles.machines.choices import Chooser, chance, pick
from counterfoil_spec.commands import encode_number
from counterfoil_spec.dtypes import Dtype, Kind

_FLOATS: Final = (
    0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 3.0, -2.5, 0.1, 6.0, 7.0, 448.0, 464.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0,
    1e-3, 2.0**-9, 2.0**-10, 2.0**-17, 2.0**-25, 2.0**-133, 2.0**-149, 2.0**-150, 5e-324, 3.4028234663852886e38,
    3.4028235677973366e38, 1e300, -1e300, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
_BESIDE_TIES: Final = tuple(1.0 + 2.0**-bits + 2.0**-45 for bits in (24, 11, 8, 4, 3, 2))
"""Just above what lies halfway between two values of a format; rounded to float32 first, exactly there."""

_PATTERNS: Final = (
    "00", "01", "ff", "7f", "80", "3f80", "0000803f", "0000c07f", "0100807f", "ffff7f7f", "00000000000000f07f"[2:],
    "000000000000f03f", "010000000000f07f", "000000000000f8ff", "0000000000000080", "efbeadde", "7e", "7c", "fc7b",
)  # fmt: skip


def float_value(chooser: Chooser) -> float:
    """A float: an edge of some format, or a random binary32 or binary64 pattern."""
    if chance(chooser, 4):
        return pick(chooser, _BESIDE_TIES)
    if chance(chooser, 15):
        return float(struct.unpack("<f", struct.pack("<I", chooser.integer(0, 2**32 - 1)))[0])
    if chance(chooser, 5):
        return float(struct.unpack("<d", struct.pack("<Q", chooser.integer(0, 2**64 - 1)))[0])
    return pick(chooser, _FLOATS)


def integer_value(chooser: Chooser, low: int, high: int) -> int:
    """An integer of [low, high], often small or at an edge."""
    options = (0, 1, 2, 3, -1, 7, low, high, low + 1, high - 1, -2, high // 2)
    value = pick(chooser, options) if chance(chooser, 80) else chooser.integer(low, high)
    return min(max(value, low), high)


def value(chooser: Chooser, dtype: Dtype) -> Any:
    """A value that ``set`` takes for the dtype (A12), as a trace writes it."""
    match dtype.kind:
        case Kind.BOOLEAN:
            return bool(chooser.integer(0, 1))
        case Kind.SIGNED | Kind.UNSIGNED:
            return encode_number(integer_value(chooser, int(dtype.min_value), int(dtype.max_value)))
        case Kind.FLOAT:
            if chance(chooser, 15):
                return encode_number(integer_value(chooser, -(2**64), 2**64))
            return encode_number(float_value(chooser))
        case Kind.COMPLEX:
            return encode_number(complex(float_value(chooser), float_value(chooser)))


def wrong_value(chooser: Chooser, dtype: Dtype) -> Any:
    """A value that the dtype does not take: of another type, or (integers) out of range."""
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        low, high = int(dtype.min_value), int(dtype.max_value)
        return encode_number(
            pick(chooser, (high + 1, low - 1, 2**70, True, 0.5, 1.0, {"odd": "text"}, {"odd": "none"}))
        )
    if dtype.kind is Kind.BOOLEAN:
        return pick(chooser, (0, 1, 1.0, {"odd": "none"}, {"odd": "text"}))
    if dtype.kind is Kind.FLOAT:
        return pick(chooser, (True, {"complex": [1.0, 2.0]}, {"odd": "none"}, {"odd": "bytes"}))
    return pick(chooser, (True, {"odd": "none"}, {"odd": "dict"}))


def content(chooser: Chooser, nbytes: int) -> str:
    """That many bytes as hexadecimal text: patterns of interest repeated, or counting up, or random ones."""
    style = chooser.integer(0, 9)
    if style < 2:
        return bytes(at % 256 for at in range(nbytes)).hex()
    if style < 5 or nbytes > 64:
        return random.Random(chooser.integer(0, 2**32 - 1)).randbytes(nbytes).hex()
    parts: list[str] = []
    while len("".join(parts)) < 2 * nbytes:
        parts.append(pick(chooser, _PATTERNS))
    return "".join(parts)[: 2 * nbytes]
