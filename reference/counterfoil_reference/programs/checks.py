"""What is refused of code before anything is placed (step 7 of a compile)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from counterfoil_reference.programs.views import Patch, Step, accesses
from counterfoil_spec.limits import MAX_FILL
from counterfoil_spec.programs.assignments import Accumulate, Fill, Merge
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Index, at, greatest_extent
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse

INDEX_WIDTH = 2**31
"""Bindings are below this."""

Bounds = tuple[tuple[int, int], ...]


def check(steps: Sequence[Step]) -> None:
    """Refuses compile/fill-limit, then compile/index-range, then compile/merge-nodes, each over the whole code."""
    for step in steps:
        check_fill(step)
    for step in steps:
        check_indices(step)
    merged = merge_operands(steps)
    if len(merged) > 1:
        raise refuse("compile/merge-nodes", nodes=merged)


def merge_operands(steps: Sequence[Step]) -> tuple[Node, ...]:
    """The nodes whose merge buffers the steps themselves read, by uid."""
    return by_uid(operand.node for step in steps for operand, _ in accesses(step) if isinstance(operand, Merge))


def check_fill(step: Step) -> None:
    """Refuses compile/fill-limit: more values in the code than MAX_FILL."""
    if isinstance(step, Accumulate) or not isinstance(step.definition, Fill):
        return
    size = len(step.definition.values)
    if size > MAX_FILL:
        raise refuse("compile/fill-limit", node=step.target, size=size, limit=MAX_FILL)


def check_indices(step: Step) -> None:
    """Refuses compile/index-range for the first axis, target before operands, whose indices can leave their range."""
    loops: dict[LoopIterator, int] = {}
    if isinstance(step, Accumulate):
        loops = {iterator: greatest_extent(extent) for iterator, extent in step.projections.product}
    if 0 in loops.values():
        return
    for node, index, allowed in _indexed(step):
        for axis, (entry, (least, past)) in enumerate(zip(index, allowed, strict=True)):
            low, high, bounded = index_range(entry, loops)
            if not bounded or low < least or high >= past:
                raise refuse("compile/index-range", node=node, axis=axis, low=low, high=high, extent=node.shape[axis])


def _indexed(step: Step) -> Iterator[tuple[Node, Index, Bounds]]:
    """The nodes a step indexes, each with the index and the range allowed on each of its axes."""
    if isinstance(step, Accumulate):
        yield step.target, step.projections.target, tuple((0, extent) for extent in step.target.shape)
        for operand, index in accesses(step):
            node = operand.node
            padded = zip(node.shape, node.padding, strict=True)
            yield node, index, tuple((-left, extent + right) for extent, (left, right) in padded)
    elif isinstance(step, Patch):
        yield step.target, (at(step.symbol),), ((0, step.target.shape[0]),)


def index_range(index: Affine, loops: dict[LoopIterator, int]) -> tuple[int, int, bool]:
    """The least and greatest value of an index, and whether every symbol in it has a declared range."""
    low = high = index.offset
    bounded = True
    for factor, variable in index.terms:
        greatest = _greatest(variable, loops)
        if greatest is None:
            bounded, greatest = False, INDEX_WIDTH - 1
        low += min(0, factor * greatest)
        high += max(0, factor * greatest)
    return low, high, bounded


def _greatest(variable: LoopIterator | Symbol, loops: dict[LoopIterator, int]) -> int | None:
    return variable.greatest if isinstance(variable, Symbol) else loops[variable] - 1
