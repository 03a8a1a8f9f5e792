"""Copies on a device between any two layouts, by the bits of elements: copy, and what moves bytes of arrays there.

Elements narrower than a byte keep their neighbours. Contiguous bytes are the driver's own copy; layouts whose nearest
neighbours lie along different axes go through tiles; anything else is ``fast/cuda/pointwise.cu`` with nothing computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.cuda import calls
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype, bit, complex64, complex128, uint4, uint8, uint16, uint32, uint64
from counterfoil_spec.kernels import Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_BY_BITS: Final = {dtype.bits: dtype for dtype in (bit, uint4, uint8, uint16, uint32, uint64, complex128)}


def bits_of(dtype: Dtype) -> Dtype:
    """The dtype whose elements are moved for another's: of as many bits, and aligned no more."""
    return complex64 if dtype is complex64 else _BY_BITS[dtype.bits]


def plan(device: Cuda, dst: Array, src: Array) -> calls.Launch:
    """The launch that copies ``src`` to ``dst``: one dtype and shape, identical or sharing no byte."""
    from counterfoil.cuda.kernels import pointwise, transposing

    if not dst.size or lib.cf_identical(dst._c, src._c):
        return calls.nothing
    turned = transposing.plan(device, dst, src)
    if turned is not None:
        return turned
    moved = bits_of(dst.dtype)
    return pointwise.evaluation(device, pointwise.Expression("CF_X(0)", (moved, moved)), [dst, src])


def copy(device: Cuda, row: Row, dst: Array, sources: Sequence[Array]) -> calls.Launch | Answer:
    """The launch of the kernel copy, or SHAPE_MISMATCH."""
    (src,) = sources
    return Answer.SHAPE_MISMATCH if src.shape != dst.shape else plan(device, dst, src)


PLANNERS = {Family.COPY: copy}
