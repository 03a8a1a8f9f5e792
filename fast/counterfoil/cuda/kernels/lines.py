"""Kernels along one axis: the lines of a destination and a source of one shape, and how they are shared out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.arrays import Array
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels.walks import Walk, walk, wide

MOST_BLOCKS: Final = (1 << 31) - 1
THREADS: Final = 256

_MANY_LINES: Final = 2048
_SHORT: Final = 16


@dataclass(frozen=True, slots=True)
class Lines:
    """``lines`` lines of ``extent`` elements, walked by ``kept``; steps and starts are dst's and src's."""

    addresses: tuple[int, int]
    lines: int
    extent: int
    starts: tuple[int, int]
    steps: tuple[int, int]
    kept: Walk

    @property
    def wide(self) -> bool:
        """Whether lines are counted in 64 bits."""
        return wide(self.lines)

    @property
    def across(self) -> bool:
        """Whether a thread takes a line: lines are many and nearer to each other than their elements, or short."""
        nearer = self.kept.nearest[0] < abs(self.steps[0])
        return self.lines > 1 and (self.extent <= _SHORT or (nearer and self.lines >= _MANY_LINES))

    def counts(self) -> bytes:
        """Starts and steps, packed."""
        return struct.pack("@4q", *self.starts, *self.steps)


def lines_of(dst: Array, src: Array, axis: int) -> Lines:
    """The lines along an axis of two arrays of one shape, which have an element."""
    to, of = dst.layout, src.layout
    others = [k for k in range(of.rank) if k != axis]
    strides = [[layout.strides[k] for k in others] for layout in (to, of)]
    kept = walk([of.shape[k] for k in others], strides)
    starts = (to.offset + kept.starts[0], of.offset + kept.starts[1])
    addresses, steps = (pointer(dst.buffer), pointer(src.buffer)), (to.strides[axis], of.strides[axis])
    return Lines(addresses, of.size // of.shape[axis], of.shape[axis], starts, steps, kept)


def fits(result: Sequence[int], shape: Sequence[int], axis: int) -> bool:
    """Whether shapes are equal and the axis is one of theirs."""
    return tuple(result) == tuple(shape) and 0 <= axis < len(shape)


def blocks(lines: int, per_block: int) -> int:
    """Blocks that take all lines, as many as a grid has."""
    return min(-(-lines // per_block), MOST_BLOCKS)
