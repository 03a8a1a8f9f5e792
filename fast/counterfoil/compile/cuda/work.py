"""Nests mapped to threads: a thread for each point of the parallel loops, the serial ones inside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from counterfoil.compile.nests import REORDERED, Loops, Nest
from counterfoil.compile.rewrite import Entry, in_scalar
from counterfoil_spec.programs.loops import Loop, Store
from counterfoil_spec.programs.loops import statements as all_statements
from counterfoil_spec.programs.projections import Affine, affine, at, fixed, greatest_extent
from counterfoil_spec.programs.symbols import Iterator, Symbol

Guards = tuple[tuple[Affine, Affine], ...]
"""Conditions ``left < right`` under which a point is carried out."""


@dataclass(frozen=True, slots=True)
class Solved:
    """An iterator without a loop: ``dividend / divisor``; points where that is no whole number from 0 to extent - 1 are
    left out."""

    iterator: Iterator
    dividend: Affine
    divisor: int
    extent: int


@dataclass(frozen=True, eq=False)
class Work:
    """A nest whose loops are ``parallel`` (by falling stride of what it writes), then ``serial`` (in order); it may use
    ``solved`` iterators too, which are found at each point."""

    nest: Nest
    parallel: Loops
    serial: Loops
    guards: Guards = ()
    solved: tuple[Solved, ...] = ()

    @cached_property
    def threads(self) -> int:
        """The points of the parallel loops."""
        return math.prod(extent for _, extent in self.parallel)

    @cached_property
    def terms(self) -> int:
        """The points that one thread carries out."""
        return math.prod(extent for _, extent in self.serial)

    @cached_property
    def outside(self) -> Guards:
        """The guards that the serial loops have no part in."""
        return tuple(guard for guard in self.guards if not self._varies(guard))

    @cached_property
    def inside(self) -> Guards:
        """The other guards."""
        return tuple(guard for guard in self.guards if self._varies(guard))

    @property
    def is_map(self) -> bool:
        """Whether each thread has one point."""
        return not self.serial

    @cached_property
    def accumulates(self) -> bool:
        """Whether all that a thread does goes to one element, so that a register can hold it."""
        return self.nest.accumulator is not None and all(it in self.nest.reductions for it, _ in self.serial)

    @property
    def is_sum(self) -> bool:
        """Whether a thread's points may come in any order, or be shared out."""
        return self.accumulates and self.nest.accumulator in REORDERED

    def covers(self) -> bool:
        """Whether every element of its node, margins excepted, is written."""
        if self.outside or ((self.inside or self.solved) and self.nest.node.is_padded):
            return False
        return (self.is_map or self.accumulates) and self.threads == self.nest.node.size

    @cached_property
    def has_loops(self) -> bool:
        """Whether its value is computed by loops of its own."""
        return any(isinstance(inner, Loop) for inner in all_statements((self.nest.store,)))

    @cached_property
    def extents(self) -> dict[Iterator, int]:
        """How far every iterator goes, those of loops inside the value included."""
        found = {**dict(self.nest.loops), **{each.iterator: each.extent for each in self.solved}}
        for statement in all_statements((self.nest.store,)):
            if isinstance(statement, Loop):
                found[statement.iterator] = greatest_extent(statement.extent)
        return found

    @cached_property
    def affines(self) -> tuple[Affine, ...]:
        """Every affine form that its loops enter."""
        guards = (entry for guard in self.guards for entry in guard)
        return (*self.nest.positions, *guards, *(each.dividend for each in self.solved))

    def renamed(self, bindings: dict[Iterator, Iterator | int], parallel: Loops, serial: Loops) -> Work:
        """The same over other loops."""
        change = substituting({it: at(to) if isinstance(to, Iterator) else fixed(to) for it, to in bindings.items()})
        return changed(self, change, parallel, serial)

    def _varies(self, guard: tuple[Affine, Affine]) -> bool:
        inner = {*(iterator for iterator, _ in self.serial), *(each.iterator for each in self.solved)}
        return any(iterator in inner for entry in guard for iterator in entry.iterators)


def changed(work: Work, change: Entry, parallel: Loops, serial: Loops) -> Work:
    """The work with every affine form changed, over other loops."""
    guards = tuple((change(left), change(right)) for left, right in work.guards)
    nest = Nest((*parallel, *serial), changed_store(work.nest.store, change), work.nest.start)
    solved = tuple(replace(each, dividend=change(each.dividend)) for each in work.solved)
    return Work(nest, parallel, serial, guards, solved)


def changed_store(store: Store, change: Entry) -> Store:
    """The store with every affine form changed."""
    return Store(store.node, tuple(change(entry) for entry in store.index), in_scalar(store.value, change))


def substituting(bindings: Mapping[Iterator, Affine]) -> Entry:
    """The change that puts affine forms in the place of iterators."""

    def change(entry: Affine) -> Affine:
        if not any(variable in bindings for _, variable in entry.terms):
            return entry
        terms: list[tuple[int, Iterator | Symbol]] = []
        constant = entry.offset
        for factor, variable in entry.terms:
            bound = bindings.get(variable) if isinstance(variable, Iterator) else None
            if bound is None:
                terms.append((factor, variable))
            else:
                terms += [(factor * inner, each) for inner, each in bound.terms]
                constant += factor * bound.offset
        return affine(terms, constant)

    return change


def stride(position: Affine, iterator: Iterator) -> int:
    """How far a step of the iterator moves the position."""
    return next((factor for factor, variable in position.terms if variable is iterator), 0)


def split(work: Work, loop: tuple[Iterator, int], size: int) -> tuple[Work, tuple[Iterator, int]]:
    """One of the serial loops as a parallel one, the first, over pieces of that size, and one over a piece's places."""
    iterator, extent = loop
    piece, place = (Iterator("p"), -(-extent // size)), (Iterator("q"), size)
    value = affine([(size, piece[0]), (1, place[0])])
    serial = tuple(place if each == loop else each for each in work.serial)
    found = changed(work, substituting({iterator: value}), (piece, *work.parallel), serial)
    ends = () if extent % size == 0 else ((value, fixed(extent)),)
    return replace(found, guards=(*found.guards, *ends)), piece


def joined(works: Sequence[Work]) -> list[Work]:
    """Works over the same parallel loops (the same iterators), neighbouring loops made one wherever all run on."""
    found = list(works)
    level = len(found[0].parallel) - 2
    while level >= 0:
        pair = found[0].parallel[level : level + 2]
        if all(_runs_on(work.affines, pair) for work in found):
            found = [_merged(work, pair) for work in found]
        level -= 1
    return [_joined_serial(work) for work in found]


def _joined_serial(work: Work) -> Work:
    level = len(work.serial) - 2
    while level >= 0:
        pair = work.serial[level : level + 2]
        if _runs_on(work.affines, pair):
            work = _merged(work, pair)
        level -= 1
    return work


def _runs_on(positions: Iterable[Affine], pair: Loops) -> bool:
    (outer, _), (inner, extent) = pair
    return all(stride(position, outer) == stride(position, inner) * extent for position in positions)


def _merged(work: Work, pair: Loops) -> Work:
    (outer, first), (inner, second) = pair
    one = (inner, first * second)

    def over(loops: Loops) -> Loops:
        return tuple(one if loop[0] is inner else loop for loop in loops if loop[0] is not outer)

    return work.renamed({outer: 0}, over(work.parallel), over(work.serial))
