"""Assignments carried out on rationals, in no half's code: what a program means before anything is rounded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from counterfoil_spec.programs.assignments import Accumulate, Assignment, Code, Constant, Fetch, Fill, Read, Row, leaves
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Index
from counterfoil_spec.programs.symbols import Iterator as Loop
from counterfoil_spec.programs.symbols import Symbol

Values = Mapping[Node, Sequence[Fraction]]
Symbols = Mapping[Symbol, int]
Place = tuple[Node, int | None]
"""An element by its number in C order; None: in the margins."""

ZERO: Final = Fraction(0)


@dataclass
class Outcome:
    """What is known after a run.

    ``branches``: how each comparison ended, in order. ``kinks``: how many were of equals, where a derivative need not
    exist. ``greatest``: the largest sum of magnitudes that made an element; ``finest``: a common denominator of
    everything stored, summed or in between.
    """

    elements: dict[Node, list[Fraction]] = field(default_factory=dict)
    branches: list[int] = field(default_factory=list)
    kinks: int = 0
    greatest: Fraction = ZERO
    finest: int = 1

    def get(self, node: Node) -> list[Fraction]:
        """Every element, in C order; what nobody wrote is the literal's, or 0."""
        if node not in self.elements:
            given = [0] * node.size if node.literal is None else node.literal
            self.elements[node] = [self.note(Fraction(value)) for value in given]
        return self.elements[node]

    def fits(self, bits: int) -> bool:
        """Whether floats of so many bits of precision hold every value, and every partial sum in whatever order."""
        return self.finest.bit_count() == 1 and self.greatest * self.finest <= 1 << bits

    def read(self, place: Place) -> Fraction:
        """An element, or what the margins hold."""
        node, at = place
        return Fraction(node.margin) if at is None else self.get(node)[at]

    def less(self, one: Fraction, two: Fraction) -> bool:
        """``one < two``, taken note of."""
        self.branches.append(one < two)
        self.kinks += one == two
        return one < two

    def extreme(self, terms: list[Fraction], chosen: Callable[[list[Fraction]], Fraction]) -> Fraction:
        """The greatest or the least, and which one it is, taken note of."""
        found = chosen(terms)
        self.branches.append(terms.index(found))
        self.kinks += terms.count(found) > 1
        return found

    def note(self, value: Fraction, magnitude: Fraction | None = None) -> Fraction:
        """The value, counted among the large (or its magnitude) and the fine."""
        self.greatest = max(self.greatest, abs(value) if magnitude is None else magnitude)
        if self.finest % value.denominator:
            self.finest *= value.denominator
        return value


Carried = Callable[[Outcome], None]


