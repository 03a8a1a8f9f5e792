"""Running sums and softmax on a device, of lines that warps, blocks, chunks and single threads take."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.cuda_kernels.arrays_there import Lying, Values, got, put, result, turned

import counterfoil
from counterfoil_spec.answers import Answer

RANDOM = np.random.default_rng(20261)
SHAPES = [((5, 300), 1), ((5, 2300), 1), ((5, 2300), 0), ((2300, 5), 0), ((2, 9000), 1), ((3, 33, 70), 1)]


def whole(shape: tuple[int, ...]) -> Values:
    """Small integers: every order of adding them gives the same."""
    found: Values = RANDOM.integers(0, 3, shape).astype("float32")
    return found


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("lying", [put, turned])
def test_running_sums_are_exact_where_their_terms_are(shape: tuple[int, ...], axis: int, lying: Lying) -> None:
    """Whichever threads share a line."""
    x = whole(shape)
    assert np.array_equal(result("cumsum", x, lying(x), axis), x.cumsum(axis))


@pytest.mark.parametrize("size", [16383, 16384, 40003])
def test_a_long_line_is_scanned_in_chunks(size: int) -> None:
    """What comes before a chunk is added to it, into other memory and in place."""
    x = whole((size,))
    assert np.array_equal(result("cumsum", x, put(x), 0), x.cumsum())
    same = put(x)
    assert counterfoil.kernels.cumsum(same, same, 0) is Answer.DONE
    assert np.array_equal(got(same), x.cumsum())


def test_complex_lines_are_scanned_by_parts() -> None:
    """Real and imaginary parts each on their own."""
    x = (whole((2, 900)) + 1j * whole((2, 900))).astype("complex64")
    assert np.array_equal(result("cumsum", x, put(x), 1), x.cumsum(1))


def test_an_infinity_does_not_reach_back() -> None:
    """Prefixes before it are finite, those from it on infinite, from the other sign on NaN."""
    x = np.ones(20000, "float32")
    x[9000], x[17000] = math.inf, -math.inf
    sums = result("cumsum", x, put(x), 0)
    assert np.array_equal(sums[:9000], np.arange(1, 9001))
    assert np.all(sums[9000:17000] == math.inf)
    assert np.isnan(sums[17000:]).all()


def test_running_sums_are_the_same_each_time() -> None:
    """N4."""
    x = RANDOM.standard_normal(40000).astype("float32")
    assert result("cumsum", x, put(x), 0).tobytes() == result("cumsum", x, put(x), 0).tobytes()


def soft(x: Values, axis: int) -> Values:
    """softmax in float64."""
    powers = np.exp(x.astype("float64") - x.max(axis, keepdims=True))
    found: Values = powers / powers.sum(axis, keepdims=True)
    return found


@pytest.mark.parametrize(("shape", "axis"), [*SHAPES, ((1, 13000), 1), ((20, 2300), 0)])
def test_softmax_is_near_the_exact_one(shape: tuple[int, ...], axis: int) -> None:
    """Of lines held in shared memory, of lines too long for it, and of those a thread takes."""
    x = RANDOM.standard_normal(shape).astype("float32")
    exact = soft(x, axis)
    bound = (shape[axis] + 16 + 2 * (x.max(axis, keepdims=True) - x)) * 2.0**-24
    assert np.all(np.abs(result("softmax", x, put(x), axis) - exact) <= (bound + 2.0**-24) * exact)


def test_softmax_in_place_is_right() -> None:
    """Of lines that are not held: each element is read once more before it is written."""
    x = RANDOM.standard_normal((2, 7000))
    same = put(x)
    assert counterfoil.kernels.softmax(same, same, 1) is Answer.DONE
    assert np.allclose(got(same), soft(x, 1), rtol=1e-12, atol=0)


@pytest.mark.parametrize("width", [20, 700, 13000])
def test_special_lines_are_nan_throughout_and_minus_infinity_gives_zero(width: int) -> None:
    """A NaN, +inf, or -inf alone; beside finite elements -inf gives exactly +0."""
    x = np.zeros((4, width), "float32")
    x[0, 3], x[1, width - 1], x[2], x[3, 1] = math.nan, math.inf, -math.inf, -math.inf
    found = result("softmax", x, put(x), 1)
    assert np.isnan(found[:3]).all()
    assert found[3, 1].tobytes() == bytes(4)
    assert np.all(found[3, 2:] > 0)


@pytest.mark.parametrize("name", ["cumsum", "softmax"])
def test_an_axis_or_a_shape_that_does_not_fit_is_a_mismatch(name: str) -> None:
    """Out of range, negative, or of a destination of another shape."""
    kernel, x = getattr(counterfoil.kernels, name), put(np.zeros((2, 3), "float32"))
    for shape, axis in (((2, 3), 2), ((2, 3), -1), ((3, 2), 0), ((6,), 0)):
        assert kernel(put(np.zeros(shape, "float32")), x, axis) is Answer.SHAPE_MISMATCH
