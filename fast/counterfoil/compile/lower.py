"""From placed assignments to the loop IR: nests over buffers, definitions of Virtual nodes replayed as scopes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from counterfoil.compile.injective import Product, plain_iterator
from counterfoil.compile.views import Step
from counterfoil_spec.programs.assignments import Accumulate, Constant, Embed, Fetch, Fill, Merge, Offsets
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
    Store,
    Zero,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import NEUTRAL
from counterfoil_spec.programs.projections import Affine, Extent, Index, affine, at, fixed
from counterfoil_spec.programs.symbols import Iterator, Symbol

Bindings = Mapping[Iterator, Affine]
"""What the iterators of a definition are, where it is replayed."""


def nest(loops: Sequence[tuple[Iterator, Extent]], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The body under the loops, outermost first."""
    for iterator, extent in reversed(loops):
        body = (Loop(iterator, extent, body),)
    return body


class Lowerer:
    """Lowers one routine's steps in order. ``definitions``: the Virtual nodes' setters as they are by now. ``loaded``:
    the nodes the step lowered last reads; ``merged`` and ``replayed``: merge buffers and setters met so far."""

    def __init__(self, definitions: dict[Node, tuple[Step, ...]]) -> None:
        self.definitions = definitions
        self.loaded: dict[Node, None] = {}
        self.merged: dict[Node, None] = {}
        self.replayed: dict[Step, None] = {}

    def define(self, step: Step) -> None:
        """A step to a Virtual node: kept, not carried out. One that overwrites drops what was before it."""
        before = () if step.overwrites else self.definitions.get(step.target, ())
        self.definitions[step.target] = (*before, step)

    def lower(self, step: Step) -> tuple[Statement, ...]:
        """The statements that carry the step out."""
        it = step.assignment
        self.loaded = {}
        if isinstance(it, Fetch):
            return self._fetch(step, it)
        product = tuple(it.projections.product)
        operation = self._operation(it, {})
        index = it.projections.target
        if it.accumulator == "arg2":
            value = operation
        else:
            value = Apply(it.accumulator, (Load(it.target, index), operation))
        start = self._start(step, it) if it.initialize else ()
        return start + nest(product, (Store(it.target, index, value),))

    def _start(self, step: Step, it: Accumulate) -> tuple[Statement, ...]:
        neutral = NEUTRAL[it.accumulator]
        if neutral == 0 and step.row is None:
            return (Zero(it.target),)
        loops, index = _whole(it.target, step.row)
        return nest(loops, (Store(it.target, index, Number(neutral)),))

    def _fetch(self, step: Step, it: Fetch) -> tuple[Statement, ...]:
        if isinstance(it.definition, Constant) and _is_plain_zero(it.definition.value) and step.row is None:
            return (Zero(step.target),)
        loops, index = _whole(step.target, step.row)
        if isinstance(it.definition, Fill):
            return _unrolled(step.target, step.row, it.definition.values)
        own = index if step.row is None else index[1:]
        shape = step.target.shape if step.row is None else step.target.shape[1:]
        return nest(loops, (Store(step.target, index, _fetched(it, own, shape)),))

    def _operation(self, it: Accumulate, bindings: Bindings, own: Local | None = None) -> Scalar:
        """The operation over its operands; ``own`` stands for the target where it is replayed."""
        arguments: list[Scalar] = []
        for operand, index in zip(it.operands, it.projections.operands, strict=True):
            if bindings:
                index = substituted(index, bindings)
            if isinstance(operand, Merge):
                self.merged[operand.node] = None
                arguments.append(LoadMerge(operand.node, index))
            elif own is not None and operand.node is it.target:
                arguments.append(LocalValue(own))
            else:
                arguments.append(self._load(operand.node, index))
        return arguments[0] if it.operation == "identity" else Apply(it.operation, tuple(arguments))

    def _load(self, node: Node, index: Index) -> Scalar:
        setters = self.definitions.get(node)
        if setters is not None:
            return self._replay(node, index, setters)
        self.loaded[node] = None
        return Load(node, index)

    def _replay(self, node: Node, index: Index, setters: Sequence[Step]) -> Scalar:
        """A Virtual node's element: its setters over the leaves as they are now, its margin outside its shape."""
        local = Local(node.label, node.dtype)
        body = tuple(statement for step in setters for statement in self._set(local, step, index))
        if node.is_padded:
            for entry, extent in reversed(list(zip(index, node.shape, strict=True))):
                body = (If(fixed(-1), entry, (If(entry, fixed(extent), body),)),)
            body = (SetLocal(local, Number(node.margin)), *body)
        return Scope(local, body)

    def _set(self, local: Local, step: Step, index: Index) -> tuple[Statement, ...]:
        it = step.assignment
        self.replayed[step] = None
        if isinstance(it, Fetch):
            if isinstance(it.definition, Fill):
                return _chosen(local, index, it.target.shape, it.definition.values)
            return (SetLocal(local, _fetched(it, index, it.target.shape)),)
        bindings: dict[Iterator, Affine] = {}
        for entry, actual in zip(it.projections.target, index, strict=True):
            iterator = plain_iterator(entry)
            if iterator is not None:
                bindings[iterator] = actual
        loops: list[tuple[Iterator, Extent]] = []
        for iterator, extent in it.projections.product:
            if iterator not in bindings:
                fresh = Iterator(iterator.label)
                bindings[iterator] = at(fresh)
                loops.append((fresh, extent))
        operation = self._operation(it, bindings, local)
        start: tuple[Statement, ...] = (SetLocal(local, Number(NEUTRAL[it.accumulator])),) if it.initialize else ()
        if it.accumulator != "arg2":
            operation = Apply(it.accumulator, (LocalValue(local), operation))
        return start + nest(loops, (SetLocal(local, operation),))