class Exact:
    """Code whose indices are resolved once, for values to be put in many times. Symbols have one value throughout."""

    def __init__(self, code: Code, symbols: Symbols) -> None:
        self._symbols: dict[Loop | Symbol, int] = dict(symbols.items())
        self._steps = [self._resolved(leaf) for leaf in leaves(code)]

    def run(self, values: Values) -> Outcome:
        """Carry out the assignments in order, the nodes holding those values, in C order, at first."""
        outcome = Outcome({node: list(given) for node, given in values.items()})
        for step in self._steps:
            step(outcome)
        return outcome

    def _resolved(self, leaf: Assignment) -> Carried:
        return self._fetch(leaf) if isinstance(leaf, Fetch) else self._accumulate(leaf)

    def _fetch(self, leaf: Fetch) -> Carried:
        node, definition = leaf.target, leaf.definition
        if isinstance(definition, Row):
            row = self._symbols[definition.symbol] * node.size
            places = [(definition.parent, row + at) for at in range(node.size)]
            return lambda outcome: outcome.elements.update({node: [outcome.read(place) for place in places]})
        assert isinstance(definition, Constant | Fill), f"these programs do not fetch {definition}"
        given = [definition.value] * node.size if isinstance(definition, Constant) else definition.values
        numbers = list(map(Fraction, given))
        return lambda outcome: outcome.elements.update({node: [outcome.note(number) for number in numbers]})

    def _accumulate(self, leaf: Accumulate) -> Carried:
        assert all(isinstance(operand, Read) for operand in leaf.operands), "these programs read no merge buffer"
        nodes = [operand.node for operand in leaf.operands]
        reached: dict[int, list[list[Place]]] = {at: [] for at in range(leaf.target.size) if leaf.initialize}
        for point in self._points(leaf):
            target, at = self._place(leaf.target, leaf.projections.target, point)
            assert target is leaf.target and at is not None, "these programs write whole nodes"
            indices = zip(nodes, leaf.projections.operands, strict=True)
            reached.setdefault(at, []).append([self._place(node, index, point) for node, index in indices])
        operation, combine = _OPERATIONS[leaf.operation], _ACCUMULATORS[leaf.accumulator]

        def carry_out(outcome: Outcome) -> None:
            written = outcome.get(leaf.target)
            for at, arrivals in reached.items():
                old = ZERO if leaf.initialize else written[at]
                terms = [outcome.note(operation(outcome, *map(outcome.read, places))) for places in arrivals]
                written[at] = combine(outcome, old, terms)

        return carry_out

    def _points(self, leaf: Accumulate) -> Iterator[Mapping[Loop | Symbol, int]]:
        loops = [loop for loop, _ in leaf.projections.product]
        extents = [each if isinstance(each, int) else self._symbols[each] for _, each in leaf.projections.product]
        for at in itertools.product(*map(range, extents)):
            yield {**self._symbols, **dict(zip(loops, at, strict=True))}

    def _place(self, node: Node, index: Index, point: Mapping[Loop | Symbol, int]) -> Place:
        position = [_at(axis, point) for axis in index]
        if node.slice_of is not None:
            node, symbol = node.slice_of
            position.insert(0, self._symbols[symbol])
        number = 0
        for at, extent in zip(position, node.shape, strict=True):
            if not 0 <= at < extent:
                return node, None
            number = number * extent + at
        return node, number


def _at(axis: Affine, point: Mapping[Loop | Symbol, int]) -> int:
    return sum((factor * point[variable] for factor, variable in axis.terms), axis.offset)


def _sum(outcome: Outcome, old: Fraction, terms: list[Fraction]) -> Fraction:
    return outcome.note(sum(terms, old), sum(map(abs, terms), abs(old)))


_ACCUMULATORS: Final[dict[str, Callable[[Outcome, Fraction, list[Fraction]], Fraction]]] = {
    "arg2": lambda _, old, terms: terms[-1],
    "add": _sum,
    "sub": lambda outcome, old, terms: _sum(outcome, old, [-term for term in terms]),
    "max": lambda outcome, _, terms: outcome.extreme(terms, max),
    "min": lambda outcome, _, terms: outcome.extreme(terms, min),
}
"""Extremes start from nothing in these programs, sums from 0 or from what is there."""


def _mul3(outcome: Outcome, a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    outcome.note(b * c)
    outcome.note(a * c)
    return outcome.note(a * b) * c


_OPERATIONS: Final[dict[str, Callable[..., Fraction]]] = {
    "identity": lambda _, a: a,
    "neg": lambda _, a: -a,
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": lambda _, a, b: a * b,
    "div": lambda _, a, b: a / b,
    "fma": lambda outcome, a, b, c: outcome.note(a * b) + c,
    "mul3": _mul3,
    "relu": lambda outcome, a: a if outcome.less(ZERO, a) else ZERO,
    "relu_gate": lambda outcome, a, b: b if outcome.less(ZERO, a) else ZERO,
    "max": lambda outcome, a, b: b if outcome.less(a, b) else a,
    "min": lambda outcome, a, b: b if outcome.less(b, a) else a,
    "cmplt": lambda outcome, a, b: Fraction(outcome.less(a, b)),
    "cmpeq": lambda _, a, b: Fraction(a == b),
    "where": lambda _, a, b, c: b if a else c,
}
"""The operators whose results are rational. ``cmpeq`` finds ties, of which extremes have taken note already."""
