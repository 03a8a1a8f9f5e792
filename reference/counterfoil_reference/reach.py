"""What a layout reaches, as sets: the positions, whether they are distinct (A2), and the bytes touched (A1).

A set of positions is an integer: bit ``p`` is set where position ``p`` is reached.
"""

from __future__ import annotations

import functools
import math
from typing import Final

Shape = tuple[int, ...]

EXACT_SPAN: Final = 2**32
"""Widest span of positions for which distinctness is exact; above it, it is the nesting test (A2)."""

_REMEMBERED: Final = 2**17
"""Most bits of a set of bytes that is kept for the next question about the same layout."""

_FULL: Final = bytes([0] + [0xFF] * 255)
"""Translates each byte to all ones where it has any."""


@functools.lru_cache(maxsize=4096)
def is_distinct(shape: Shape, strides: Shape) -> bool:
    """Whether no two indices reach one position: as many positions as indices (A2). ``strides`` are canonical."""
    if 0 in shape or nests(shape, strides):
        return True
    size, span = math.prod(shape), width(shape, strides)
    if span > EXACT_SPAN or size > span:
        return False
    return count_positions(shape, strides) == size


def nests(shape: Shape, strides: Shape) -> bool:
    """Whether each axis, by increasing stride magnitude, steps past all that the smaller ones reach together.

    Sufficient for distinctness, and the definition of it above 2^32 positions (A2).
    """
    reached = 0
    for stride, extent in sorted((abs(s), d) for s, d in zip(strides, shape, strict=True) if d > 1):
        if stride <= reached:
            return False
        reached += (extent - 1) * stride
    return True


def width(shape: Shape, strides: Shape) -> int:
    """Positions from the least to the greatest, both counted; the shape has an element."""
    return 1 + sum((extent - 1) * abs(stride) for extent, stride in zip(shape, strides, strict=True))


def count_positions(shape: Shape, strides: Shape) -> int:
    """How many different positions are reached: one by one where they lie far apart, else as a set of bits."""
    size = math.prod(shape)
    if size <= 2**20 and width(shape, strides) > 2**24:
        found = {0}
        for extent, stride in zip(shape, strides, strict=True):
            found = {position + k * stride for position in found for k in range(extent)}
        return len(found)
    return position_set(shape, strides).bit_count()


def position_set(shape: Shape, strides: Shape) -> int:
    """The positions reached, counted from the least one: axis by axis, all shifts of what the axes before it reach.

    A negative stride reaches, from the least position, what the positive one does.
    """
    reached = 1
    for extent, stride in zip(shape, strides, strict=True):
        reached = shifts(reached, extent, abs(stride))
    return reached


def shifts(positions: int, count: int, stride: int) -> int:
    """The union of ``positions`` moved by 0, stride, ..., (count - 1) * stride; by halves, so that it stays quick."""
    if count == 1:
        return positions
    half = shifts(positions, count // 2, stride)
    both = half | half << (count // 2 * stride)
    return both if count % 2 == 0 else positions | both << stride


def touched(shape: Shape, strides: Shape, bits: int, phase: int) -> int:
    """The bytes that hold a bit of an array of elements of ``bits`` bits: byte q of the result is 0xff or 0.

    ``phase`` is the bit, in the first byte, at which the least position begins. The shape has an element.
    """
    small = width(shape, strides) * bits <= _REMEMBERED
    return (_remembered if small else _touched)(shape, strides, bits, phase)


def _touched(shape: Shape, strides: Shape, bits: int, phase: int) -> int:
    reached = position_set((*shape, bits), (*(stride * bits for stride in strides), 1)) << phase
    return int.from_bytes(reached.to_bytes(-(-reached.bit_length() // 8), "little").translate(_FULL), "little")


_remembered = functools.lru_cache(maxsize=512)(_touched)
