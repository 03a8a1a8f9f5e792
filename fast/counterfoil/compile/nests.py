"""Kernels as nests of loops over one store each, and what the optimiser asks of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.literals import is_float, stored
from counterfoil.compile.rewrite import accesses, entries, in_statement, replaced, with_own_iterators
from counterfoil.compile.simplify import simplified_statement
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Loop,
    Lowered,
    Number,
    Scalar,
    SetLocal,
    Statement,
    Store,
    Zero,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, at, fixed
from counterfoil_spec.programs.symbols import Iterator as LoopIterator

Loops = tuple[tuple[LoopIterator, int], ...]

REORDERED: Final = frozenset({"add", "sub", "mul", "max", "min"})
"""Accumulators whose terms may come in any order (N3; max and min are exact)."""


@dataclass(frozen=True, eq=False)
class Nest:
    """Loops, outermost first, over one store. ``start``: the accumulation starts there, not at what is stored.

    After collapsing, an index may run past its axis: only the position it gives in the buffer counts.
    """

    loops: Loops
    store: Store
    start: float | None = None

    @property
    def node(self) -> Node:
        """The node it writes."""
        return self.store.node

    @cached_property
    def target(self) -> Affine:
        """The position it writes."""
        return offset(self.store.node, self.store.index)

    @cached_property
    def accumulator(self) -> str | None:
        """The operator that combines what is stored with ``term``; None where it does not accumulate."""
        match self.store.value:
            case Apply(operator, (Load(node, index), term)) if node is self.node and index == self.store.index:
                return None if any(load.node is node for load in accesses(term)) else operator
        return None

    @property
    def term(self) -> Scalar:
        """What is combined with the stored value, or stored."""
        value = self.store.value
        return value.arguments[1] if self.accumulator is not None and isinstance(value, Apply) else value

    @cached_property
    def loads(self) -> tuple[Load | LoadMerge, ...]:
        """The loads of ``term``."""
        return tuple(accesses(self.term))

    @cached_property
    def reductions(self) -> frozenset[LoopIterator]:
        """The loops whose iterator the target does not use."""
        used = {variable for _, variable in self.target.terms}
        return frozenset(iterator for iterator, _ in self.loops if iterator not in used)

    @cached_property
    def is_regular(self) -> bool:
        """Whether the loops may be carried out in any order: terms that may come in any order are added up, or no
        element is read or written by two points."""
        if self.accumulator in REORDERED:
            return True
        reads_itself = any(load.node is self.node and isinstance(load, Load) for load in self.loads)
        return self.is_disjoint and not self.reductions and (self._reads_in_place or not reads_itself)

    @cached_property
    def is_disjoint(self) -> bool:
        """Whether points that differ in a loop other than a reduction write different elements."""
        return separates(self.target, self.loops, self.reductions)

    @property
    def _reads_in_place(self) -> bool:
        own = [load for load in self.loads if isinstance(load, Load) and load.node is self.node]
        return all(load.index == self.store.index for load in own)

    @cached_property
    def positions(self) -> tuple[Affine, ...]:
        """Every affine form its iterators enter: the elements' positions, then other indices."""
        found = [self.target, *(offset(load.node, load.index) for load in self.loads)]
        return (*found, *entries(self.term))

    @cached_property
    def points(self) -> int:
        """How often the store is carried out."""
        total = 1
        for _, extent in self.loops:
            total *= extent
        return total

    @property
    def is_fill(self) -> bool:
        """Whether it stores one number everywhere."""
        return isinstance(self.store.value, Number)

    def covers(self) -> bool:
        """Whether it writes every element of its node, margins excepted."""
        inside = 1
        for iterator, extent in self.loops:
            if iterator not in self.reductions:
                inside *= extent
        return inside == self.node.size and self.is_regular and self.is_disjoint

    def renamed(self, bindings: dict[LoopIterator, LoopIterator | int], loops: Loops) -> Nest:
        """The same over other loops."""
        changed = in_statement(self.store, replaced(bindings))
        assert isinstance(changed, Store)
        return Nest(loops, changed, self.start)


Item = Nest | Statement
"""What a kernel is a list of: nests, and statements that are none."""


