"""How far the indices of lowered code reach: code handed over is checked as a comp's is (step 7 of a compile)."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_reference.programs.checks import index_range
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
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.refusals import refuse

Loops = dict[LoopIterator, int]
Conditions = tuple[tuple[Affine, Affine], ...]
"""Pairs of which the left one is less than the right one wherever the statement is carried out."""


def check_reach(lowered: Lowered) -> None:
    """Refuses compile/index-range for the first index, value before target, that can leave its range under the loops
    and conditions around it."""
    _body(lowered.body, {}, ())


def _body(body: Sequence[Statement], loops: Loops, conditions: Conditions) -> None:
    for statement in body:
        match statement:
            case Store():
                _scalar(statement.value, loops, conditions)
                _reach(statement.node, statement.index, False, loops, conditions)
            case SetLocal():
                _scalar(statement.value, loops, conditions)
            case Loop():
                extent = greatest_extent(statement.extent)
                if extent > 0:
                    _body(statement.body, {**loops, statement.iterator: extent}, conditions)
            case If():
                _body(statement.body, loops, (*conditions, (statement.left, statement.right)))


def _scalar(value: Scalar, loops: Loops, conditions: Conditions) -> None:
    match value:
        case Load() | LoadMerge():
            _reach(value.node, value.index, True, loops, conditions)
        case Scope():
            _body(value.body, loops, conditions)
        case Apply():
            kept = {"arg1": value.arguments[:1], "arg2": value.arguments[1:]}.get(value.operator, value.arguments)
            for argument in kept:
                _scalar(argument, loops, conditions)


def _reach(node: Node, index: Index, margins: bool, loops: Loops, conditions: Conditions) -> None:
    for axis, entry in enumerate(index):
        low, high, _ = index_range(entry, loops)
        for left, right in conditions:
            above, below = _constant(entry, left, right), _constant(entry, right, left)
            low = low if above is None else max(low, above + 1)
            high = high if below is None else min(high, below - 1)
        before, after = node.padding[axis] if margins else (0, 0)
        if low <= high and not -before <= low <= high < node.shape[axis] + after:
            raise refuse("compile/index-range", node=node, axis=axis, low=low, high=high, extent=node.shape[axis])


def _constant(entry: Affine, plus: Affine, minus: Affine) -> int | None:
    """``entry + plus - minus`` where that is a number."""
    found = affine(
        [*entry.terms, *plus.terms, *((-factor, each) for factor, each in minus.terms)],
        entry.offset + plus.offset - minus.offset,
    )
    return None if found.terms else found.offset
