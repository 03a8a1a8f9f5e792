"""Operands and stored definitions as scalars of the loop IR: a read of a Virtual node is a scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from counterfoil_reference.programs.coverage import overwrites
from counterfoil_reference.programs.definitions import Stored
from counterfoil_reference.programs.injective import plain_iterator
from counterfoil_reference.programs.views import Step, accesses
from counterfoil_spec.programs.assignments import (
    Accumulate,
    Constant,
    Definition,
    Embed,
    Fill,
    Offsets,
    Operand,
    Read,
)
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Local,
    LocalValue,
    Loop,
    Number,
    Position,
    Scalar,
    Scope,
    SetLocal,
    Statement,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import NEUTRAL
from counterfoil_spec.programs.projections import Affine, Extent, Index, affine, at, fixed
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol

Substitution = Mapping[LoopIterator, Affine]


def operand(given: Operand, index: Index, stored: Stored) -> Scalar:
    """An operand's element: a load, or the scope that replays a Virtual node's setters."""
    if not isinstance(given, Read):
        return LoadMerge(given.node, index)
    return scope(given.node, index, stored) if given.node in stored else Load(given.node, index)


def applied(operation: str, arguments: Sequence[Scalar]) -> Scalar:
    """An operation; the identity is its operand, converted by whatever is around it."""
    return arguments[0] if operation == "identity" else Apply(operation, tuple(arguments))


def accumulated(accumulator: str, before: Scalar, value: Scalar) -> Scalar:
    """What an accumulation makes of the element's former value and the operation's."""
    if accumulator in ("arg1", "arg2"):
        return before if accumulator == "arg1" else value
    return Apply(accumulator, (before, value))


def fetched(definition: Definition, index: Index, shape: Sequence[int]) -> Scalar:
    """A fetch's element at an index; not of a Fill, whose elements have no formula."""
    match definition:
        case Constant():
            return Number(definition.value)
        case Offsets():
            return Position(offset(index, shape))
        case Embed():
            return Position(at(definition.symbol))
    raise AssertionError(definition)


def offset(index: Index, shape: Sequence[int]) -> Affine:
    """The position of an index in C order."""
    found = fixed(0)
    for entry, extent in zip(index, shape, strict=True):
        found = _sum([(extent, found), (1, entry)])
    return found


def nest(loops: Sequence[tuple[LoopIterator, Extent]], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements under loops, outermost first."""
    for iterator, extent in reversed(loops):
        body = (Loop(iterator, extent, body),)
    return body


# --- scopes ----------------------------------------------------------------------------------------------------------


def scope(node: Node, index: Index, stored: Stored) -> Scope:
    """The value of a Virtual node at an index: its setters replayed there, its margin value in the margins."""
    local = Local(node.label, node.dtype)
    writes = stored[node]
    body: tuple[Statement, ...] = () if overwrites(writes[0]) else (SetLocal(local, Number(0)),)
    for write in writes:
        body += tuple(_setter(write, local, index, stored))
    if node.is_padded:
        body = (SetLocal(local, Number(node.margin)), *_inside(node, index, body))
    return Scope(local, body)


def _inside(node: Node, index: Index, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The statements where the index is not in the margins."""
    for entry, extent, margins in zip(index, node.shape, node.padding, strict=True):
        if any(margins):
            body = (If(fixed(-1), entry, (If(entry, fixed(extent), body),)),)
    return body


def _setter(write: Step, local: Local, index: Index, stored: Stored) -> Iterator[Statement]:
    """A setter's statements at one element, the local in the place of the target's element."""
    if isinstance(write, Accumulate):
        if write.initialize:
            yield SetLocal(local, Number(NEUTRAL[write.accumulator]))
        yield from _accumulation(write, local, index, stored)
    elif isinstance(write.definition, Fill):
        yield from _chosen(write.definition, local, offset(index, write.target.shape))
    else:
        yield SetLocal(local, fetched(write.definition, index, write.target.shape))


def _chosen(fill: Fill, local: Local, position: Affine) -> Iterator[Statement]:
    for place, value in enumerate(fill.values):
        found = SetLocal(local, Number(value))
        yield If(fixed(place - 1), position, (found,)) if place else found


def _accumulation(write: Accumulate, local: Local, index: Index, stored: Stored) -> Iterator[Statement]:
    into = pinned(write, index)
    loops = []
    for iterator, extent in write.projections.product:
        if iterator not in into:
            fresh = LoopIterator(iterator.label)
            into[iterator] = at(fresh)
            loops.append((fresh, extent))
    arguments = [
        LocalValue(local)
        if isinstance(given, Read) and given.node is write.target
        else operand(given, substituted(where, into), stored)
        for given, where in accesses(write)
    ]
    value = accumulated(write.accumulator, LocalValue(local), applied(write.operation, arguments))
    yield from nest(loops, (SetLocal(local, value),))


def pinned(write: Accumulate, index: Index) -> dict[LoopIterator, Affine]:
    """The target's iterators of a one-to-one setter, each as the index entry of its axis."""
    pairs = zip(write.projections.target, index, strict=True)
    return {iterator: entry for axis, entry in pairs if (iterator := plain_iterator(axis)) is not None}


def substituted(index: Index, into: Substitution) -> Index:
    """An index with affine indices in the place of iterators."""
    return tuple(_sum([(1, fixed(entry.offset)), *((f, _of(v, into)) for f, v in entry.terms)]) for entry in index)


def _of(variable: LoopIterator | Symbol, into: Substitution) -> Affine:
    return into[variable] if isinstance(variable, LoopIterator) else at(variable)


def _sum(parts: Sequence[tuple[int, Affine]]) -> Affine:
    terms = [(factor * inner, variable) for factor, part in parts for inner, variable in part.terms]
    return affine(terms, sum(factor * part.offset for factor, part in parts))