def separates(position: Affine, loops: Loops, besides: Iterable[LoopIterator] = ()) -> bool:
    """Whether two points of the loops, those besides left out, never reach one position."""
    left_out = set(besides)
    extents = {iterator: extent for iterator, extent in loops if iterator not in left_out and extent > 1}
    reach, met = 0, 0
    strides = [(abs(factor), extents[it]) for factor, it in position.terms
               if isinstance(it, LoopIterator) and it in extents]  # fmt: skip
    for factor, extent in sorted(strides):
        if factor < 1 + reach:
            return False
        reach += factor * (extent - 1)
        met += 1
    return met == len(extents)


def items_of(segments: Iterable[Lowered]) -> list[Item]:
    """The kernels' statements in order, nests wherever they are; a kernel whose statements share locals is one.

    Every loop has its own iterator, whatever the kernels' loops share.
    """
    segments = list(segments)
    bodies = iter(with_own_iterators([statement for segment in segments for statement in segment.body]))
    found: list[Item] = []
    for segment in segments:
        body = tuple(itertools.islice(bodies, len(segment.body)))
        if shares_locals(body):
            body = (If(fixed(0), fixed(1), body),)
        for statement in body:
            found.extend(_items(statement))
    return found


def shares_locals(body: Iterable[Statement]) -> bool:
    """Whether some statement sets a local outside of scopes: another one may look at it."""
    return any(_sets_locals(statement) for statement in body)


def _sets_locals(statement: Statement) -> bool:
    match statement:
        case SetLocal():
            return True
        case Loop(_, _, body) | If(_, _, body):
            return shares_locals(body)
    return False


def _items(statement: Statement) -> Iterator[Item]:
    if isinstance(statement, Zero):
        loops = tuple((LoopIterator(f"z{axis}"), extent) for axis, extent in enumerate(statement.node.shape))
        index = tuple(at(iterator) for iterator, _ in loops)
        found: Nest | None = Nest(loops, Store(statement.node, index, Number(0.0)))
    else:
        found = _nest(statement)
    if found is None:
        yield simplified_statement(statement)
        return
    if all(extent for _, extent in found.loops):
        yield _without_single_loops(found)


def _nest(statement: Statement) -> Nest | None:
    """A store under loops alone, of extents that are numbers, each with its own iterator."""
    loops: list[tuple[LoopIterator, int]] = []
    while isinstance(statement, Loop):
        if len(statement.body) != 1 or not isinstance(statement.extent, int):
            return None
        loops.append((statement.iterator, statement.extent))
        statement = statement.body[0]
    if not isinstance(statement, Store) or len({iterator for iterator, _ in loops}) != len(loops):
        return None
    simple = simplified_statement(statement)
    assert isinstance(simple, Store)
    return Nest(tuple(loops), simple)


def _without_single_loops(nest: Nest) -> Nest:
    single: dict[LoopIterator, LoopIterator | int] = {iterator: 0 for iterator, extent in nest.loops if extent == 1}
    if not single:
        return nest
    return nest.renamed(single, tuple(loop for loop in nest.loops if loop[1] != 1))


def touched(item: Item) -> set[Node]:
    """The nodes an item reads or writes."""
    if isinstance(item, Nest):
        return {item.node, *(load.node for load in accesses(item.store.value) if isinstance(load, Load))}
    found: set[Node] = set()
    _touched(item, found)
    return found


def _touched(statement: Statement, found: set[Node]) -> None:
    match statement:
        case Zero(node):
            found.add(node)
        case Store(node, _, value):
            found.add(node)
            found |= {load.node for load in accesses(value) if isinstance(load, Load)}
        case Loop(_, _, body):
            for inner in body:
                _touched(inner, found)
        case _:
            body = getattr(statement, "body", ())
            for inner in body:
                _touched(inner, found)


def fill_value(nest: Nest) -> float | None:
    """The number a fill stores, as its node's dtype holds it."""
    value = nest.store.value
    return stored(value.value, nest.node.dtype) if isinstance(value, Number) else None


def adds_floats(nest: Nest) -> bool:
    """Whether it adds up floats: where the order of terms shows in the bits."""
    return is_float(nest.node.dtype) and nest.accumulator in ("add", "sub", "mul")
