"""Sizes at which kernels work by other means: streaming stores, tiles, blocks of rows and columns. Oracle: numpy.

What is compared is exact on both sides: copies, exact casts, float sums of small integers, single rounded operations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import counterfoil as cf
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.expressions import Apply, Constant, Input

LARGE = (5 << 20) + 3 * 4096 + 67
"""Bytes: past what is streamed, no whole number of pages or lines."""

WIDTHS = {1: cf.uint8, 2: cf.int16, 4: cf.float32, 8: cf.float64, 16: cf.complex128}
NUMPY = {dtype: np.dtype(dtype.name) for dtype in WIDTHS.values()}


def over(dtype: Dtype, memory: np.ndarray, shape: Sequence[int], strides: Sequence[int], offset: int) -> cf.Array:
    """An array of a layout over an ndarray's memory."""
    buffer = cf.from_buffer(cf.uint8, memory.reshape(-1).view(np.uint8)).buffer
    return cf.Array(dtype, cf.Layout(shape, strides, offset), buffer)


def small_integers(count: int, seed: int = 0) -> np.ndarray:
    """Values of -9 to 9 as bytes."""
    return np.random.default_rng(seed).integers(-9, 10, count, np.int8)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_runs(width: int, offset: int) -> None:
    """Copies and sums of large runs from any offset change their elements alone."""
    dtype, kind = WIDTHS[width], NUMPY[WIDTHS[width]]
    count = LARGE // width
    x, y = (small_integers(count + 9, seed).astype(kind) for seed in (1, 2))
    for name, expected in (("copy", x), ("add", x + y), ("mul", x * y)):
        memory = np.full(count + 20, 77, kind)
        dst, left = over(dtype, memory, [count], [1], offset), over(dtype, x, [count], [1], 3)
        sources = [left] if name == "copy" else [left, over(dtype, y, [count], [1], 3)]
        assert getattr(cf.kernels, name)(dst, *sources) == Answer.DONE
        assert np.array_equal(memory[offset : offset + count], expected[3 : 3 + count])
        assert (memory[:offset] == 77).all() and (memory[offset + count :] == 77).all()


