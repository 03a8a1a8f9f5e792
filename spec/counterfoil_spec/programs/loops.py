"""The loop IR: what lowering makes of assignments, and what transforms rewrite.

A ``Lowered`` is one kernel: statements in order. Nodes are read and written at buffer positions of the *unpadded*
shape, as in assignments (a margin is reached by an index below 0 or past the extent).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from collections.abc import Iterator as Walk
from dataclasses import dataclass
from typing import Final

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Extent, Index
from counterfoil_spec.programs.symbols import Iterator

_numbers: Final = itertools.count()


class Local:
    """A scalar of a statement: what a virtual node's definition accumulates in. Compared by identity."""

    __slots__ = ("dtype", "label", "number")

    def __init__(self, label: str, dtype: Dtype) -> None:
        self.label = label
        self.dtype = dtype
        self.number = next(_numbers)


@dataclass(frozen=True, slots=True)
class Load:
    """The node's element, converted to the dtype of the computation around it."""

    node: Node
    index: Index


@dataclass(frozen=True, slots=True)
class LoadMerge:
    """The merge buffer's element, laid out as the node."""

    node: Node
    index: Index


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Position:
    """The value of an affine index."""

    index: Affine


@dataclass(frozen=True, slots=True)
class LocalValue:
    """The present value of a local."""

    local: Local


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator in the dtype of the statement's (or the scope's) target, rounded once."""

    operator: str
    arguments: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """The body is carried out, then the value is the local's; the body writes nothing but locals it declares."""

    local: Local
    body: tuple[Statement, ...]


Scalar = Load | LoadMerge | Number | Position | LocalValue | Apply | Scope


@dataclass(frozen=True, slots=True)
class Zero:
    """Every element of the node (its margins excepted) becomes 0."""

    node: Node


@dataclass(frozen=True, slots=True)
class Store:
    """One element becomes the value."""

    node: Node
    index: Index
    value: Scalar


@dataclass(frozen=True, slots=True)
class SetLocal:
    """A local becomes the value; the first one in a scope declares it."""

    local: Local
    value: Scalar


@dataclass(frozen=True, slots=True)
class Loop:
    """The body for each value 0 .. extent - 1 of the iterator."""

    iterator: Iterator
    extent: Extent
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """The body where ``left < right``."""

    left: Affine
    right: Affine
    body: tuple[Statement, ...]


Statement = Zero | Store | SetLocal | Loop | If


@dataclass(frozen=True, slots=True)
class Lowered:
    """One kernel."""

    body: tuple[Statement, ...] = ()


Transform = Callable[[Lowered], list[Lowered]]
"""What ``compile`` gives the lowered routine to; it returns the kernels to run, at least one, in order."""


def statements(body: tuple[Statement, ...]) -> Walk[Statement]:
    """Every statement, outer before inner, in program order; those of scopes after the statement that holds them."""
    for statement in body:
        yield statement
        match statement:
            case Loop() | If():
                yield from statements(statement.body)
            case Store() | SetLocal():
                for scope in scopes(statement.value):
                    yield from statements(scope.body)


def scopes(value: Scalar) -> Walk[Scope]:
    """The outermost scopes in a value."""
    match value:
        case Scope():
            yield value
        case Apply():
            for argument in value.arguments:
                yield from scopes(argument)


def loads(value: Scalar) -> Walk[Load | LoadMerge]:
    """The loads of a value, left to right, those inside scopes left out."""
    match value:
        case Load() | LoadMerge():
            yield value
        case Apply():
            for argument in value.arguments:
                yield from loads(argument)
