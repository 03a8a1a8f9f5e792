"""Functions of floats in emitted code stay within their bounds (N2), in loops that become vector code too."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.compile.running import buffer, run
from tests.programs.building import store

import counterfoil.compile as fast
from counterfoil_spec.dtypes import Dtype, float32, float64
from counterfoil_spec.programs.nodes import Intent, Node

BOUNDS = {
    "exp": (2, 2), "exp2": (2, 2), "log": (1, 2), "log2": (1, 2), "sin": (2, 2), "cos": (2, 2), "tanh": (2, 2),
    "recip_sqrt": (2, 2),
}  # fmt: skip
"""Units in the last place, of float32 and of float64."""

EXACT = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2),
    "sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh, "recip_sqrt": lambda x: 1 / mpmath.sqrt(x),
}  # fmt: skip


def applied(name: str, dtype: Dtype, values: np.ndarray) -> np.ndarray:
    """The operator over all of the values, in one loop."""
    x, y = (Node(label, values.shape, dtype) for label in "xy")
    y.require(Intent.ON_DEVICE)
    plan = fast.plan(store(y, name, x), fast.NOTHING_DECIDED, "r")
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = values
    run(fast.generate([plan.lowered], plan), plan, buffers)
    return buffers[y]


def spread(name: str, dtype: Dtype) -> np.ndarray:
    """Numbers of every exponent and sign, subnormal ones included, where the function's results are ordinary."""
    draw = np.random.default_rng(0)
    form = np.finfo(dtype.name)
    last = form.maxexp if name in ("log", "log2", "recip_sqrt") else 10
    exponents = np.arange(form.minexp - form.nmant, last)
    digits = draw.uniform(1, 2, (4 if dtype is float32 else 1, exponents.size))
    found = np.ldexp(digits, exponents).astype(dtype.name).ravel()
    return found if name in ("log", "log2", "recip_sqrt") else np.concatenate([found, -found])


@pytest.mark.parametrize("dtype", [float32, float64])
@pytest.mark.parametrize("name", list(BOUNDS))
def test_functions_stay_within_their_bounds(name: str, dtype: Dtype) -> None:
    """Against mpmath, at arguments of every magnitude: within the ulp bounds of the dtype."""
    values = spread(name, dtype)
    bound = BOUNDS[name][dtype is float64]
    form = np.finfo(dtype.name)
    with mpmath.workprec(200):
        for argument, found in zip(values.tolist(), applied(name, dtype, values).tolist(), strict=True):
            exact = EXACT[name](mpmath.mpf(argument))
            if abs(exact) > float(form.max):
                assert abs(found) in (np.inf, float(form.max))
                continue
            exponent = max(mpmath.frexp(exact)[1] if exact else form.minexp, form.minexp + 1)
            unit = mpmath.ldexp(1, exponent - 1 - form.nmant)
            assert abs(found - exact) <= bound * unit, f"{name}({argument!r}) = {found!r}"


@pytest.mark.parametrize("dtype", [float32, float64])
def test_special_values(dtype: Dtype) -> None:
    """Infinities, zeros of both signs, NaN and numbers outside the domain, among 2000 ordinary ones."""
    inf, nan = np.inf, np.nan
    cases = {
        "exp": [(inf, inf), (-inf, 0.0), (nan, nan), (0.0, 1.0), (-0.0, 1.0), (1e5, inf), (-1e5, 0.0)],
        "exp2": [(inf, inf), (-inf, 0.0), (nan, nan), (3.0, 8.0), (-2.0, 0.25), (1e5, inf), (-1e5, 0.0)],
        "log": [(inf, inf), (0.0, -inf), (-0.0, -inf), (-1.0, nan), (-inf, nan), (nan, nan), (1.0, 0.0)],
        "log2": [(inf, inf), (0.0, -inf), (-0.0, -inf), (-1.0, nan), (8.0, 3.0), (0.25, -2.0), (1.0, 0.0)],
        "tanh": [(inf, 1.0), (-inf, -1.0), (0.0, 0.0), (-0.0, -0.0), (nan, nan), (50.0, 1.0), (-50.0, -1.0)],
        "relu": [(nan, 0.0), (-0.0, 0.0), (-inf, 0.0), (inf, inf)],
        "satur01": [(nan, 0.0), (-0.0, 0.0), (inf, 1.0), (-inf, 0.0), (0.5, 0.5)],
        "recip_sqrt": [(0.0, inf), (-0.0, -inf), (inf, 0.0), (-1.0, nan), (4.0, 0.5)],
    }  # fmt: skip
    for name, pairs in cases.items():
        values = np.concatenate([[argument for argument, _ in pairs], np.full(2000, 0.75)])
        found = applied(name, dtype, values)[: len(pairs)]
        want = np.array([result for _, result in pairs], dtype.name)
        assert np.array_equal(found, want, equal_nan=True), name
        ordinary = ~np.isnan(want)
        assert np.array_equal(np.signbit(found[ordinary]), np.signbit(want[ordinary])), name
