"""Indices of the loop IR checked against their nodes: what a caller or a transform hands over is trusted no more."""

from __future__ import annotations

from collections.abc import Iterable

from counterfoil.compile.checks import greatest_value, refuse_range, span
from counterfoil.compile.rewrite import evaluated
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Loop,
    Lowered,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Index, affine, greatest_extent
from counterfoil_spec.programs.symbols import Iterator

Guards = tuple[tuple[Affine, Affine], ...]
"""Conditions ``left < right`` that hold where a statement is carried out."""


def check_lowered(lowered: Lowered) -> None:
    """Refuses compile/index-range: an index of the loop IR that can leave its node, loops and conditions considered."""
    _Ranges().statements(lowered.body, ())


class _Ranges:
    """A walk under loops (their extents) and conditions."""

    def __init__(self) -> None:
        self._extents: dict[Iterator, int] = {}

    def statements(self, body: Iterable[Statement], guards: Guards) -> None:
        for statement in body:
            match statement:
                case Store(node, index, value):
                    self._value(value, guards)
                    self._index(node, index, guards, margins=False)
                case SetLocal(_, value):
                    self._value(value, guards)
                case Loop(iterator, extent, inner):
                    self._extents[iterator] = greatest_extent(extent)
                    if self._extents[iterator] > 0:
                        self.statements(inner, guards)
                case If(left, right, inner):
                    self.statements(inner, (*guards, (left, right)))

    def _value(self, value: Scalar, guards: Guards) -> None:
        match value:
            case Load(node, index) | LoadMerge(node, index):
                self._index(node, index, guards, margins=True)
            case Apply():
                for argument in evaluated(value):
                    self._value(argument, guards)
            case Scope(_, body):
                self.statements(body, guards)

    def _index(self, node: Node, index: Index, guards: Guards, margins: bool) -> None:
        greatest = greatest_value(self._extents)
        for axis, entry in enumerate(index):
            low, high = span(entry, greatest)
            for left, right in guards:
                low, high = max(low, _least(entry, left, right, low)), min(high, _most(entry, left, right, high))
            before, after = node.padding[axis] if margins else (0, 0)
            unbounded = any(symbol.greatest is None for symbol in entry.symbols)
            if low <= high and (unbounded or low < -before or high >= node.shape[axis] + after):
                raise refuse_range(node, axis, low, high)


def _least(entry: Affine, left: Affine, right: Affine, low: int) -> int:
    """Where ``entry - (right - left)`` is a number: one more than it, by the condition."""
    known = _difference(entry, right, left)
    return low if known is None else known + 1


def _most(entry: Affine, left: Affine, right: Affine, high: int) -> int:
    """Where ``entry + (right - left)`` is a number: one less than it, by the condition."""
    known = _difference(entry, left, right)
    return high if known is None else known - 1


def _difference(entry: Affine, minus: Affine, plus: Affine) -> int | None:
    terms = [*entry.terms, *((-factor, each) for factor, each in minus.terms), *plus.terms]
    combined = affine(terms, entry.offset - minus.offset + plus.offset)
    return None if combined.terms else combined.offset
