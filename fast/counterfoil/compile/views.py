"""Assignments as the compiler looks at them: slice views replaced by their parents, discarded operands dropped.

A write to a slice view writes that row of the parent alone: it never makes the parent written, and one that initializes
reads nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterfoil.compile.injective import Product, is_onto
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Code, Fetch, Merge, Operand, Read, Row, leaves
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Index, Projections, at
from counterfoil_spec.programs.symbols import Iterator, Symbol


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One assignment with what placement asks of it. ``row``: it writes that row of its target alone."""

    assignment: Assignment
    row: Symbol | None
    reads: tuple[tuple[Node, Index], ...]
    merges: tuple[tuple[Node, Index], ...]
    is_onto: bool
    is_symbolic: bool

    @property
    def target(self) -> Node:
        """The node it writes; of a fetch into a view, the parent."""
        target = self.assignment.target
        return target if target.slice_of is None else target.slice_of[0]

    @property
    def product(self) -> Product:
        """Its loops, outermost first; none for a fetch."""
        return self.assignment.projections.product if isinstance(self.assignment, Accumulate) else ()

    @property
    def index(self) -> Index | None:
        """Where it writes; None for a fetch."""
        return self.assignment.projections.target if isinstance(self.assignment, Accumulate) else None

    @property
    def reads_target(self) -> bool:
        """Whether it looks at what its target was before."""
        it = self.assignment
        if isinstance(it, Fetch) or self.initializes:
            return False
        if it.accumulator != "arg2" and not it.initialize:
            return True
        return any(node is it.target for node, _ in self.reads)

    @property
    def initializes(self) -> bool:
        """Whether the whole target starts from a neutral value, so that whatever is read of it is read after that."""
        it = self.assignment
        return isinstance(it, Accumulate) and it.initialize and self.row is None

    @property
    def is_definite(self) -> bool:
        """Whether every element of the target is written after it, whatever the bindings."""
        it = self.assignment
        if self.row is not None:
            return False
        if isinstance(it, Fetch) or it.initialize:
            return True
        if it.accumulator != "arg2" or not self.is_onto or self.is_symbolic:
            return False
        return self.target.size == 0 or all(extent for _, extent in self.product)

    @property
    def overwrites(self) -> bool:
        """Whether nothing of the target's former value is left or looked at."""
        return self.is_definite and not self.reads_target


def steps_of(code: Code) -> tuple[Step, ...]:
    """The code's assignments in program order."""
    return tuple(step_of(leaf) for leaf in leaves(code))


def step_of(assignment: Assignment) -> Step:
    """The step of one assignment; a stored assignment writes no view."""
    row = None if assignment.target.slice_of is None else assignment.target.slice_of[1]
    if isinstance(assignment, Fetch) and isinstance(assignment.definition, Row):
        assignment = _row_copy(assignment.target, assignment.definition)
    if isinstance(assignment, Fetch):
        return Step(assignment, row, (), (), row is None, False)
    assignment = _replaced(assignment)
    projections = assignment.projections
    pairs = list(zip(assignment.operands, projections.operands, strict=True))
    return Step(
        assignment, row,
        tuple((operand.node, index) for operand, index in pairs if isinstance(operand, Read)),
        tuple((operand.node, index) for operand, index in pairs if isinstance(operand, Merge)),
        row is None and is_onto(assignment.target, projections.target, projections.product),
        any(isinstance(extent, Symbol) for _, extent in projections.product),
    )  # fmt: skip


def _row_copy(target: Node, definition: Row) -> Accumulate:
    """A fetched row as the pointwise copy it is."""
    loops = tuple((Iterator(f"r{axis}"), extent) for axis, extent in enumerate(target.shape))
    index = tuple(at(iterator) for iterator, _ in loops)
    projections = Projections(loops, index, ((at(definition.symbol), *index),))
    return Accumulate(target, "arg2", "identity", (Read(definition.parent),), projections)


def _replaced(it: Accumulate) -> Accumulate:
    """Without views, and without the operand that arg1 or arg2 does not keep."""
    operands, indices, operation = it.operands, it.projections.operands, it.operation
    if operation in ("arg1", "arg2"):
        kept = slice(0, 1) if operation == "arg1" else slice(1, 2)
        operands, indices, operation = operands[kept], indices[kept], "identity"
    elif it.target.slice_of is None and all(operand.node.slice_of is None for operand in operands):
        return it
    pairs = [_parent_operand(operand, index) for operand, index in zip(operands, indices, strict=True)]
    target, index = _parent(it.target, it.projections.target)
    projections = Projections(it.projections.product, index, tuple(index for _, index in pairs))
    return Accumulate(
        target, it.accumulator, operation, tuple(operand for operand, _ in pairs), projections, it.initialize
    )


def _parent_operand(operand: Operand, index: Index) -> tuple[Operand, Index]:
    node, index = _parent(operand.node, index)
    return (operand if node is operand.node else type(operand)(node)), index


def _parent(node: Node, index: Index) -> tuple[Node, Index]:
    if node.slice_of is None:
        return node, index
    parent, symbol = node.slice_of
    return parent, (at(symbol), *index)
