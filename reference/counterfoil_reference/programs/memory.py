"""The buffers of a routine under way: bound ones as the store has them, scratch for every other node."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

from counterfoil_reference.programs.cells import Cells
from counterfoil_reference.programs.converting import number
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Index
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol


class Store(Protocol):
    """The buffers a routine binds. Elements are Python numbers in C order of ``node.dims`` (margins included)."""

    def read(self, node: Node) -> Sequence[float]:
        """The elements of an argument's buffer, as they are; KeyError for a node that is no argument: scratch."""

    def write(self, node: Node, values: list[float]) -> None:
        """Replace the elements of an argument's buffer; every value is one of the node's dtype."""

    def merge(self) -> Sequence[float]:
        """The elements of the merge buffer, laid out as its node."""

    def array(self, node: Node) -> Any:
        """The reference's Array over an argument's buffer in C order of ``node.dims``: the ``dst`` of records (N5)."""


Environment = Mapping[LoopIterator | Symbol, int]


class Memory:
    """What a routine's code reads and writes, by node. Nothing reaches the store before the routine is through."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cells: dict[Node, Cells] = {}
        self._bound: set[Node] = set()
        self._merge: Cells | None = None

    def cells(self, node: Node) -> Cells:
        """The elements of a node in C order of its ``dims``."""
        found = self._cells.get(node)
        if found is None:
            found = self._cells[node] = Cells(node.dtype, self._initial(node))
        return found

    def merge(self, node: Node) -> Cells:
        """The elements of the merge buffer, laid out as the node."""
        if self._merge is None:
            self._merge = Cells(node.dtype, self._store.merge())
        return self._merge

    def is_bound(self, node: Node) -> bool:
        """Whether the node has a buffer in the store."""
        self.cells(node)
        return node in self._bound

    def settle(self) -> None:
        """End all accumulations under way."""
        for cells in self._cells.values():
            cells.settle()

    def _initial(self, node: Node) -> Sequence[float]:
        try:
            found = self._store.read(node)
        except KeyError:
            return scratch(node)
        self._bound.add(node)
        return found


def scratch(node: Node) -> list[float]:
    """Elements of a node without a buffer: zeros, its margin value in the margins."""
    values = [number(node.margin, node.dtype)] * math.prod(node.dims)
    for index in indices(node.shape):
        values[position(node, index)] = number(0, node.dtype)
    return values


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices of a shape in C order."""
    return product(*map(range, shape))


def position(node: Node, index: Sequence[int]) -> int:
    """Where an element lies in C order of the node's ``dims``; an index below 0 or past the extent is in a margin."""
    found = 0
    for entry, extent, (left, right) in zip(index, node.shape, node.padding, strict=True):
        assert -left <= entry < extent + right, f"{node}: index {tuple(index)} leaves {node.shape}"
        found = found * (left + extent + right) + left + entry
    return found


def is_inside(node: Node, index: Sequence[int]) -> bool:
    """Whether an index is not in the margins."""
    return all(0 <= entry < extent for entry, extent in zip(index, node.shape, strict=True))


def evaluated(entry: Affine, environment: Environment) -> int:
    """The value of an affine index."""
    return entry.offset + sum(factor * environment[variable] for factor, variable in entry.terms)


def indexed(index: Index, environment: Environment) -> tuple[int, ...]:
    """The values of an index."""
    return tuple([evaluated(entry, environment) for entry in index])