def _is_plain_zero(value: float) -> bool:
    """Whether it is 0 and not -0."""
    return value == 0 and math.copysign(1.0, value) > 0


def substituted(index: Index, bindings: Bindings) -> Index:
    """The index with iterators replaced by what they are bound to."""
    return tuple(_substituted(entry, bindings) for entry in index)


def _substituted(entry: Affine, bindings: Bindings) -> Affine:
    iterator = plain_iterator(entry)
    if iterator is not None:
        return bindings[iterator]
    terms: list[tuple[int, Iterator | Symbol]] = []
    offset = entry.offset
    for factor, variable in entry.terms:
        if isinstance(variable, Iterator):
            bound = bindings[variable]
            terms.extend((factor * inner, each) for inner, each in bound.terms)
            offset += factor * bound.offset
        else:
            terms.append((factor, variable))
    return affine(terms, offset)


def _whole(node: Node, row: Symbol | None) -> tuple[Product, Index]:
    """Loops over every element of the node, or of one row, and the index they give."""
    shape = node.shape if row is None else node.shape[1:]
    loops = tuple((Iterator(f"i{axis}"), extent) for axis, extent in enumerate(shape))
    index = tuple(at(iterator) for iterator, _ in loops)
    return loops, index if row is None else (at(row), *index)


def _fetched(it: Fetch, index: Index, shape: Sequence[int]) -> Scalar:
    match it.definition:
        case Constant(value):
            return Number(value)
        case Embed(symbol):
            return Position(at(symbol))
        case Offsets():
            return Position(_linear(index, shape))
    raise AssertionError(f"{type(it.definition).__name__} is lowered elsewhere")


def _linear(index: Index, shape: Sequence[int]) -> Affine:
    """The position in C order of an index."""
    terms: list[tuple[int, Iterator | Symbol]] = []
    offset, stride = 0, 1
    for entry, extent in zip(reversed(index), reversed(shape), strict=True):
        terms.extend((factor * stride, variable) for factor, variable in entry.terms)
        offset += entry.offset * stride
        stride *= extent
    return affine(terms, offset)


def _unrolled(node: Node, row: Symbol | None, values: Sequence[float]) -> tuple[Statement, ...]:
    shape = node.shape if row is None else node.shape[1:]
    stores = []
    for position, value in enumerate(values):
        entries: list[Affine] = []
        for extent in reversed(shape):
            entries.append(fixed(position % extent))
            position //= extent
        index = tuple(reversed(entries))
        stores.append(Store(node, index if row is None else (at(row), *index), Number(value)))
    return tuple(stores)


def _chosen(local: Local, index: Index, shape: Sequence[int], values: Sequence[float]) -> tuple[Statement, ...]:
    """The value at the index: known, or found by comparing positions; nothing where there is none."""
    position = _linear(index, shape)
    if not values:
        return ()
    if not position.terms:
        inside = 0 <= position.offset < len(values)
        return (SetLocal(local, Number(values[position.offset])),) if inside else ()
    found: list[Statement] = [SetLocal(local, Number(values[0]))]
    for place, value in enumerate(values[1:], start=1):
        found.append(If(fixed(place - 1), position, (SetLocal(local, Number(value)),)))
    return tuple(found)
