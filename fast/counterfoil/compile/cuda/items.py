"""A routine's statements as works where they are stores under loops and conditions alone; the others as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.mapping import mapped
from counterfoil.compile.cuda.work import Guards, Work
from counterfoil.compile.nests import Loops, Nest, items_of
from counterfoil.compile.rewrite import in_index, in_statement, replaced
from counterfoil_spec.programs.loops import If, Load, Loop, Lowered, Statement, Store
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, at, greatest_extent
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol

Item = Work | Statement
"""What a routine is a list of."""


def works_of(segments: Iterable[Lowered]) -> list[Item]:
    """The kernels' statements in order."""
    found: list[Item] = []
    for item in items_of(segments):
        if isinstance(item, Nest):
            found.append(mapped(item, ()))
        else:
            found.extend(_opened(item))
    return found


def are_independent(earlier: Work, later: Work) -> bool:
    """Whether threads of different points of their parallel loops share nothing that one of them writes."""
    return _in_step(earlier, later.nest) and _in_step(later, earlier.nest)


def _in_step(work: Work, writer: Nest) -> bool:
    return all(position == writer.target for position in _positions(work.nest, writer.node))


def _positions(nest: Nest, node: Node) -> list[Affine]:
    """Where the nest touches the node."""
    found = [offset(load.node, load.index) for load in nest.loads if isinstance(load, Load) and load.node is node]
    return [nest.target, *found] if nest.node is node else found


@dataclass(frozen=True)
class _Place:
    """A store with the loops and conditions around it."""

    loops: Loops
    guards: Guards
    store: Store


def _opened(statement: Statement) -> Iterator[Item]:
    """Works where all of the statement is stores under shared loops that may each have loops of its own."""
    places = _places(statement, (), ())
    if places is None:
        yield statement
        return
    works = [mapped(Nest(place.loops, place.store), place.guards) for place in _worth(places)]
    if len(works) > 1 and not _may_part(works):
        yield statement
        return
    yield from works


def _may_part(works: Sequence[Work]) -> bool:
    """Whether stores of one loop body may each have the loop alone: each its own point, none another's."""
    first = {iterator for iterator, _ in works[0].parallel}
    if not all(work.is_map and {iterator for iterator, _ in work.parallel} == first for work in works):
        return False
    return all(are_independent(one, other) for place, one in enumerate(works) for other in works[:place])


def _worth(places: Iterable[_Place]) -> Iterator[_Place]:
    """Those that have points, without loops of one iteration."""
    for place in places:
        if all(extent for _, extent in place.loops):
            single: dict[LoopIterator, LoopIterator | int] = {it: 0 for it, extent in place.loops if extent == 1}
            change = replaced(single)
            store = in_statement(place.store, change)
            assert isinstance(store, Store)
            guards = tuple((left, right) for left, right in (in_index(guard, change) for guard in place.guards))
            yield _Place(tuple(loop for loop in place.loops if loop[1] != 1), guards, store)


def _places(statement: Statement, loops: Loops, guards: Guards) -> list[_Place] | None:
    """The stores of a chain of loops and conditions, None where there is anything else."""
    match statement:
        case Store():
            distinct = len({iterator for iterator, _ in loops}) == len(loops)
            return [_Place(loops, guards, statement)] if distinct else None
        case Loop(iterator, int() as extent, body):
            return _bodies(body, (*loops, (iterator, extent)), guards)
        case Loop(iterator, extent, body):
            assert isinstance(extent, Symbol)
            most = greatest_extent(extent)
            return _bodies(body, (*loops, (iterator, most)), (*guards, (at(iterator), at(extent))))
        case If(left, right, body):
            return _bodies(body, loops, (*guards, (left, right)))
    return None


def _bodies(body: Sequence[Statement], loops: Loops, guards: Guards) -> list[_Place] | None:
    if len(body) > 1 and not all(isinstance(statement, Store) for statement in body):
        return None
    found: list[_Place] = []
    for statement in body:
        inner = _places(statement, loops, guards)
        if inner is None:
            return None
        found += inner
    return found
