"""Scalars and statements of the loop IR with their indices or parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Loop,
    Position,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
    statements,
)
from counterfoil_spec.programs.projections import Affine, Index, affine
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol

Entry = Callable[[Affine], Affine]
"""What an affine index becomes."""


def replaced(bindings: Mapping[LoopIterator, LoopIterator | int]) -> Entry:
    """The change that puts other iterators, or numbers, in the place of some."""

    def change(entry: Affine) -> Affine:
        if not any(variable in bindings for _, variable in entry.terms):
            return entry
        terms: list[tuple[int, LoopIterator | Symbol]] = []
        constant = entry.offset
        for factor, variable in entry.terms:
            bound = bindings.get(variable, variable) if isinstance(variable, LoopIterator) else variable
            if isinstance(bound, int):
                constant += factor * bound
            else:
                terms.append((factor, bound))
        return affine(terms, constant)

    return change


def in_scalar(value: Scalar, change: Entry) -> Scalar:
    """The scalar with every affine index changed."""
    match value:
        case Load(node, index):
            return Load(node, in_index(index, change))
        case LoadMerge(node, index):
            return LoadMerge(node, in_index(index, change))
        case Position(index):
            return Position(change(index))
        case Apply(operator, arguments):
            return Apply(operator, tuple(in_scalar(argument, change) for argument in arguments))
        case Scope(local, body):
            return Scope(local, tuple(in_statement(statement, change) for statement in body))
    return value


def in_index(index: Index, change: Entry) -> Index:
    """The index with every entry changed."""
    return tuple(change(entry) for entry in index)


def in_statement(statement: Statement, change: Entry) -> Statement:
    """The statement with every affine index changed; its own loops keep their iterators."""
    match statement:
        case Store(node, index, value):
            return Store(node, in_index(index, change), in_scalar(value, change))
        case SetLocal(local, value):
            return SetLocal(local, in_scalar(value, change))
        case Loop(iterator, extent, body):
            return Loop(iterator, extent, tuple(in_statement(inner, change) for inner in body))
        case If(left, right, body):
            return If(change(left), change(right), tuple(in_statement(inner, change) for inner in body))
    return statement


def with_own_iterators(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The statements, every loop with an iterator that no other one has: then loops can be put in others' places."""
    iterators = [statement.iterator for statement in statements(tuple(body)) if isinstance(statement, Loop)]
    if len(set(iterators)) == len(iterators):
        return tuple(body)
    return tuple(_owning(statement, {}) for statement in body)


def _owning(statement: Statement, bound: Mapping[LoopIterator, LoopIterator]) -> Statement:
    change = replaced(bound)
    match statement:
        case Loop(iterator, extent, body):
            own = LoopIterator(iterator.label)
            return Loop(own, extent, tuple(_owning(inner, {**bound, iterator: own}) for inner in body))
        case If(left, right, body):
            return If(change(left), change(right), tuple(_owning(inner, bound) for inner in body))
        case Store(node, index, value):
            return Store(node, in_index(index, change), _owning_in(value, bound))
        case SetLocal(local, value):
            return SetLocal(local, _owning_in(value, bound))
    return statement


def _owning_in(value: Scalar, bound: Mapping[LoopIterator, LoopIterator]) -> Scalar:
    match value:
        case Apply(operator, arguments):
            return Apply(operator, tuple(_owning_in(argument, bound) for argument in arguments))
        case Scope(local, body):
            return Scope(local, tuple(_owning(inner, bound) for inner in body))
    return in_scalar(value, replaced(bound))


def evaluated(value: Apply) -> tuple[Scalar, ...]:
    """The arguments that are evaluated: of arg1 and arg2 the one they keep."""
    match value.operator:
        case "arg1":
            return value.arguments[:1]
        case "arg2":
            return value.arguments[1:]
    return value.arguments


def accesses(value: Scalar) -> Iterator[Load | LoadMerge]:
    """Every load of a scalar, those inside scopes included."""
    match value:
        case Load() | LoadMerge():
            yield value
        case Apply(_, arguments):
            for argument in arguments:
                yield from accesses(argument)
        case Scope(_, body):
            yield from _accesses(body)


def entries(value: Scalar) -> Iterator[Affine]:
    """The affine indices of a scalar that are no element's: positions and conditions."""
    match value:
        case Position(index):
            yield index
        case Apply(_, arguments):
            for argument in arguments:
                yield from entries(argument)
        case Scope(_, body):
            yield from _entries(body)


def _accesses(body: Iterable[Statement]) -> Iterator[Load | LoadMerge]:
    for statement in body:
        match statement:
            case Store(_, _, value) | SetLocal(_, value):
                yield from accesses(value)
            case Loop(_, _, inner) | If(_, _, inner):
                yield from _accesses(inner)


def _entries(body: Iterable[Statement]) -> Iterator[Affine]:
    for statement in body:
        match statement:
            case Store(_, _, value) | SetLocal(_, value):
                yield from entries(value)
            case Loop(_, _, inner):
                yield from _entries(inner)
            case If(left, right, inner):
                yield left
                yield right
                yield from _entries(inner)