@pytest.mark.parametrize("dtype", [cf.int4, cf.bit], ids=str)
@pytest.mark.parametrize("phase", [0, 1, 3])
def test_runs_of_parts_of_bytes(dtype: Dtype, phase: int) -> None:
    """Copies of large runs of elements narrower than a byte, of the same and of another place in their bytes."""
    count = (LARGE * 8) // dtype.bits
    source = np.random.default_rng(1).integers(0, 256, LARGE + 8, np.uint8)
    bits = np.unpackbits(source, bitorder="little")
    for place in (phase, phase + 1):
        memory = np.full(LARGE + 8, 0xFF, np.uint8)
        dst, x = over(dtype, memory, [count], [1], place), over(dtype, source, [count], [1], phase)
        assert cf.kernels.copy(dst, x) == Answer.DONE
        expected = np.ones(memory.size * 8, np.uint8)
        first, last = place * dtype.bits, (place + count) * dtype.bits
        expected[first:last] = bits[phase * dtype.bits :][: last - first]
        assert np.array_equal(np.unpackbits(memory, bitorder="little"), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shape", [(2111, 1999), (64, 3), (65, 130), (3, 1300, 70)], ids=str)
def test_turned_planes(width: int, shape: tuple[int, ...]) -> None:
    """Copies that exchange the last two axes, of either direction, large enough for tiles and odd at the edges."""
    dtype, kind = WIDTHS[width], NUMPY[WIDTHS[width]]
    values = np.arange(np.prod(shape)).astype(kind).reshape(shape)
    turned = np.swapaxes(values, -1, -2)
    for view in (turned, turned[..., ::-1], turned[..., ::-1, :]):
        strides = [stride // width for stride in view.strides]
        offset = (view.__array_interface__["data"][0] - values.__array_interface__["data"][0]) // width
        x = over(dtype, values, view.shape, strides, offset)
        memory = np.zeros(values.size + 1, kind)
        plain = [stride // width for stride in np.empty(view.shape, kind).strides]
        assert cf.kernels.copy(over(dtype, memory, view.shape, plain, 1), x) == Answer.DONE
        assert np.array_equal(memory[1:].reshape(view.shape), view)


@pytest.mark.parametrize("source", ["float64", "float32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float64", "float32", "int64", "int8", "complex64"])
def test_casts(source: str, target: str) -> None:
    """Casts of large runs that numpy does exactly."""
    count = LARGE // 2
    values = np.abs(small_integers(count)).astype(source)
    memory = np.zeros(count + 3, target)
    dst, x = (Dtype.of_name(name) for name in (target, source))
    assert cf.kernels.cast(over(dst, memory, [count], [1], 1), over(x, values, [count], [1], 0)) == Answer.DONE
    assert np.array_equal(memory[1:-2], values.astype(target)) and not memory[-2:].any()


@pytest.mark.parametrize("identical", [False, True])
def test_a_chain(identical: bool) -> None:
    """A long map over operands of other strides, in place and not, and the same kernels one by one."""
    count = LARGE // 4
    a, b = (np.random.default_rng(seed).standard_normal(2 * count).astype(np.float32) for seed in (1, 2))
    expected = np.maximum(a[:count] * b[::2] + np.float32(0.5), 0)
    memory = a if identical else np.zeros(count, np.float32)
    program = Apply(
        "maximum", Apply("add", Apply("mul", Input(0), Input(1)), Constant(cf.float32, 0.5)), Constant(cf.float32, 0)
    )
    inputs = [over(cf.float32, a, [count], [1], 0), over(cf.float32, b, [count], [2], 0)]
    assert cf.kernels.map(over(cf.float32, memory, [count], [1], 0), program, inputs) == Answer.DONE
    assert np.array_equal(memory[:count], expected)


@pytest.mark.parametrize("name", ["float64", "float32", "int32", "uint8", "complex64"])
@pytest.mark.parametrize("shape", [(3, 4099), (4099, 3), (5, 700, 9), (20000,), (600, 600)], ids=str)
def test_reductions(name: str, shape: tuple[int, ...]) -> None:
    """Sums, extremes and positions over each set of axes, of small integers, whose sums are exact."""
    values = small_integers(int(np.prod(shape))).astype(name).reshape(shape)
    x = cf.from_buffer(Dtype.of_name(name), values)
    for axes in {(0,), (len(shape) - 1,), tuple(range(len(shape)))}:
        expected = {"sum": values.sum(axis=axes, dtype=values.dtype)}
        if values.dtype.kind != "c":
            expected |= {"max": values.max(axis=axes), "min": values.min(axis=axes)}
        for kernel, wanted in expected.items():
            dst = cf.host_array(x.dtype, wanted.shape)
            assert getattr(cf.kernels, kernel)(dst, x, axes) == Answer.DONE
            assert np.array_equal(np.array(dst.to_values()).reshape(wanted.shape), wanted)
        if values.dtype.kind != "c" and len(axes) == 1:
            wanted = values.argmax(axis=axes[0])
            dst = cf.host_array(cf.int64, wanted.shape)
            assert cf.kernels.argmax(dst, x, axes) == Answer.DONE
            assert np.array_equal(np.array(dst.to_values()).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("name", ["float64", "float32", "int32", "uint8"])
@pytest.mark.parametrize("extents", [(1, 1, 300), (65, 129, 64), (200, 3, 130), (64, 64, 128), (130, 70, 257)], ids=str)
def test_products(name: str, extents: tuple[int, int, int]) -> None:
    """Products over several blocks, exact in small integers, of turned and strided operands."""
    m, n, k = extents
    x = small_integers(m * k, 1).astype(name).reshape(k, m)
    y = small_integers(2 * k * n, 2).astype(name).reshape(k, 2 * n)
    dtype = Dtype.of_name(name)
    left = over(dtype, x, [m, k], [1, m], 0)
    right = over(dtype, y, [k, n], [2 * n, 2], 0)
    memory = np.zeros((m, n), name)
    assert cf.kernels.matmul(over(dtype, memory, [m, n], [n, 1], 0), left, right) == Answer.DONE
    assert np.array_equal(memory, np.matmul(x.T, y[:, ::2]).astype(name))


@pytest.mark.parametrize("name", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(3, 9001), (9001, 3), (300, 300), (70, 700)], ids=str)
def test_softmax(name: str, axis: int, shape: tuple[int, int]) -> None:
    """Lines longer than a block, along either axis, are within the rule's bound of numpy's in long double."""
    values = (np.random.default_rng(3).standard_normal(shape) * 5).astype(name)
    below = values.astype(np.longdouble) - values.max(axis=axis, keepdims=True)
    exact = np.exp(below)
    exact /= exact.sum(axis=axis, keepdims=True)
    memory = np.zeros(shape, name)
    dst, x = (cf.from_buffer(Dtype.of_name(name), array) for array in (memory, values))
    assert cf.kernels.softmax(dst, x, axis) == Answer.DONE
    bound = (shape[axis] + 16 - 2 * below) * np.finfo(name).eps / 2
    assert (np.abs(memory - exact) <= bound * exact).all()
