"""softmax on a device (``fast/cuda/softmax.cu``): lines by a warp, a block or a thread, held in shared memory where
they fit."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins
from counterfoil.cuda.kernels.lines import THREADS, Lines, blocks, fits, lines_of
from counterfoil.cuda.kernels.scanning import computing_bytes
from counterfoil.cuda.sources import Defines, Source
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

MOST_SHARED: Final = 48 * 1024 - 256
"""Bytes of dynamic shared memory that every device gives a block, beside what the kernel itself declares."""

_LONG: Final = 1024


def plan(device: Cuda, row: Row, dst: Array, sources: Sequence[Array], axis: int) -> calls.Launch | Answer:
    """softmax along an axis; Shape_mismatch for other shapes and an axis that is none. Nothing is declined."""
    (x,) = sources
    if not fits(dst.shape, x.shape, axis):
        return Answer.SHAPE_MISMATCH
    if not x.size:
        return calls.nothing
    lines = lines_of(dst, x, axis)
    if lines.across:
        text = source(x.dtype, lines.kept.capacity, lines.wide)
        columns = cubins.function(device, text.text, "cf_softmax_columns")
        return lambda: columns.launch((blocks(lines.lines, 128), 1, 1), (128, 1, 1), packed(lines))
    block = (32, 8, 1) if lines.extent <= _LONG else (THREADS, 1, 1)
    bytes_held = block[1] * lines.extent * computing_bytes(x.dtype)
    held = bytes_held <= MOST_SHARED
    text = source(x.dtype, lines.kept.capacity, lines.wide, held)
    along = cubins.function(device, text.text, "cf_softmax_lines")
    grid = (blocks(lines.lines, block[1]), 1, 1)
    return lambda: along.launch(grid, block, packed(lines), bytes_held if held else 0)


def source(dtype: Dtype, kept: int, wide: bool = False, held: bool = False) -> Source:
    """The instance for a dtype and the capacity of the walk over lines; ``held``: lines fit shared memory."""
    flags = (*(("CF_WIDE",) if wide else ()), *(("CF_HELD",) if held else ()))
    defines: Defines = (("CF_DTYPE", f"CF_{dtype.name.upper()}"), ("CF_KEPT", str(kept)))
    return Source("softmax.cu", (*defines, *((flag, "1") for flag in flags)))


def packed(lines: Lines) -> bytes:
    """A ``cf_softmax``."""
    return struct.pack("@QQqq", *lines.addresses, lines.lines, lines.extent) + lines.counts() + lines.kept.packed()


PLANNERS: Final = {Family.SOFTMAX: plan}
