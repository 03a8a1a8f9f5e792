"""Which arrays share bytes, and which are identical (A1, A4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil_reference import reach
from counterfoil_reference.buffers import common_starts

if TYPE_CHECKING:
    from counterfoil_reference.arrays import Array


def overlap(one: Array, other: Array) -> bool:
    """Whether some byte holds bits of both, in one memory or at one host address; exact (A1)."""
    starts = common_starts(one.buffer, other.buffer)
    if starts[0] is None or starts[1] is None or one.layout.size == 0 or other.layout.size == 0:
        return False
    (first, last), (first_other, last_other) = byte_hull(one, starts[0]), byte_hull(other, starts[1])
    if last <= first_other or last_other <= first:
        return False
    base = min(first, first_other)
    return (_touched(one) << 8 * (first - base)) & (_touched(other) << 8 * (first_other - base)) != 0


def identical(one: Array, other: Array) -> bool:
    """Whether both have one element width, one shape and an element, and place every index at the same bits (A4).

    Layouts are canonical, so every index lies at the same bits iff the first does and the strides are equal.
    """
    if one.dtype.bits != other.dtype.bits or one.layout.size == 0:
        return False
    if one.layout.shape != other.layout.shape or one.layout.strides != other.layout.strides:
        return False
    start, other_start = common_starts(one.buffer, other.buffer)
    if start is None or other_start is None:
        return False
    bits = one.dtype.bits
    return start * 8 + one.layout.offset * bits == other_start * 8 + other.layout.offset * bits


def byte_hull(array: Array, start: int = 0) -> tuple[int, int]:
    """The bytes from the first that holds a bit of the array to the last, half-open, where its buffer is at start."""
    low, high = array.layout.span
    return start + low * array.dtype.bits // 8, start + -(-high * array.dtype.bits // 8)


def _touched(array: Array) -> int:
    """The array's bytes from the first one on, as a number whose byte q is 0xff where the array has a bit there."""
    layout, bits = array.layout, array.dtype.bits
    return reach.touched(layout.shape, layout.strides, bits, layout.span[0] * bits % 8)
