"""Copies between layouts that run along different axes, in tiles, for every width of an element."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cuda_kernels.arrays_there import Values, put, result, turned

from counterfoil.cuda.kernels import transposing

DTYPES = ["int8", "float16", "float32", "complex64", "complex128"]


def counted(shape: tuple[int, ...], dtype: str) -> Values:
    """Other values at other indices, as far as the dtype has them."""
    found: Values = (np.arange(np.prod(shape)) % 2039).astype(dtype).reshape(shape)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(64, 64), (65, 33), (9, 200), (3, 40, 70), (2, 3, 33, 34)])
def test_a_turned_array_is_copied_in_tiles(dtype: str, shape: tuple[int, ...]) -> None:
    """Whole tiles, edges and planes."""
    x = counted(shape, dtype)
    source = turned(x, before=1)
    assert transposing.fits(put(x), source)
    assert np.array_equal(result("copy", x, source), x)


def test_what_runs_along_one_axis_is_no_transposed_copy() -> None:
    """Nor what has too few neighbours, nor what is narrower than a byte."""
    x = put(counted((40, 40), "float32"))
    assert not transposing.fits(put(counted((40, 40), "float32")), x)
    assert not transposing.fits(put(counted((40, 2), "float32")), turned(counted((40, 2), "float32")))
