"""What cuBLAS is asked for: a stand-in that computes column-major products over numpy's memory gives the right ones.

The stand-in has the arguments of gemm_strided_batched_ex; the library itself needs a GPU and is not run here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from counterfoil.cuda.kernels.library import Matrices, Product, arguments
from counterfoil_spec.dtypes import Dtype, float32, float64, int32

RANDOM = np.random.default_rng(20263)
FORMATS = {0: "float32", 1: "float64", 2: "float16"}

Values = np.ndarray[Any, np.dtype[Any]]


class Memory:
    """Elements of one dtype at addresses 0, 1, 2 ... times their width."""

    def __init__(self, dtype: str) -> None:
        self.cells: Values = np.zeros(0, dtype)

    def put(self, values: Values, turned: bool, gap: int) -> Matrices:
        """Matrices stored by rows, or by columns, ``gap`` elements between these and between matrices."""
        stored = values.swapaxes(-1, -2) if turned else values
        padded = np.zeros((*stored.shape[:-1], stored.shape[-1] + gap), values.dtype)
        padded[..., : stored.shape[-1]] = stored
        address = self.cells.nbytes
        self.cells = np.concatenate([self.cells, padded.reshape(-1), np.zeros(gap, values.dtype)])
        lead, batch = padded.shape[-1], padded[0].size if values.ndim > 2 else 0
        row, column = (1, lead) if turned else (lead, 1)
        return Matrices(address, row, column, batch)

    def at(self, matrices: Matrices, shape: tuple[int, int, int]) -> Values:
        """A view of ``shape[0]`` matrices of ``shape[1:]``."""
        width = self.cells.itemsize
        strides = (matrices.batch * width, matrices.row * width, matrices.column * width)
        return np.lib.stride_tricks.as_strided(self.cells[matrices.address // width :], shape, strides)


def gemm(memory: Memory, given: tuple[int, ...]) -> None:
    """Column-major ``c = op(a) op(b)``, a matrix of lead l having element (i, j) at ``i + j l``."""
    trans_a, trans_b, m, n, k = given[:5]
    a, b, c = given[5:9], given[9:13], given[13:17]
    assert all(FORMATS[side[1]] == memory.cells.dtype.name for side in (a, b, c))
    assert a[2] >= (k if trans_a else m) and b[2] >= (n if trans_b else k) and c[2] >= m

    def matrix(side: tuple[int, ...], rows: int, columns: int, which: int) -> Values:
        start = side[0] // memory.cells.itemsize + which * side[3]
        width = memory.cells.itemsize
        return np.lib.stride_tricks.as_strided(memory.cells[start:], (rows, columns), (width, side[2] * width))

    for which in range(given[17]):
        left = matrix(a, k, m, which).T if trans_a else matrix(a, m, k, which)
        right = matrix(b, n, k, which).T if trans_b else matrix(b, k, n, which)
        matrix(c, m, n, which)[:] = left @ right


@pytest.mark.parametrize("extents", [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (7, 2, 9)])
@pytest.mark.parametrize("turns", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("gap", [0, 3])
def test_the_product_asked_for_is_the_one_wanted(
    extents: tuple[int, int, int], turns: tuple[bool, bool], dtype: Dtype, gap: int
) -> None:
    """Rows or columns contiguous on either side, leads wider than a row, several matrices."""
    m, n, k = extents
    memory = Memory(dtype.name)
    a, b = (RANDOM.integers(-4, 5, (2, *shape)).astype(dtype.name) for shape in ((m, k), (k, n)))
    sides = memory.put(a, turns[0], gap), memory.put(b, turns[1], gap)
    dst = memory.put(np.full((2, m, n), -99, dtype.name), False, gap)
    given = arguments(Product(dtype, m, n, k, 2, dst, *sides))
    assert given is not None
    before = memory.cells.copy()
    gemm(memory, given)
    assert np.array_equal(memory.at(dst, (2, m, n)), a @ b)
    memory.at(dst, (2, m, n))[:] = -99
    assert np.array_equal(memory.cells, before), "nothing beside the result was written"


def test_one_matrix_may_serve_a_whole_batch() -> None:
    """A batch stride of 0 on a side that is broadcast."""
    memory = Memory("float32")
    a, b = RANDOM.integers(-4, 5, (3, 2, 4)).astype("float32"), RANDOM.integers(-4, 5, (4, 5)).astype("float32")
    sides = memory.put(a, False, 0), memory.put(b, True, 1)
    dst = memory.put(np.zeros((3, 2, 5), "float32"), False, 0)
    given = arguments(Product(float32, 2, 5, 4, 3, dst, *sides))
    assert given is not None
    gemm(memory, given)
    assert np.array_equal(memory.at(dst, (3, 2, 5)), a @ b)


def test_what_a_blas_does_not_take_is_left_to_the_tiles() -> None:
    """Integers, no terms, strides on both axes, a result by columns, negative strides, huge extents."""
    plain = Product(float32, 4, 5, 6, 1, Matrices(0, 5, 1), Matrices(0, 6, 1), Matrices(0, 5, 1))
    assert arguments(plain) is not None
    for change in (
        {"dtype": int32}, {"k": 0}, {"a": Matrices(0, 12, 2)}, {"dst": Matrices(0, 1, 4)}, {"b": Matrices(0, -5, 1)},
        {"a": Matrices(0, 3, 1)}, {"m": 1 << 31}, {"a": Matrices(0, 6, 1, -24)}, {"b": Matrices(0, 1 << 31, 1)},
    ):  # fmt: skip
        fields = {name: getattr(plain, name) for name in Product.__slots__}
        assert arguments(Product(**{**fields, **change})) is None, change
