"""What is checked of the code before anything is placed (docs/contexts.md section 2, step 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from counterfoil.compile.views import Step
from counterfoil_spec.limits import MAX_FILL
from counterfoil_spec.programs.assignments import Accumulate, Fetch, Fill
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Index, greatest_extent
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import refuse

INDEX_WIDTH = 2**31
"""Bindings lie below it; an undeclared range reaches up to it."""


def check(steps: Sequence[Step]) -> None:
    """Refuses compile/fill-limit, then compile/index-range, then compile/merge-nodes, each over the whole code."""
    for step in steps:
        _check_fill(step)
    for step in steps:
        _check_ranges(step)
    merged = by_uid(node for step in steps for node, _ in step.merges)
    if len(merged) > 1:
        raise refuse("compile/merge-nodes", nodes=[node.label for node in merged])


def span(entry: Affine, greatest: Callable[[Iterator | Symbol], int]) -> tuple[int, int]:
    """Least and greatest value of an index whose variables run from 0 to ``greatest``."""
    low = high = entry.offset
    for factor, variable in entry.terms:
        reach = factor * greatest(variable)
        low, high = min(low, low + reach), max(high, high + reach)
    return low, high


def greatest_value(extents: Mapping[Iterator, int]) -> Callable[[Iterator | Symbol], int]:
    """The most each variable can be: an iterator of these loops, or a symbol."""

    def greatest(variable: Iterator | Symbol) -> int:
        if isinstance(variable, Iterator):
            return extents[variable] - 1
        return INDEX_WIDTH - 1 if variable.greatest is None else variable.greatest

    return greatest


def refuse_range(node: Node, axis: int, low: int, high: int) -> Exception:
    """The refusal of an index that leaves its axis."""
    return refuse("compile/index-range", node=node.label, axis=axis, low=low, high=high, extent=node.shape[axis])


def _check_fill(step: Step) -> None:
    it = step.assignment
    if isinstance(it, Fetch) and isinstance(it.definition, Fill) and len(it.definition.values) > MAX_FILL:
        raise refuse("compile/fill-limit", node=step.target.label, size=len(it.definition.values), limit=MAX_FILL)


def _check_ranges(step: Step) -> None:
    extents = {iterator: greatest_extent(extent) for iterator, extent in step.product}
    if 0 in extents.values():
        return
    greatest = greatest_value(extents)
    if step.index is not None:
        _check_index(step.target, step.index, greatest, margins=False)
    elif step.row is not None:
        _check_row(step, greatest)
    it = step.assignment
    if isinstance(it, Accumulate):
        for operand, index in zip(it.operands, it.projections.operands, strict=True):
            _check_index(operand.node, index, greatest, margins=True)


def _check_row(step: Step, greatest: Callable[[Iterator | Symbol], int]) -> None:
    """A fetch into a view reaches the row its symbol names."""
    assert step.row is not None
    high = greatest(step.row)
    if step.row.greatest is None or high >= step.target.shape[0]:
        raise refuse_range(step.target, 0, 0, high)


def _check_index(node: Node, index: Index, greatest: Callable[[Iterator | Symbol], int], margins: bool) -> None:
    for axis, entry in enumerate(index):
        low, high = span(entry, greatest)
        left, right = node.padding[axis] if margins else (0, 0)
        unbounded = any(symbol.greatest is None for symbol in entry.symbols)
        if unbounded or low < -left or high >= node.shape[axis] + right:
            raise refuse_range(node, axis, low, high)
