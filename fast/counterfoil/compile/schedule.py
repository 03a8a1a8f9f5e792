"""The order of a nest's loops: short strides inside, and neighbours that run on through memory made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterfoil.compile.nests import Loops, Nest
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Iterator


def ordered(nest: Nest) -> Nest:
    """The nest with its loops by falling stride; as it is where the order shows."""
    if not nest.is_regular or len(nest.loops) < 2:
        return nest
    strides = dict.fromkeys((iterator for iterator, _ in nest.loops), 0)
    for position in nest.positions:
        for factor, variable in position.terms:
            if isinstance(variable, Iterator) and variable in strides:
                strides[variable] += abs(factor)
    return replace(nest, loops=tuple(sorted(nest.loops, key=lambda loop: -strides[loop[0]])))


def collapsed(nests: Sequence[Nest]) -> list[Nest]:
    """Nests over the same loops (the same iterators), neighbouring loops made one wherever all run on."""
    found = list(nests)
    level = len(found[0].loops) - 2
    while level >= 0:
        if all(_runs_on(nest, level) for nest in found):
            found = [_joined(nest, level) for nest in found]
        level -= 1
    return found


def _runs_on(nest: Nest, level: int) -> bool:
    (outer, _), (inner, extent) = nest.loops[level : level + 2]
    if not nest.is_regular or (outer in nest.reductions) != (inner in nest.reductions):
        return False
    return all(_factor(position, outer) == _factor(position, inner) * extent for position in nest.positions)


def _factor(position: Affine, iterator: Iterator) -> int:
    return next((factor for factor, variable in position.terms if variable is iterator), 0)


def _joined(nest: Nest, level: int) -> Nest:
    (outer, first), (inner, second) = nest.loops[level : level + 2]
    loops: Loops = (*nest.loops[:level], (inner, first * second), *nest.loops[level + 2 :])
    return nest.renamed({outer: 0}, loops)
