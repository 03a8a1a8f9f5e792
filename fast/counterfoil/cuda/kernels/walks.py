"""Walks over axes as ``fast/cuda/walk.cuh`` takes them: merged, ordered, packed with what divides by each extent."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

CAPACITIES: Final = (1, 2, 4, 32)
"""How many axes a kernel is compiled for; all but the last are unrolled."""

NARROW: Final = 1 << 31
"""Counts from here on take 64 bits."""


class Axis(NamedTuple):
    """An extent of more than one index, and the stride of each operand, in elements."""

    extent: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """Axes, the innermost last; ``starts``: how far from an operand's first index its walk begins, in elements."""

    axes: tuple[Axis, ...]
    starts: tuple[int, ...]

    @property
    def capacity(self) -> int:
        """The capacity of the kernel that walks this."""
        return next(capacity for capacity in CAPACITIES if capacity >= len(self.axes))

    @property
    def nearest(self) -> tuple[int, ...]:
        """The magnitudes of the innermost strides; all 0 without an axis."""
        return tuple(map(abs, self.axes[-1].strides)) if self.axes else (0,) * len(self.starts)

    def packed(self, operands: tuple[int, int] = (0, 1), capacity: int = 0) -> bytes:
        """A ``cf_walk``: its first operand is ``operands[0]`` of this, its second ``operands[1]``, if there is one."""
        given = list(reversed(self.axes))
        room = max(capacity, self.capacity)
        unit = Axis(1, (0,) * len(self.starts))
        parts = [struct.pack("@q", max(1, len(given)))]
        for extent, strides in given + [unit] * (room - len(given)):
            here, there = (strides[k] if k < len(strides) else 0 for k in operands)
            parts.append(struct.pack("@qqqQII", extent, here, there, *_dividers(extent)))
        return b"".join(parts)


def walk(shape: Sequence[int], strides: Sequence[Sequence[int]], ordered: bool = False) -> Walk:
    """The walk of operands of one shape, given the strides of each; ``ordered``: C order is kept.

    Where it is free, axes are turned to go up in the first operand that moves, and sorted so that the innermost is
    the nearest to it.
    """
    axes = [Axis(n, tuple(steps)) for n, *steps in zip(shape, *strides, strict=True) if n != 1]
    starts = [0] * len(strides)
    if not ordered:
        axes = [_upward(axis, starts) for axis in axes]
        axes.sort(key=lambda axis: tuple(map(abs, axis.strides)), reverse=True)
    return Walk(tuple(_merged(axes)), tuple(starts))


def divider(extent: int, bits: int) -> tuple[int, int]:
    """``(multiplier, shift)`` that divide by an extent in words of ``bits`` without a division.

    ``(high(i * multiplier) + i) >> shift == i // extent`` for i and extents below 2^(bits - 1).
    """
    shift = (extent - 1).bit_length()
    return (((1 << shift) - extent) << bits) // extent + 1, shift


def wide(*counts: int) -> bool:
    """Whether indices below these counts need 64 bits."""
    return any(count >= NARROW for count in counts)


def _dividers(extent: int) -> tuple[int, int, int]:
    """The multipliers for 64 and 32 bits, and the shift. No index is divided by 0, nor by 2^31 or more in 32 bits."""
    if not extent:
        return 0, 0, 0
    (wide, shift), (narrow, _) = divider(extent, 64), divider(extent, 32)
    return wide, narrow & 0xFFFFFFFF, shift


def _upward(axis: Axis, starts: list[int]) -> Axis:
    first = next((stride for stride in axis.strides if stride), 0)
    if first >= 0:
        return axis
    for k, stride in enumerate(axis.strides):
        starts[k] += (axis.extent - 1) * stride
    return Axis(axis.extent, tuple(-stride for stride in axis.strides))


def _merged(axes: list[Axis]) -> list[Axis]:
    """Neighbours that every operand walks as one, as one."""
    found = axes[:1]
    for outer, inner in pairwise(axes):
        one = all(a == b * inner.extent for a, b in zip(outer.strides, inner.strides, strict=True))
        found[-1:] = [Axis(found[-1].extent * inner.extent, inner.strides)] if one else [found[-1], inner]
    return found
