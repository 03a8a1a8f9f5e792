"""Backprop of a loss against its derivative in forward mode, one element of one leaf at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.frontend.evaluate import Dual, Store, exact

from counterfoil_spec import tensors as cf
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.symbols import Symbol

Values = Mapping[cf.Tensor, Sequence[float]]


def run(comp: Comp, values: Values, symbols: Mapping[Symbol, int] | None = None) -> Store:
    """The store after a comp, the leaves holding those values."""
    store = Store()
    store.symbols.update(symbols or {})
    for tensor, given in values.items():
        store.put(tensor.value, given)
    store.run(comp.code)
    return store


def check_gradients(loss: cf.Tensor, values: Values, symbols: Mapping[Symbol, int] | None = None) -> None:
    """Every element of every leaf's gradient is the loss's derivative: exactly in rationals, to 1e-9 in floats."""
    step = cf.grad_update(loss)
    after = run(step, values, symbols)
    for leaf, given in values.items():
        if leaf.grad is None:
            continue
        found = after.values(leaf.grad)
        for position in range(len(given)):
            expected = _derivative(loss, step, values, leaf, position, symbols)
            assert _same(found[position], expected), (leaf, position, found[position], expected)


def _derivative(
    loss: cf.Tensor, step: Comp, values: Values, leaf: cf.Tensor, position: int, symbols: Mapping[Symbol, int] | None
) -> Fraction | float:
    store = Store()
    store.symbols.update(symbols or {})
    for tensor, given in values.items():
        store.put(tensor.value, [exact(value) for value in given])
    varied = [Dual(exact(value).value, Fraction(i == position)) for i, value in enumerate(values[leaf])]
    store.put(leaf.value, varied)
    store.run(loss.forward.code)
    return sum((element.slope for element in store.get(loss.value)), Fraction(0))


def _same(found: Fraction | float, expected: Fraction | float) -> bool:
    if isinstance(found, Fraction) and isinstance(expected, Fraction):
        return found == expected
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
