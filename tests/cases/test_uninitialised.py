"""(i) Memory nobody wrote."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.cases.scenario import fresh, raw

CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "fill": lambda cf, out, x, y: cf.kernels.fill(out, 3),
    "iota": lambda cf, out, x, y: cf.kernels.iota(out, 1),
    "copy": lambda cf, out, x, y: cf.kernels.copy(out, x),
    "cast": lambda cf, out, x, y: cf.kernels.cast(out, x),
    "neg": lambda cf, out, x, y: cf.kernels.neg(out, x),
    "add": lambda cf, out, x, y: cf.kernels.add(out, x, y),
    "maximum": lambda cf, out, x, y: cf.kernels.maximum(out, x, y),
    "fma": lambda cf, out, x, y: cf.kernels.fma(out, x, y, x),
    "cumsum": lambda cf, out, x, y: cf.kernels.cumsum(out, x, 1),
    "matmul": lambda cf, out, x, y: cf.kernels.matmul(out, x, y),
    "sum": lambda cf, out, x, y: cf.kernels.sum(out.move(cf.Reshape([5, 5])), _cube(cf, x), [2]),
    "max": lambda cf, out, x, y: cf.kernels.max(out.move(cf.Reshape([5, 5])), _cube(cf, x), [2]),
}


def _cube(cf: Any, x: Any) -> Any:
    return x.move(cf.Reshape([5, 5, 1])).move(cf.Broadcast([5, 5, 3]))


@pytest.mark.parametrize("extent", [1, 5, 8, 9, 33])
def test_b47_a_product_ignores_its_destination(cf: Any, extent: int) -> None:
    """A matrix product writes over NaN in its destination at every size, edges of tiles included."""
    size = extent * (extent + 2)
    out = fresh(cf, cf.float32, [math.nan] * size, [extent, extent + 2])
    ones = [fresh(cf, cf.float32, [1.0] * (d * e), [d, e]) for d, e in ((extent, 3), (3, extent + 2))]
    assert cf.kernels.matmul(out, *ones) == cf.Answer.DONE
    assert out.to_values() == [3.0] * size


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int4"])
def test_b48_no_result_shows_the_poison(cf: Any, poison: Any, name: str, dtype: str) -> None:
    """A kernel's result in fresh memory is the same under two poisons, and a sub-byte tail stays 0."""
    element = getattr(cf, dtype)
    values = [(k % 7) - 3 if "int" in dtype else float(k % 7) - 3.0 for k in range(25)]
    results = []
    for byte in (0xFF, 0x7E):
        poison(byte)
        x, y = fresh(cf, element, values, [5, 5]), fresh(cf, element, values[::-1], [5, 5])
        out = cf.empty(cf.host(), element, [5, 5])
        assert CALLS[name](cf, out, x, y) == cf.Answer.DONE
        results.append(raw(cf, out))
    assert results[0] == results[1]
    if dtype == "int4":
        assert results[0][-1] & 0xF0 == 0
