"""Index projections: how the points of a product of loops reach the elements of an assignment's arrays.

Every index is affine: a sum of integer multiples of iterators and static symbols, plus an integer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from counterfoil_spec.arguments import instance, integer, within
from counterfoil_spec.limits import MAX_ELEMENTS
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import refuse, shown

_T = TypeVar("_T")
_U = TypeVar("_U")

Extent = int | Symbol
"""A loop's extent: a number, or a symbol whose value at the run says how far it goes (at most its bound)."""


@dataclass(frozen=True, slots=True)
class Affine:
    """``sum(coefficient * variable for coefficient, variable in terms) + offset``; no coefficient is 0, no variable
    occurs twice, iterators and symbols in the order of their numbers."""

    terms: tuple[tuple[int, Iterator | Symbol], ...] = ()
    offset: int = 0

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        """The loop iterators it uses."""
        return tuple(variable for _, variable in self.terms if isinstance(variable, Iterator))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The static symbols it uses."""
        return tuple(variable for _, variable in self.terms if isinstance(variable, Symbol))

    def __repr__(self) -> str:
        parts = [f"{variable!r}" if factor == 1 else f"{factor}*{variable!r}" for factor, variable in self.terms]
        return " + ".join([*parts, str(self.offset)] if self.offset or not parts else parts)


Index = tuple[Affine, ...]
"""One affine index per axis of an array."""


def affine(terms: Iterable[tuple[int, Iterator | Symbol]] = (), offset: int = 0) -> Affine:
    """The canonical affine index of those terms: like ones added, zeros dropped, ordered."""
    factors: dict[Iterator | Symbol, int] = {}
    for factor, variable in terms:
        factors[variable] = factors.get(variable, 0) + factor
    kept = [(factor, variable) for variable, factor in factors.items() if factor]
    return Affine(tuple(sorted(kept, key=lambda term: term[1].number)), offset)


def at(variable: Iterator | Symbol) -> Affine:
    """The index that is the variable itself."""
    return Affine(((1, variable),))


def fixed(offset: int) -> Affine:
    """The index that is always ``offset``."""
    return Affine((), offset)


@dataclass(frozen=True, slots=True)
class Projections:
    """The loops of an assignment, outermost first, the target's index, and one index per operand.

    A reduction is a loop whose iterator the target's index does not use.
    """

    product: tuple[tuple[Iterator, Extent], ...]
    target: Index
    operands: tuple[Index, ...]

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type, arguments/integer-range (an extent), programs/bound (a symbolic extent without
        a declared range) and programs/spec (an iterator with no loop, or with two)."""
        loops: set[Iterator] = set()
        for iterator, extent in _pairs("product", self.product):
            if instance("product", iterator, Iterator) in loops:
                raise refuse("programs/spec", spec=iterator.label, why="two loops of one iterator")
            check_extent(extent)
            loops.add(iterator)
        for index in (self.target, *_tuple("operands", self.operands)):
            for entry in _tuple("index", index):
                check_affine(entry, loops)


def check_extent(extent: object) -> None:
    """Refuses arguments/wrong-type, arguments/integer-range, programs/bound: what no loop has as extent."""
    if isinstance(extent, Symbol):
        if extent.bound is None:
            raise refuse("programs/bound", symbol=extent.label, bound=None)
    else:
        within("extent", integer("extent", extent), 0, MAX_ELEMENTS)


def check_affine(entry: object, loops: Collection[Iterator]) -> None:
    """Refuses arguments/wrong-type, arguments/not-integer, programs/spec: what is no index inside those loops."""
    found = instance("index", entry, Affine)
    integer("offset", found.offset)
    for factor, variable in _pairs("index", found.terms):
        integer("factor", factor)
        if not isinstance(variable, Symbol) and instance("index", variable, Iterator) not in loops:
            raise refuse("programs/spec", spec=repr(found), why=f"{variable!r} has no loop")


def _tuple(argument: str, values: tuple[_T, ...]) -> tuple[_T, ...]:
    return instance(argument, values, tuple)


def _pairs(argument: str, values: tuple[tuple[_T, _U], ...]) -> tuple[tuple[_T, _U], ...]:
    for pair in _tuple(argument, values):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise refuse("arguments/wrong-type", argument=argument, expected="a sequence of pairs", value=shown(values))
    return values


def greatest_extent(extent: Extent) -> int:
    """The extent, or the most a symbolic one can be."""
    return extent if isinstance(extent, int) else (extent.bound or 0)
