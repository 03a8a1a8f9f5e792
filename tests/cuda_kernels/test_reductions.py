"""Long, wide and split reductions on a device: exact values, first extremes, the same bits each time, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.cuda_kernels.arrays_there import Values, got, like, put, result, turned

import counterfoil
from counterfoil.cuda.kernels.reducing import shape_of
from counterfoil.cuda.kernels.walks import walk
from counterfoil_spec.answers import Answer

RANDOM = np.random.default_rng(20260)


def whole(shape: tuple[int, ...], dtype: str = "float32") -> Values:
    """Small integers: every order of adding them gives the same."""
    found: Values = RANDOM.integers(-8, 9, shape).astype(dtype)
    return found


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("size", [255, 8192, 16384, 16385, 50001])
def test_a_long_sum_is_exact_where_its_terms_are(size: int, before: int) -> None:
    """Across warps, blocks and splits, from a 16-byte boundary and from elsewhere."""
    x = whole((size,))
    assert result("sum", np.zeros((), "float32"), put(x, before), [0]) == x.sum()


def test_columns_are_summed_over_many_rows() -> None:
    """Results side by side, terms shared by threads and by splits."""
    x = whole((5000, 40))
    assert np.array_equal(result("sum", np.zeros(40, "float32"), put(x), [0]), x.sum(0))
    assert np.array_equal(result("argmax", np.zeros(40, "int64"), put(x), [0]), x.argmax(0))


def test_rows_of_bytes_are_read_sixteen_at_a_time() -> None:
    """A sum wraps, a maximum does not, whatever the width of an access."""
    x = RANDOM.integers(-128, 128, (4, 33008)).astype("int8")
    assert np.array_equal(result("sum", np.zeros(4, "int8"), put(x), [1]), x.sum(1, dtype="int8"))
    assert np.array_equal(result("max", np.zeros(4, "int8"), put(x), [1]), x.max(1))


def test_turned_rows_and_inner_axes_are_reduced() -> None:
    """Reduced axes that are neither the first nor the last, of operands stored the other way round."""
    x = whole((3, 37, 70))
    assert np.array_equal(result("sum", np.zeros((3, 70), "float32"), put(x), [1]), x.sum(1))
    assert np.array_equal(result("sum", np.zeros(37, "float32"), turned(x), [2, 0]), x.sum((0, 2)))
    assert np.array_equal(result("argmin", np.zeros(37, "int64"), turned(x), [2, 0]),
                          x.transpose(1, 0, 2).reshape(37, -1).argmin(1))  # fmt: skip


def test_the_first_of_equal_extremes_wins_across_splits() -> None:
    """Wherever the second one lies."""
    x = np.zeros(40000, "float32")
    x[[17000, 17001, 39999]] = 5
    assert result("argmax", np.zeros((), "int64"), put(x), [0]) == 17000


def test_the_first_nan_wins_across_splits() -> None:
    """Of argmax and argmin; max and min give NaN."""
    x = whole((40000,))
    x[[30000, 35000]] = math.nan
    x[3] = math.inf
    for name in ("argmax", "argmin"):
        assert result(name, np.zeros((), "int64"), put(x), [0]) == 30000
    for name in ("max", "min"):
        assert np.isnan(result(name, np.zeros((), "float32"), put(x), [0]))


def test_zeros_have_an_order() -> None:
    """-0 is before +0: max gives +0, min -0, argmax and argmin their positions."""
    x = np.array([-0.0, 0.0, -0.0, 0.0], "float64")
    assert not np.signbit(result("max", np.zeros((), "float64"), put(x), [0]))
    assert np.signbit(result("min", np.zeros((), "float64"), put(x), [0]))
    assert result("argmax", np.zeros((), "int64"), put(x), [0]) == 1
    assert result("argmin", np.zeros((), "int64"), put(x), [0]) == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_is_the_same_each_time_and_near_the_exact_one(axis: int) -> None:
    """N4, and N3's bound: n u times the sum of magnitudes."""
    x = RANDOM.standard_normal((70, 20000) if axis else (20000, 70)).astype("float32")
    first, second = (result("sum", np.zeros(70, "float32"), put(x), [axis]) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    exact = [math.fsum(lane) for lane in (x if axis else x.T).tolist()]
    assert np.all(np.abs(first - exact) <= 20000 * 2.0**-24 * np.abs(x).sum(axis))


def test_nothing_is_summed_to_nothing() -> None:
    """Over no term a sum is +0, a product 1, a mean NaN; max and argmax refuse."""
    x = put(np.zeros((3, 0), "float32"))
    assert result("sum", np.zeros(3, "float32"), x, [1]).tobytes() == bytes(12)
    assert np.array_equal(result("prod", np.zeros(3, "float32"), x, [1]), np.ones(3))
    assert np.isnan(result("mean", np.zeros(3, "float32"), x, [1])).all()
    assert counterfoil.kernels.max(put(np.zeros(3, "float32")), x, [1]) is Answer.SHAPE_MISMATCH
    assert counterfoil.kernels.argmax(put(np.zeros(3, "int64")), x, [1]) is Answer.SHAPE_MISMATCH


@pytest.mark.parametrize("axes", [[0, 0], [2], [-1], [0, 1, 0], [1]])
def test_axes_that_do_not_fit_are_a_mismatch(axes: list[int]) -> None:
    """Repeated, out of range, or another shape than the destination's; nothing is written."""
    dst = like(np.zeros(3, "float32"))
    assert counterfoil.kernels.sum(dst, put(np.zeros((2, 3), "float32")), axes) is Answer.SHAPE_MISMATCH
    assert got(dst).tobytes() == b"\xee" * 12


def test_a_destination_identical_to_the_source_is_declined() -> None:
    """Over no axis; nothing is written (A5)."""
    x = put(np.array([1, 2, 3], "float32"))
    assert counterfoil.kernels.sum(x, x, []) is Answer.DECLINED
    assert got(x).tolist() == [1, 2, 3]


def test_a_source_that_repeats_an_element_is_summed() -> None:
    """A stride of 0 along the reduced axis."""
    x = put(np.array([3], "int32"))
    repeated = counterfoil.Array(x.dtype, counterfoil.Layout((5, 700), (0, 0)), x.buffer)
    assert np.array_equal(result("sum", np.zeros(5, "int32"), repeated, [1]), np.full(5, 2100))


def test_few_results_of_many_terms_are_split_and_many_results_are_not() -> None:
    """Splits cover all terms, none is empty, and each is a multiple of 256 terms but the last."""
    for results, terms in ((1, 10**7), (3, 16384), (500, 10**5), (10**6, 10**4), (1, 1), (7, 0)):
        kept, walked = walk((results,), [[terms or 1], [1]]), walk((terms,), [[1]])
        shape = shape_of(results, terms, kept, walked)
        assert shape.splits * shape.chunk >= terms > (shape.splits - 1) * shape.chunk or not terms
        assert shape.splits == 1 or shape.chunk % 256 == 0
        assert shape.splits * shape.blocks(results) < 3000 or shape.splits == 1
