"""Code as a list of steps: slice views replaced by their parents, operands that are not evaluated left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from counterfoil_spec.programs.assignments import (
    Accumulate,
    Assignment,
    Code,
    Constant,
    Embed,
    Fetch,
    Fill,
    Merge,
    Offsets,
    Operand,
    Read,
    Row,
    leaves,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Index, Projections, at
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Patch:
    """A fetch into a slice view: the row of ``target`` at ``symbol`` is defined; positions count within the row."""

    target: Node
    symbol: Symbol
    definition: Constant | Fill | Offsets | Embed


@dataclass(frozen=True, slots=True)
class RowAccumulate(Accumulate):
    """An accumulation into a slice view that initializes: the row of ``target`` at ``symbol`` starts as neutral."""

    symbol: Symbol = field(kw_only=True)


Step = Accumulate | Fetch | Patch
"""An assignment over nodes that are no views. A Fetch is never of a Row: that is an Accumulate."""


def steps_of(code: Code) -> tuple[Step, ...]:
    """The assignments of the code in program order, as steps."""
    return tuple(step_of(leaf) for leaf in leaves(code))


def step_of(leaf: Assignment) -> Step:
    """One assignment as a step."""
    if isinstance(leaf, Accumulate):
        return _accumulation(leaf)
    if isinstance(leaf.definition, Row):
        return _accumulation(_copy_of_row(leaf.target, leaf.definition))
    if leaf.target.slice_of is not None:
        parent, symbol = leaf.target.slice_of
        return Patch(parent, symbol, leaf.definition)
    return leaf


def _copy_of_row(target: Node, row: Row) -> Accumulate:
    loops = tuple((LoopIterator(f"i{axis}"), extent) for axis, extent in enumerate(target.shape))
    index: Index = tuple(at(iterator) for iterator, _ in loops)
    parent, parent_index = _whole(row.parent, (at(row.symbol), *index))
    return Accumulate(target, "arg2", "identity", (Read(parent),), Projections(loops, index, (parent_index,)))


def _accumulation(leaf: Accumulate) -> Accumulate:
    operation, pairs = _evaluated(leaf)
    target, index = _whole(leaf.target, leaf.projections.target)
    operands: list[Operand] = []
    indices: list[Index] = []
    for operand, operand_index in pairs:
        node, whole = _whole(operand.node, operand_index)
        operands.append(Read(node) if isinstance(operand, Read) else Merge(node))
        indices.append(whole)
    projections = Projections(leaf.projections.product, index, tuple(indices))
    if leaf.initialize and leaf.target.slice_of is not None:
        symbol = leaf.target.slice_of[1]
        return RowAccumulate(target, leaf.accumulator, operation, tuple(operands), projections, True, symbol=symbol)
    return Accumulate(target, leaf.accumulator, operation, tuple(operands), projections, leaf.initialize)


def _evaluated(leaf: Accumulate) -> tuple[str, list[tuple[Operand, Index]]]:
    """The operation and its operands with their indices; arg1 and arg2 are the identity of the one they keep."""
    pairs = list(zip(leaf.operands, leaf.projections.operands, strict=True))
    if leaf.operation in ("arg1", "arg2"):
        return "identity", [pairs[leaf.operation == "arg2"]]
    return leaf.operation, pairs


def _whole(node: Node, index: Index) -> tuple[Node, Index]:
    """A node and an index into it, or, of a view, its parent with the symbol in front."""
    if node.slice_of is None:
        return node, index
    parent, symbol = node.slice_of
    return parent, (at(symbol), *index)


def accesses(step: Step) -> Iterator[tuple[Operand, Index]]:
    """The operands of a step with their indices, in order; none of a Fetch."""
    if isinstance(step, Accumulate):
        yield from zip(step.operands, step.projections.operands, strict=True)


def reads(step: Step) -> Iterator[tuple[Node, Index]]:
    """The nodes a step's operands read, with the indices, merge buffers left out."""
    for operand, index in accesses(step):
        if isinstance(operand, Read):
            yield operand.node, index
