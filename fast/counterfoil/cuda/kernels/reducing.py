"""sum, prod, mean, max, min, argmax, argmin on a device (``fast/cuda/reduce.cu``, ``extreme.cu``).

The terms of a result are shared by the threads of a warp or a block (by rows), or each thread takes a result (by
columns) where neighbouring results are nearer than the terms of one are. Where results are few and terms are many the
terms are split, each split's part goes to scratch memory, and the parts are joined in order. All of that follows from
the layouts: the same call gives the same bits (N4).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels.walks import Walk, walk, wide
from counterfoil.cuda.launch import Function
from counterfoil.cuda.sources import Defines, Source
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.kernels import Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

Block = tuple[int, int, int]

THREADS: Final = 256
ENOUGH: Final = 1024
"""Blocks that occupy any device: fewer are made more by splitting, if there is enough to split."""
LEAST_SPLIT: Final = 8192
"""Terms of a result that are worth a block of their own."""
_LONG: Final = 512
_MOST_BLOCKS: Final = (1 << 31) - 1
_DEFINES: Final = {
    "sum": (),
    "prod": ("CF_PRODUCT",),
    "mean": ("CF_MEAN",),
    "max": (),
    "min": ("CF_LEAST",),
    "argmax": ("CF_POSITION",),
    "argmin": ("CF_LEAST", "CF_POSITION"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a reduction is launched: the kernel, the blocks' threads, the splits and the terms of each."""

    kernel: str
    block: Block
    splits: int
    chunk: int

    def blocks(self, results: int) -> int:
        """Blocks of one split."""
        per_block = self.block[0] if self.kernel == "cf_reduce_columns" else self.block[1]
        return min(-(-results // per_block), _MOST_BLOCKS)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of ``terms`` terms to each of ``results`` results. Walks: of dst and src, and of src alone."""

    dst: int
    src: int
    starts: tuple[int, int]
    results: int
    terms: int
    kept: Walk
    walked: Walk
    shape: Shape
    parts: int = 0

    def packed(self) -> bytes:
        """A ``cf_reduction``."""
        counts = (self.results, self.terms, self.shape.chunk, *self.starts)
        return struct.pack("@QQQqqqqq", self.dst, self.src, self.parts, *counts) + (
            self.kept.packed((1, 0)) + self.walked.packed()
        )


def fits(name: str, result: Sequence[int], shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether a destination's shape is the source's without the axes, each named once, and there is a term if need
    be."""
    if len(set(axes)) != len(axes) or not all(0 <= axis < len(shape) for axis in axes):
        return False
    if tuple(result) != tuple(extent for axis, extent in enumerate(shape) if axis not in axes):
        return False
    termless = any(shape[axis] == 0 for axis in axes)
    return not (termless and 0 not in result and name in ("max", "min", "argmax", "argmin"))


def plan(device: Cuda, row: Row, dst: Array, sources: Sequence[Array], axes: Sequence[int]) -> calls.Launch | Answer:
    """A reduction; Shape_mismatch as ``fits`` says, Declined for a destination identical to the source (A5)."""
    (x,) = sources
    if not fits(row.name, dst.shape, x.shape, axes):
        return Answer.SHAPE_MISMATCH
    if not dst.size:
        return calls.nothing
    if x.size and lib.cf_identical(dst._c, x._c):
        return Answer.DECLINED
    call, near = _reduction(row, dst, x, axes)
    text = source(row.name, x.dtype, call.kept.capacity, call.walked.capacity, wide(call.results, call.terms), near)
    first = cubins.function(device, text.text, call.shape.kernel)
    if call.shape.splits == 1:
        return lambda: first.launch((call.shape.blocks(call.results), 1, 1), call.shape.block, call.packed())
    second = cubins.function(device, text.text, "cf_reduce_parts")
    width = part_bytes(row, x.dtype, wide(call.results, call.terms))
    scratch = device.scratch(call.shape.splits * call.results * width)
    return lambda: _in_splits(replace(call, parts=pointer(scratch)), first, second)


def source(name: str, dtype: Dtype, kept: int, walked: int, wide: bool = False, near: bool = False) -> Source:
    """The instance of a kernel for a dtype and the capacities of its two walks."""
    file = "reduce.cu" if name in ("sum", "prod", "mean") else "extreme.cu"
    flags = (*_DEFINES[name], *(("CF_WIDE",) if wide else ()), *(("CF_NEIGHBOURS",) if near else ()))
    defines: Defines = (("CF_DTYPE", f"CF_{dtype.name.upper()}"), ("CF_KEPT", str(kept)), ("CF_WALKED", str(walked)))
    return Source(file, (*defines, *((flag, "1") for flag in flags)))


def part_bytes(row: Row, dtype: Dtype, wide: bool) -> int:
    """Bytes of a ``cf_part``: the computing format; a key, and a position beside it."""
    if row.family is Family.REDUCE and row.name not in ("max", "min"):
        return dtype.bits // 8 if dtype.kind is Kind.COMPLEX else 8 if dtype.bits == 64 else 4
    key = 8 if dtype.bits == 64 else 4
    return key if row.family is Family.REDUCE else 16 if key == 8 or wide else 8


def _reduction(row: Row, dst: Array, x: Array, axes: Sequence[int]) -> tuple[Reduction, bool]:
    """The call, and whether the terms of each result are neighbours from a 16-byte boundary on."""
    to, of = dst.layout, x.layout
    kept_axes = [axis for axis in range(of.rank) if axis not in axes]
    walked_axes = [axis for axis in range(of.rank) if axis in axes]
    kept = walk(to.shape, [[of.strides[axis] for axis in kept_axes], to.strides])
    ordered = row.family is Family.ARG
    walked = walk([of.shape[axis] for axis in walked_axes], [[of.strides[axis] for axis in walked_axes]], ordered)
    terms = math.prod(of.shape[axis] for axis in walked_axes)
    shape = shape_of(dst.size, terms, kept, walked)
    starts = (to.offset + kept.starts[1], of.offset + kept.starts[0] + walked.starts[0])
    call = Reduction(pointer(dst.buffer), pointer(x.buffer), starts, dst.size, terms, kept, walked, shape)
    return call, shape.kernel == "cf_reduce_rows" and neighbours(call, x.dtype.bits)


def shape_of(results: int, terms: int, kept: Walk, walked: Walk) -> Shape:
    """By columns where neighbouring results are nearer in the source than terms are, or terms are few."""
    across, along = kept.nearest[0], walked.nearest[0]
    if results > 1 and (across < along or terms <= 8):
        x = 32 if results < 1 << 14 else 128
        block, least = (x, min(THREADS // x, 8) if terms >= 64 else 1, 1), LEAST_SPLIT // 16
        blocks, kernel = -(-results // x), "cf_reduce_columns"
    else:
        block, least = ((32, 8, 1) if terms <= _LONG else (THREADS, 1, 1)), LEAST_SPLIT
        blocks, kernel = -(-results // block[1]), "cf_reduce_rows"
    return Shape(kernel, block, *split(terms, blocks, least))


def split(terms: int, blocks: int, least: int) -> tuple[int, int]:
    """How many splits, and terms of each: a multiple of 256, and at least ``least`` where there is more than one."""
    wanted = min(-(-ENOUGH // blocks), terms // least) if 2 * blocks <= ENOUGH else 1
    if wanted <= 1:
        return 1, max(terms, 1)
    chunk = -(-terms // wanted // 256) * 256
    return -(-terms // chunk), chunk


def neighbours(call: Reduction, bits: int) -> bool:
    """Whether the terms of each result are neighbours from a 16-byte boundary on."""
    if bits < 8 or len(call.walked.axes) != 1 or call.walked.axes[0].strides != (1,):
        return False
    width = bits // 8
    apart = all(axis.strides[0] * width % 16 == 0 for axis in call.kept.axes)
    return apart and (call.src + call.starts[1] * width) % 16 == 0


def _in_splits(call: Reduction, first: Function, second: Function) -> None:
    shape = call.shape
    first.launch((shape.blocks(call.results), shape.splits, 1), shape.block, call.packed())
    joined = replace(call, shape=replace(shape, chunk=shape.splits))
    second.launch((min(-(-call.results // 8), _MOST_BLOCKS), 1, 1), (32, 8, 1), joined.packed())


PLANNERS: Final = {Family.REDUCE: plan, Family.ARG: plan}
