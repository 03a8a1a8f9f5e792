"""Kernels without a source: fill (``fast/cuda/pointwise.cu``), iota (``fast/cuda/counting.cu``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins, launch
from counterfoil.cuda.kernels import pointwise
from counterfoil.cuda.kernels.moving import bits_of
from counterfoil.cuda.kernels.operands import counted
from counterfoil.cuda.sources import Source
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda


def filled(dtype: Dtype, low: int, high: int) -> pointwise.Expression:
    """The expression of a value given by its bits, and nothing else."""
    moved = bits_of(dtype)
    return pointwise.Expression(f"CF_VALUE({pointwise.word(moved)}, 0)", (moved,), ((low, high),))


def fill(device: Cuda, row: Row, dst: Array, sources: Sequence[Array], low: int, high: int) -> calls.Launch:
    """The launch that stores bits at every index."""
    return pointwise.evaluation(device, filled(dst.dtype, low, high), [dst])


def iota(device: Cuda, row: Row, dst: Array, sources: Sequence[Array], axis: int) -> calls.Launch | Answer:
    """The launch that stores at every index its entry along an axis, or SHAPE_MISMATCH."""
    if not 0 <= axis < len(dst.shape):
        return Answer.SHAPE_MISMATCH
    if not dst.size:
        return calls.nothing
    operands = counted(dst, axis)
    text = counting(dst.dtype, operands.capacity, operands.wide).text
    function = cubins.function(device, text, "cf_count")
    grid, arguments = launch.blocks(operands.size), operands.packed()
    return lambda: function.launch(grid, (launch.THREADS, 1, 1), arguments)


def counting(dtype: Dtype, capacity: int, wide: bool) -> Source:
    """The instance of iota for a dtype."""
    defines = (("CF_DST", pointwise.word(dtype)), ("CF_RANK", str(capacity)))
    return Source("counting.cu", (*defines, *((("CF_WIDE", "1"),) if wide else ())))


PLANNERS = {Family.FILL: fill, Family.IOTA: iota}
