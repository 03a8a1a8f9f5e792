"""Operands flush against inaccessible pages at sizes that are streamed, tiled or taken by blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from tests.kernels.operands import Call, Operand, Way, contiguous, way
from tests.memory_safety.calling import Prepared
from tests.memory_safety.guarded import PAGE, Guarded, Side

from counterfoil_spec.dtypes import Dtype, bit, bool_, complex128, float16, float32, float64, int4, int64, uint8
from counterfoil_spec.expressions import Apply, Constant, Input

STREAMED = (5 << 20) + 999
"""Bytes: past where destinations are streamed, no whole number of lines."""

GUARDS = [Guarded(STREAMED // PAGE * PAGE + 3 * PAGE) for _ in range(3)]


def operand(dtype: Dtype, lying: Way, seed: int = 0) -> Operand:
    """An operand whose elements are a few codes over and over."""
    codes = [code & (1 << dtype.bits) - 1 for code in (0, 1, 0x3C, 0x3F80, 0x40490FDB, 0x7E, 3)]
    width = max(dtype.bits // 8, 1)
    pattern = np.frombuffer(b"".join(code.to_bytes(width, "little") for code in codes), np.uint8).reshape(-1, width)
    return Operand(dtype, lying, np.resize(pattern[seed:], (math.prod(lying.shape), width)), 0)


def plain(dtype: Dtype, shape: Sequence[int], seed: int = 0) -> Operand:
    """A contiguous operand."""
    return operand(dtype, way(shape, contiguous(shape)), seed)


def agree(call: Call) -> None:
    """Two sides over two poisons give one result, and nothing else is touched."""
    prepared = Prepared(call)
    runs = {prepared.run(GUARDS, side, poison) for side, poison in ((Side.BEFORE, 0x00), (Side.AFTER, 0xFF))}
    assert [answer for answer, _ in runs] == [0]


@pytest.mark.parametrize(
    "dtype",
    [
        uint8,
        float32,
        int4,
        *(pytest.param(dtype, marks=pytest.mark.long) for dtype in (float16, float64, complex128, bit)),
    ],
    ids=str,
)
def test_streamed_copies(dtype: Dtype) -> None:
    """A run longer than what is streamed."""
    count = STREAMED * 8 // dtype.bits
    agree(Call("copy", plain(dtype, [count]), [plain(dtype, [count], 1)]))


@pytest.mark.parametrize("dtype", [uint8, float16, float32, float64], ids=str)
@pytest.mark.parametrize("shape", [(2111, 1999), (65, 67), (3, 1300)], ids=str)
def test_turned_copies(dtype: Dtype, shape: tuple[int, int]) -> None:
    """Planes turned by tiles, with edges left over on both sides."""
    rows, columns = shape[0], min(shape[1], STREAMED // (dtype.bits // 8) // shape[0])
    turned = operand(dtype, way((columns, rows), (1, columns)), 1)
    agree(Call("copy", plain(dtype, (columns, rows)), [turned]))


@pytest.mark.parametrize(("dtype", "result"), [(float32, float32), (float32, bool_), (int64, int64)], ids=str)
def test_streamed_operations(dtype: Dtype, result: Dtype) -> None:
    """Binary operations on a run that is streamed, or just not."""
    count = STREAMED // (dtype.bits // 8)
    name = "less" if result is bool_ else "add"
    agree(Call(name, plain(result, [count]), [plain(dtype, [count], 1), plain(dtype, [count], 2)]))


@pytest.mark.parametrize(("source", "target"), [(uint8, float32), (float32, float16), (int4, uint8)], ids=str)
def test_streamed_casts(source: Dtype, target: Dtype) -> None:
    """Casts into a run that is streamed."""
    count = STREAMED // max(target.bits, source.bits) * 8
    agree(Call("cast", plain(target, [count]), [plain(source, [count], 1)]))


def test_a_streamed_expression() -> None:
    """A map into a run that is streamed."""
    count = STREAMED // 4
    program = Apply("maximum", Apply("mul", Input(0), Input(1)), Constant(float32, 0.5))
    sources = [plain(float32, [count], 1), plain(float32, [count], 2)]
    agree(Call("map", plain(float32, [count]), sources, (), program))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kernel", ["sum", "max", "argmin", "cumsum", "softmax"])
def test_long_axes(kernel: str, axis: int) -> None:
    """Reductions, scans and softmax over axes longer than a block of rows or columns."""
    for shape in ((3, 9001), (9001, 3)):
        x = plain(float32, shape, 1)
        if kernel in ("cumsum", "softmax"):
            agree(Call(kernel, plain(float32, shape), [x], (axis,)))
        else:
            result = int64 if kernel == "argmin" else float32
            agree(Call(kernel, plain(result, [shape[1 - axis]]), [x], ([axis],)))


@pytest.mark.parametrize("dtype", [float16, float32, float64, int64], ids=str)
def test_products_of_several_blocks(dtype: Dtype) -> None:
    """Products larger than a block each way, of a turned operand."""
    m, n, k = 130, 67, 257
    left = operand(dtype, way((m, k), (1, m)), 1)
    agree(Call("matmul", plain(dtype, (m, n)), [left, plain(dtype, (k, n), 2)]))
