"""What a plan means: its steps carried out one after the other, virtual nodes evaluated where they are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from counterfoil_reference.programs.bounds import Product, Term, operated
from counterfoil_reference.programs.cells import Cells
from counterfoil_reference.programs.converting import convert, number
from counterfoil_reference.programs.definitions import Stored, reached
from counterfoil_reference.programs.injective import Product as Loops
from counterfoil_reference.programs.injective import plain_iterator
from counterfoil_reference.programs.memory import Environment, Memory, indexed, indices, is_inside, position
from counterfoil_reference.programs.spans import Value
from counterfoil_reference.programs.views import Patch, RowAccumulate, Step, accesses
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.assignments import Accumulate, Constant, Definition, Embed, Fetch, Fill, Operand, Read
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import BINARY, NEUTRAL
from counterfoil_spec.programs.projections import Index, Projections
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol

Bindings = Mapping[Symbol, int]


class Interpreter:
    """The state of a run: memory, the stored definitions, the bindings."""

    def __init__(self, memory: Memory, stored: Stored, bindings: Bindings) -> None:
        self._memory = memory
        self._stored = stored
        self._bindings = bindings
        self._changing: Node | None = None  # the target of the step under way
        self._steady: dict[Node, bool] = {}
        self._known: dict[tuple[Node, tuple[int, ...]], Value] = {}

    def carry_out(self, step: Step) -> None:
        """One step, all of it."""
        self._changing, self._steady, self._known = step.target, {}, {}
        cells = self._memory.cells(step.target)
        if isinstance(step, Accumulate):
            self._accumulate(step, cells)
        else:
            self._define(step, step.definition, cells)

    def _define(self, step: Step, definition: Definition, cells: Cells) -> None:
        """Every element of the step's target, or of the one row that it is about."""
        row = [self._bindings[step.symbol]] if isinstance(step, Patch | RowAccumulate) else []
        for place, index in enumerate(indices(step.target.shape[len(row) :])):
            cells.write(position(step.target, [*row, *index]), self._fetched(definition, step.target.dtype, place))

    def _accumulate(self, step: Accumulate, cells: Cells) -> None:
        if step.initialize:
            self._define(step, Constant(NEUTRAL[step.accumulator]), cells)
        plain = as_accumulation(step)
        for environment in points(plain.projections.product, self._bindings):
            found = self._term(plain, environment, None)
            where = position(plain.target, indexed(plain.projections.target, environment))
            accumulate(cells, where, plain.accumulator, found)
        cells.settle()

    def _fetched(self, definition: Definition, dtype: Dtype, place: int) -> Value:
        """A fetch's element, by its position in C order."""
        match definition:
            case Constant():
                return number(definition.value, dtype)
            case Fill():
                return number(definition.values[place], dtype)
            case Embed():
                return number(self._bindings[definition.symbol], dtype)
        return number(place, dtype)

    def _term(self, step: Accumulate, environment: Environment, own: Cells | None) -> Term:
        """The operation's result at a point, a product of floats not rounded yet.

        ``own`` is the target's element where the step is replayed for one.
        """
        dtype = step.target.dtype
        arguments = tuple(
            own.read(0)
            if own is not None and isinstance(operand, Read) and operand.node is step.target
            else convert(self._element(operand, index, environment), operand.node.dtype, dtype)
            for operand, index in accesses(step)
        )
        return term(dtype, step.operation, arguments)

    def _element(self, operand: Operand, index: Index, environment: Environment) -> Value:
        node, where = operand.node, indexed(index, environment)
        if not isinstance(operand, Read):
            return self._memory.merge(node).read(position(node, where))
        if node not in self._stored:
            return self._memory.cells(node).read(position(node, where))
        if not self._is_steady(node):
            return self._replayed(node, where)
        if (node, where) not in self._known:
            self._known[node, where] = self._replayed(node, where)
        return self._known[node, where]

    def _is_steady(self, node: Node) -> bool:
        """Whether a Virtual node's value is the same throughout the step under way."""
        if node not in self._steady:
            self._steady[node] = self._changing not in reached(node, self._stored)
        return self._steady[node]

    def _replayed(self, node: Node, index: tuple[int, ...]) -> Value:
        """The element of a Virtual node: its setters carried out for it alone, over what they read as it is now."""
        if not is_inside(node, index):
            return number(node.margin, node.dtype)
        own = Cells(node.dtype, [number(0, node.dtype)])
        for setter in self._stored[node]:
            if isinstance(setter, Fetch):
                own.write(0, self._fetched(setter.definition, node.dtype, offset(node, index)))
            else:
                self._reaccumulate(setter, index, own)
        return own.read(0)

    def _reaccumulate(self, setter: Accumulate, index: tuple[int, ...], own: Cells) -> None:
        if setter.initialize:
            own.write(0, number(NEUTRAL[setter.accumulator], own.dtype))
        pinned = {
            iterator: entry
            for axis, entry in zip(setter.projections.target, index, strict=True)
            if (iterator := plain_iterator(axis)) is not None
        }
        further = tuple(loop for loop in setter.projections.product if loop[0] not in pinned)
        plain = as_accumulation(setter)
        for environment in points(further, self._bindings, pinned):
            accumulate(own, 0, plain.accumulator, self._term(plain, environment, own))
        own.settle()


def as_accumulation(step: Accumulate) -> Accumulate:
    """``x = x op y`` as the accumulation ``x op= y`` that it is; any other step as it stands."""
    if step.accumulator != "arg2" or step.operation not in BINARY:
        return step
    projections, (first, *rest) = step.projections, step.operands
    if first != Read(step.target) or projections.operands[0] != projections.target:
        return step
    product = Projections(projections.product, projections.target, projections.operands[1:])
    return Accumulate(step.target, step.operation, "identity", tuple(rest), product, step.initialize)


def points(
    loops: Loops, bindings: Bindings, pinned: Mapping[LoopIterator, int] = MappingProxyType({})
) -> Iterator[Environment]:
    """The values of the loops' iterators at each point, the first loop the slowest, with those given."""
    environment: dict[LoopIterator | Symbol, int] = dict(itertools.chain(bindings.items(), pinned.items()))
    iterators = [iterator for iterator, _ in loops]
    extents = [extent if isinstance(extent, int) else environment[extent] for _, extent in loops]
    for point in itertools.product(*map(range, extents)):
        environment.update(zip(iterators, point, strict=True))
        yield environment


def offset(node: Node, index: tuple[int, ...]) -> int:
    """The position of an element in C order of the unpadded shape."""
    found = 0
    for entry, extent in zip(index, node.shape, strict=True):
        found = found * extent + entry
    return found


def term(dtype: Dtype, operation: str, arguments: tuple[Value, ...]) -> Term:
    """An operation's result; of a product of floats, its factors."""
    if operation == "mul" and dtype.float_format is not None:
        return Product(*arguments)
    return operated(dtype, operation, arguments)


def accumulate(cells: Cells, where: int, accumulator: str, value: Term) -> None:
    """An element becomes itself accumulated with the term; arg1 keeps it, arg2 replaces it."""
    if accumulator == "arg2":
        cells.store(where, value)
    elif accumulator != "arg1":
        cells.accumulate(where, accumulator, value)
