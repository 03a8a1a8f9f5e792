"""cumsum on a device (``fast/cuda/scan.cu``).

The threads of a warp or a block scan a line together, or each thread takes a line. Few and long lines are cut into
chunks: their totals, what comes before each, then the chunks themselves, all in an order that the layouts decide (N4).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels.lines import THREADS, Lines, blocks, fits, lines_of
from counterfoil.cuda.sources import Defines, Source
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.kernels import Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_ENOUGH: Final = 1024
_LEAST_CHUNK: Final = 8192
_TILE: Final = 1024
_LONG: Final = 512


def plan(device: Cuda, row: Row, dst: Array, sources: Sequence[Array], axis: int) -> calls.Launch | Answer:
    """Running sums along an axis; Shape_mismatch for other shapes and an axis that is none. Nothing is declined."""
    (x,) = sources
    if not fits(dst.shape, x.shape, axis):
        return Answer.SHAPE_MISMATCH
    if not x.size:
        return calls.nothing
    lines = lines_of(dst, x, axis)
    text = source(x.dtype, lines.kept.capacity, lines.wide).text
    if lines.across:
        columns = cubins.function(device, text, "cf_scan_columns")
        return lambda: columns.launch((blocks(lines.lines, 128), 1, 1), (128, 1, 1), packed(lines, lines.extent))
    block = (32, 8, 1) if lines.extent <= _LONG else (THREADS, 1, 1)
    scan = cubins.function(device, text, "cf_scan_lines")
    count, chunk = chunks(lines.extent, blocks(lines.lines, block[1]))
    if count == 1:
        grid = (blocks(lines.lines, block[1]), 1, 1)
        return lambda: scan.launch(grid, block, packed(lines, lines.extent))
    totals = cubins.function(device, text, "cf_scan_totals")
    before = cubins.function(device, text, "cf_scan_chunks")
    scratch = device.scratch(count * lines.lines * computing_bytes(x.dtype))

    def launch() -> None:
        grid, whole = blocks(lines.lines, 1), packed(lines, chunk, pointer(scratch))
        totals.launch((grid, count - 1, 1), (THREADS, 1, 1), whole)
        before.launch((blocks(lines.lines, 8), 1, 1), (32, 8, 1), packed(lines, count, pointer(scratch)))
        scan.launch((grid, count, 1), (THREADS, 1, 1), whole)

    return launch


def source(dtype: Dtype, kept: int, wide: bool = False) -> Source:
    """The instance for a dtype and the capacity of the walk over lines."""
    defines: Defines = (("CF_DTYPE", f"CF_{dtype.name.upper()}"), ("CF_KEPT", str(kept)))
    return Source("scan.cu", (*defines, *((("CF_WIDE", "1"),) if wide else ())))


def chunks(extent: int, blocks: int) -> tuple[int, int]:
    """How many chunks lines are cut into, and the elements of each: whole tiles."""
    wanted = min(-(-_ENOUGH // blocks), extent // _LEAST_CHUNK) if 2 * blocks <= _ENOUGH else 1
    if wanted <= 1:
        return 1, extent
    chunk = -(-extent // wanted // _TILE) * _TILE
    return -(-extent // chunk), chunk


def packed(lines: Lines, chunk: int, totals: int = 0) -> bytes:
    """A ``cf_scan``."""
    head = struct.pack("@QQQqqq", *lines.addresses, totals, lines.lines, lines.extent, chunk)
    return head + lines.counts() + lines.kept.packed()


def computing_bytes(dtype: Dtype) -> int:
    """Bytes of an element in the computing format."""
    return dtype.bits // 8 if dtype.kind is Kind.COMPLEX else 8 if dtype.bits == 64 else 4


PLANNERS: Final = {Family.SCAN: plan}
