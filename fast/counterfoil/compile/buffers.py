"""Where nodes lie in emitted code: arguments by their position, scratch by first appearance; offsets of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from counterfoil.compile.literals import CTYPES
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Index, affine
from counterfoil_spec.programs.symbols import Iterator, Symbol


@dataclass
class Buffers:
    """``arguments`` in the order of the routine's; a node that is none of them is scratch of the routine, at an
    offset known once the whole routine is written."""

    arguments: Sequence[Node]
    scratch: dict[Node, str] = field(default_factory=dict)
    offsets: Mapping[Node, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = {node: f"a{position}" for position, node in enumerate(self.arguments)}

    def name(self, node: Node) -> str:
        """What the node is called."""
        known = self._names.get(node)
        if known is None:
            known = self._names[node] = self.scratch[node] = f"s{len(self.scratch)}"
        return known

    def pointer(self, node: Node) -> str:
        """The expression that gives the node's buffer from a frame."""
        name = self.name(node)
        if node in self.scratch:
            return f"({self.ctype(node)} *)(f->scratch + {self.offsets[node]})"
        return f"f->arguments[{name[1:]}]"

    def ctype(self, node: Node) -> str:
        """The C type of its elements."""
        return CTYPES[node.dtype]


@lru_cache(maxsize=4096)
def offset(node: Node, index: Index) -> Affine:
    """The position of an element in its buffer, margins counted, in C order of the padded dims."""
    terms: list[tuple[int, Iterator | Symbol]] = []
    constant = 0
    for stride, entry, (left, _) in zip(strides(node), index, node.padding, strict=True):
        terms.extend((factor * stride, variable) for factor, variable in entry.terms)
        constant += (entry.offset + left) * stride
    return affine(terms, constant)


def strides(node: Node) -> tuple[int, ...]:
    """Elements from one index to the next, per axis of the padded dims."""
    found, stride = [], 1
    for extent in reversed(node.dims):
        found.append(stride)
        stride *= extent
    return tuple(reversed(found))
