"""Kernels of one index at a time: unary to fma, comparisons, where, cast (``fast/cuda/pointwise.cu``).

An instance is compiled for each expression, dtypes and way of walking: vectors where all operands are contiguous and
aligned, or rows of them are; bytes where the destination is contiguous and its elements are narrower than one; else any
layouts. Sources that are one element repeated, as scalars are, or one for each row, count as contiguous.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins, driver, launch
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels import moving
from counterfoil.cuda.kernels.operands import Operands, operands_of
from counterfoil.cuda.sources import Defines, Source
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import ARITIES, Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda


@dataclass(frozen=True, slots=True)
class Expression:
    """What is stored: CUDA C of ``CF_X(k)``, the code of source k, and ``CF_VALUE(dtype, k)``, the value of constant k.

    ``dtypes``: the destination's, then the sources'. ``constants``: bits, as pairs of 64-bit words.
    """

    text: str
    dtypes: tuple[Dtype, ...]
    constants: tuple[tuple[int, int], ...] = ()

    @property
    def values(self) -> bytes:
        """The constants as the kernel's second parameter."""
        words = [word for pair in self.constants or ((0, 0),) for word in pair]
        return struct.pack(f"@{len(words)}Q", *words)


def word(dtype: Dtype) -> str:
    """A dtype as CUDA C names it."""
    return f"CF_{dtype.name.upper()}"


@lru_cache(maxsize=4096)
def kernel(row: Row, dtypes: tuple[Dtype, ...]) -> Expression:
    """The expression of a row of the table, for the destination's dtype and the sources'."""
    sources = ", ".join(f"CF_X({place})" for place in range(len(dtypes) - 1))
    if row.family is Family.CAST:
        return Expression(f"cf_convert<{word(dtypes[1])}, {word(dtypes[0])}>({sources})", dtypes)
    return Expression(f"cf_{row.name}<{word(dtypes[-1])}>({sources})", dtypes)


def source(expression: Expression, way: Defines) -> Source:
    """The instance that walks in a way, as ``walked`` says it."""
    return _source(expression.text, expression.dtypes, len(expression.constants), way)


@lru_cache(maxsize=4096)
def _source(text: str, dtypes: tuple[Dtype, ...], constants: int, way: Defines) -> Source:
    result, *sources = (word(dtype) for dtype in dtypes)
    shared = (
        ("CF_DST", result),
        ("CF_SOURCES", ", ".join(sources)),
        ("CF_COUNT", str(len(sources))),
        ("CF_CONSTANTS", str(max(1, constants))),
        ("CF_EXPRESSION", text),
    )
    return Source("pointwise.cu", (*shared, *way))


def plan(device: Cuda, row: Row, dst: Array, sources: Sequence[Array]) -> calls.Launch | Answer:
    """The launch of a row's kernel, or SHAPE_MISMATCH."""
    if any(operand.shape != dst.shape for operand in sources):
        return Answer.SHAPE_MISMATCH
    if row.family is Family.CAST and dst.dtype is sources[0].dtype:
        return moving.plan(device, dst, sources[0])
    return evaluation(device, kernel(row, (dst.dtype, *(operand.dtype for operand in sources))), [dst, *sources])


def evaluation(device: Cuda, expression: Expression, arrays: Sequence[Array]) -> calls.Launch:
    """The launch that stores an expression of ``arrays[1:]`` in ``arrays[0]``, all of one shape."""
    if not arrays[0].size:
        return calls.nothing
    operands = operands_of(arrays)
    way, name, arguments, items = walked(operands, [dtype.bits for dtype in expression.dtypes])
    given = arguments + expression.values
    tabled = len(given) > launch.MOST_PARAMETERS
    way = (*way, ("CF_TABLE", "1")) if tabled else way
    function = cubins.function(device, source(expression, way).text, name)
    grid, block = launch.blocks(items), (launch.THREADS, 1, 1)
    if not tabled:
        return lambda: function.launch(grid, block, given)
    table = device.scratch(len(given))

    def by_table() -> None:
        driver.to_device(pointer(table), given, device.timeline.raw)
        function.launch(grid, block, launch.packed("Q", pointer(table)))

    return by_table


def walked(operands: Operands, bits: Sequence[int]) -> tuple[Defines, str, bytes, int]:
    """How operands of these widths are walked: definitions, the kernel's name, its first parameter, and its items."""
    alike, flat, whole = operands.alike, len(operands.shape) == 1, min(bits) >= 8
    shared = (("CF_ALIKE", str(alike)),) if alike else ()
    if alike >= 0 and flat and bits[0] < 8:
        count = len(operands.data)
        packed = struct.pack(f"@{count}Q{count}qQ", *operands.data, *operands.starts, operands.size)
        return (("CF_PARTS", "1"), *shared), "cf_pointwise_bytes", packed, -(-operands.size * bits[0] // 8) + 1
    lanes = operands.lanes([width // 8 for width in bits]) if alike >= 0 and whole else 0
    if lanes and flat:
        packed = struct.pack(f"@{len(operands.data)}QQ", *operands.data, operands.size)
        return (("CF_LANES", str(lanes)), *shared), "cf_pointwise_vectors", packed, -(-operands.size // lanes)
    if lanes > 1:
        rows = operands.vectors(lanes)
        return (("CF_LANES", str(lanes)), *shared, *_ranked(rows)), "cf_pointwise_rows", rows.packed(), rows.size
    return _ranked(operands), "cf_pointwise_strided", operands.packed(), operands.size


def _ranked(operands: Operands) -> Defines:
    """The definitions of layouts."""
    return (("CF_RANK", str(operands.capacity)), *((("CF_WIDE", "1"),) if operands.wide else ()))


PLANNERS = {family: plan for family in ARITIES if family.pointwise and ARITIES[family] and family is not Family.COPY}
