"""Reductions, scans and matrix products against numpy and their definitions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.raw import (
    ALL_FLOATS,
    array,
    code,
    codes_of,
    exact,
)

import counterfoil_reference as cf
from counterfoil_reference import elements
from counterfoil_reference.numbers import (
    FORMATS,
    encode_exact,
    encode_ratio,
    integer_of_code,
    is_nan_code,
)
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import (
    Dtype,
    bool_,
    complex64,
    float4_e2m1fn,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
)

shapes3 = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 3))


def drawn_array(data: st.DataObject, dtype: Dtype, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """An array and the same values in a numpy object array of exact values."""
    size = math.prod(shape)
    codes = data.draw(st.lists(codes_of(dtype), min_size=size, max_size=size))
    values = np.empty(size, object)
    values[:] = [integer_of_code(dtype, each) for each in codes]
    return array(dtype, codes, shape), values.reshape(shape)


@given(shapes3, st.sets(st.integers(0, 2)), st.sampled_from([int8, int32, uint8]), st.data())
def test_integer_reductions_are_numpys_modulo_the_width(
    shape: tuple[int, ...], axes: set[int], dtype: Dtype, data: st.DataObject
) -> None:
    """sum and prod over any axes, empty ones included."""
    x, values = drawn_array(data, dtype, shape)
    for name, function in (("sum", np.sum), ("prod", np.prod)):
        expected = np.asarray(function(values, axis=tuple(axes)), object)
        dst = cf.host_array(dtype, expected.shape)
        answer = getattr(cf.kernels, name)(dst, x, sorted(axes))
        assert answer is Answer.DONE
        assert elements.codes(dst) == [int(value) & ((1 << dtype.bits) - 1) for value in expected.ravel()]


@given(st.permutations([0, 1, 2]), st.integers(1, 3), st.sampled_from([int8, uint8]), st.data())
def test_extremes_and_their_positions_are_numpys(
    order: list[int], count: int, dtype: Dtype, data: st.DataObject
) -> None:
    """max, min and the first positions over axes in any order, counted in C order of the source."""
    axes, shape = tuple(order[:count]), (2, 3, 2)
    x, values = drawn_array(data, dtype, shape)
    kept = [axis for axis in range(3) if axis not in axes]
    rows = values.transpose(*kept, *sorted(axes)).reshape(*(shape[axis] for axis in kept), -1)
    for name, position in (("max", "argmax"), ("min", "argmin")):
        dst, where = cf.host_array(dtype, rows.shape[:-1]), cf.host_array(int64, rows.shape[:-1])
        assert getattr(cf.kernels, name)(dst, x, axes) is Answer.DONE
        assert getattr(cf.kernels, position)(where, x, axes) is Answer.DONE
        assert dst.to_values() == list(np.asarray(getattr(rows, name)(axis=-1)).ravel())
        assert where.to_values() == list(np.asarray(getattr(rows.astype(np.int64), position)(axis=-1)).ravel())


@pytest.mark.parametrize(
    ("values", "highest", "first", "lowest", "last"),
    [
        ([1.0, 3.0, 3.0], 3.0, 1, 1.0, 0), ([-0.0, 0.0, -0.0], 0.0, 1, -0.0, 0), ([0.0, -0.0], 0.0, 0, -0.0, 1),
        ([2.0, math.nan, math.nan], math.nan, 1, math.nan, 1), ([-math.inf, math.inf], math.inf, 1, -math.inf, 0),
    ],
)  # fmt: skip
def test_extremes_of_floats(values: list[float], highest: float, first: int, lowest: float, last: int) -> None:
    """The first of equals, the first NaN above all, and -0 before +0."""
    x = cf.from_values(float32, [len(values)], values)
    found = []
    for name, dtype in (("max", float32), ("argmax", int64), ("min", float32), ("argmin", int64)):
        dst = cf.host_array(dtype, [])
        assert getattr(cf.kernels, name)(dst, x, [0]) is Answer.DONE
        found.append(dst.to_values()[0])
    assert [repr(value) for value in found] == [repr(value) for value in (highest, first, lowest, last)]


def test_booleans_have_extremes_too() -> None:
    """max of bool is 1 or 0 whatever the byte; argmax is the first true."""
    x = array(bool_, [0, 7, 1])
    dst, where = cf.host_array(bool_, []), cf.host_array(int64, [])
    assert cf.kernels.max(dst, x, [0]) is Answer.DONE and elements.codes(dst) == [1]
    assert cf.kernels.argmax(where, x, [0]) is Answer.DONE and where.to_values() == [1]


@given(st.sampled_from(ALL_FLOATS), st.lists(st.integers(-60, 60), max_size=6))
def test_float_sums_are_stored_as_the_exact_sum_is(dtype: Dtype, eighths: list[int]) -> None:
    """sum, cumsum and mean of values that the format may round: the rational result rounded once."""
    stored = [encode_exact(dtype, Fraction(eighth, 8)) for eighth in eighths]
    values = [exact(dtype, bits) for bits in stored]
    x = array(dtype, stored)
    total, running, mean = cf.host_array(dtype, []), cf.host_array(dtype, x.shape), cf.host_array(dtype, [])
    assert cf.kernels.sum(total, x, [0]) is Answer.DONE
    assert cf.kernels.cumsum(running, x, 0) is Answer.DONE
    assert cf.kernels.mean(mean, x, [0]) is Answer.DONE
    assert elements.codes(total) == [encode_exact(dtype, sum(values, Fraction(0)))]
    prefixes = [sum(values[: k + 1], Fraction(0)) for k in range(len(values))]
    assert elements.codes(running) == [encode_exact(dtype, prefix) for prefix in prefixes]
    if values:
        assert elements.codes(mean) == [encode_exact(dtype, prefixes[-1] / len(values))]
    else:
        assert dtype is float4_e2m1fn or is_nan_code(FORMATS[dtype], elements.codes(mean)[0])


def test_complex_sums_go_part_by_part() -> None:
    """sum, mean and cumsum of complex64."""
    x = cf.from_values(complex64, [3], [1 + 2j, 3 - 1j, 2j])
    dst, running = cf.host_array(complex64, []), cf.host_array(complex64, [3])
    assert cf.kernels.sum(dst, x, [0]) is Answer.DONE and dst.to_values() == [4 + 3j]
    assert cf.kernels.mean(dst, x, [0]) is Answer.DONE
    assert elements.codes(dst) == [code(float32, 4.0 / 3) | code(float32, 1.0) << 32]
    assert cf.kernels.cumsum(running, x, 0) is Answer.DONE and running.to_values() == [1 + 2j, 4 + 1j, 4 + 3j]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.inf, 1.0], math.inf), ([math.inf, -math.inf], math.nan), ([math.nan, 1.0], math.nan),
        ([3e38, 3e38], math.inf), ([3e38, 3e38, -3e38, -3e38], 0.0), ([-0.0], 0.0), ([], 0.0),
    ],
)  # fmt: skip
def test_special_sums(values: list[float], expected: float) -> None:
    """Infinities, NaN, exact cancellation, and +0 for a zero sum."""
    dst = cf.host_array(float32, [])
    assert cf.kernels.sum(dst, cf.from_values(float32, [len(values)], values), [0]) is Answer.DONE
    assert repr(dst.to_values()[0]) == repr(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], 1.0), ([2.0, -0.0], -0.0), ([math.inf, 0.0], math.nan), ([-math.inf, 2.0], -math.inf),
     ([1e30, 1e30], math.inf), ([1e-30, 1e-30, 1e30, 1e30], 1.0), ([3.0, -5.0, 0.5], -7.5)],
)  # fmt: skip
def test_special_products(values: list[float], expected: float) -> None:
    """prod of nothing is 1, keeps signs, and does not overflow on the way."""
    dst = cf.host_array(float32, [])
    assert cf.kernels.prod(dst, cf.from_values(float32, [len(values)], values), [0]) is Answer.DONE
    assert dst.to_values()[0] == pytest.approx(expected, nan_ok=True) and math.copysign(1, dst.to_values()[0]) == (
        1 if math.isnan(expected) else math.copysign(1, expected)
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1.0, 1.0], [0.5, 0.5]), ([0.0, math.log(3.0)], [0.25, 0.75]), ([math.nan, 1.0], [math.nan] * 2),
        ([math.inf, 1.0], [math.nan] * 2), ([-math.inf, -math.inf], [math.nan] * 2), ([-math.inf, 5.0], [0.0, 1.0]),
        ([-1e30, 0.0], [0.0, 1.0]), ([7.0], [1.0]),
    ],
)  # fmt: skip
def test_softmax_vectors(row: list[float], expected: list[float]) -> None:
    """Along either axis; NaN and +inf spoil their row, -inf weighs nothing."""
    for shape, axis in (([1, len(row)], 1), ([len(row), 1], 0)):
        dst = cf.host_array(float64, shape)
        assert cf.kernels.softmax(dst, cf.from_values(float64, shape, row), axis) is Answer.DONE
        assert dst.to_values() == pytest.approx(expected, rel=1e-15, nan_ok=True)


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.sampled_from([int8, int64]), st.data())
def test_integer_matmul_is_numpys_modulo_the_width(n: int, k: int, m: int, dtype: Dtype, data: st.DataObject) -> None:
    """With a broadcast batch on either side, and inner extents of 0."""
    left = data.draw(st.sampled_from([(), (1,), (2,), (2, 1)]))
    right = data.draw(st.sampled_from([(), (1,), (2,), (1, 2)]))
    x, values = drawn_array(data, dtype, (*left, n, k))
    y, others = drawn_array(data, dtype, (*right, k, m))
    batch = np.broadcast_shapes(left, right)
    columns = np.moveaxis(others, -1, -2)[..., None, :, :]
    expected = np.asarray((values[..., :, None, :] * columns).sum(axis=-1), object)
    dst = cf.host_array(dtype, (*batch, n, m))
    assert cf.kernels.matmul(dst, x, y) is Answer.DONE
    assert elements.codes(dst) == [int(value) & ((1 << dtype.bits) - 1) for value in expected.ravel()]


def test_float_matmul_is_the_exact_sum_rounded_once() -> None:
    """1e8 * 1e8 - 1e16 + 1 cancels exactly."""
    x = cf.from_values(float32, [1, 3], [1e8, 1.0, 1.0])
    y = cf.from_values(float32, [3, 1], [1e8, -1e16, 1.0])
    dst = cf.host_array(float32, [1, 1])
    assert cf.kernels.matmul(dst, x, y) is Answer.DONE
    exactly = Fraction(10**16) + Fraction(float(np.float32(-1e16))) + 1
    assert elements.codes(dst) == [encode_ratio(FORMATS[float32], exactly.numerator, exactly.denominator)]
