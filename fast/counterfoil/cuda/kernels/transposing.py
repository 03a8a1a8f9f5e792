"""Tiled copies (``fast/cuda/transpose.cu``): two layouts whose nearest neighbours lie along different axes.

``fits(dst, src)`` says whether a copy is one; ``plan(device, dst, src)`` compiles it and gives what enqueues it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels.walks import Axis, Walk, walk, wide
from counterfoil.cuda.sources import Source

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_LEAST_SIDE: Final = 8
"""Below this many neighbours on either side a tile is mostly edge."""

_MOST_BLOCKS: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Turn:
    """A transposed copy: ``line`` is the axis of dst's neighbours, ``column`` that of src's; the rest are planes."""

    line: Axis
    column: Axis
    planes: Walk
    starts: tuple[int, int]

    def tiles(self, side: int) -> tuple[int, int]:
        """Tiles along the lines and along the columns."""
        return -(-self.line.extent // side), -(-self.column.extent // side)


def side_of(nbytes: int) -> int:
    """The side of a tile of elements of so many bytes, as the kernel has it."""
    return 64 if nbytes <= 2 else 32


def turn_of(dst: Array, src: Array) -> Turn | None:
    """The transposed copy that two arrays of one shape make; None where a plain copy is as good."""
    if src.dtype.bits < 8 or dst.dtype.bits != src.dtype.bits or dst.shape != src.shape or not src.size:
        return None
    to, of = dst.layout, src.layout
    whole = walk(to.shape, [to.strides, of.strides])
    line = next((axis for axis in whole.axes if axis.strides[0] == 1), None)
    column = next((axis for axis in whole.axes if axis.strides[1] == 1), None)
    if line is None or column is None or line is column or min(line.extent, column.extent) < _LEAST_SIDE:
        return None
    rest = [axis for axis in whole.axes if axis is not line and axis is not column]
    tiles = Turn(line, column, Walk(tuple(rest), (0, 0)), (to.offset + whole.starts[0], of.offset + whole.starts[1]))
    along, across = tiles.tiles(side_of(src.dtype.bits // 8))
    aligned = all(pointer(array.buffer) % min(src.dtype.bits // 8, 16) == 0 for array in (dst, src))
    return tiles if aligned and along * across <= _MOST_BLOCKS else None


def fits(dst: Array, src: Array) -> bool:
    """Whether ``plan`` copies src to dst, which share no byte."""
    return turn_of(dst, src) is not None


def plan(device: Cuda, dst: Array, src: Array) -> calls.Launch | None:
    """What enqueues the transposed copy of src to dst; None where ``fits`` says there is none."""
    turn = turn_of(dst, src)
    if turn is None:
        return None
    nbytes = src.dtype.bits // 8
    planes = src.size // (turn.line.extent * turn.column.extent)
    text = source(nbytes, turn.planes.capacity, wide(planes)).text
    function = cubins.function(device, text, "cf_transpose_tiles")
    along, across = turn.tiles(side_of(nbytes))
    arguments = packed(turn, pointer(dst.buffer), pointer(src.buffer), planes, along)
    return lambda: function.launch((along * across, min(planes, 65535), 1), (32, 8, 1), arguments)


def source(nbytes: int, kept: int, wide: bool = False) -> Source:
    """The instance for elements of 1, 2, 4, 8 or 16 bytes and the capacity of the walk over planes."""
    defines = (("CF_BYTES", str(nbytes)), ("CF_KEPT", str(kept)))
    return Source("transpose.cu", (*defines, *((("CF_WIDE", "1"),) if wide else ())))


def packed(turn: Turn, dst: int, src: int, planes: int, along: int) -> bytes:
    """A ``cf_transpose``."""
    counts = (turn.line.extent, turn.column.extent, planes, *turn.starts, turn.column.strides[0], turn.line.strides[1])
    return struct.pack("@QQ7qq", dst, src, *counts, along) + turn.planes.packed()
