"""Stored definitions: the setters of Virtual nodes, what they read, and which of them a lineage keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from counterfoil_reference.programs.coverage import overwrites
from counterfoil_reference.programs.views import Step, accesses, reads
from counterfoil_spec.programs.assignments import Assignment, Merge
from counterfoil_spec.programs.nodes import Node

Stored = Mapping[Node, tuple[Assignment, ...]]
"""The setters of each node placed Virtual, the last definite one first."""


def setters(node: Node, stored: Stored) -> tuple[Step, ...]:
    """A node's stored setters; none where it has no definition."""
    return stored.get(node, ())


def reached(node: Node, stored: Stored) -> list[Node]:
    """The node, and what its stored definition reads, and what theirs do, each once; what it reads of itself is not."""
    return reached_from((node,), stored)


def reached_from(nodes: Iterable[Node], stored: Stored) -> list[Node]:
    """The nodes, and all that is reached from them, each once, the nearer first."""
    known = dict.fromkeys(nodes)
    found = list(known)
    for each in found:  # grows while it is gone through
        further = [operand for setter in setters(each, stored) for operand, _ in reads(setter)]
        found.extend(operand for operand in dict.fromkeys(further) if operand not in known)
        known.update(dict.fromkeys(further))
    return found


def leaves(node: Node, stored: Stored) -> list[Node]:
    """The nodes without a definition that a read of the node reads, in the order they are met."""
    return [each for each in reached(node, stored) if each not in stored]


def reads_merge(node: Node, stored: Stored) -> bool:
    """Whether the node's own stored setters read a merge buffer."""
    return any(isinstance(operand, Merge) for setter in setters(node, stored) for operand, _ in accesses(setter))


def merge_nodes(node: Node, stored: Stored) -> Iterator[Node]:
    """The nodes whose merge buffers a read of the node reads."""
    for each in reached(node, stored):
        for setter in setters(each, stored):
            yield from (operand.node for operand, _ in accesses(setter) if isinstance(operand, Merge))


def kept(writes: Sequence[Assignment]) -> tuple[Assignment, ...]:
    """The setters a definition keeps: from the last that drops those before it."""
    first = max((place for place, write in enumerate(writes) if overwrites(write)), default=0)
    return tuple(writes[first:])


def fan_in(node: Node, writes: Sequence[Step], stored: Stored) -> int:
    """How many nodes without a definition the setters read, through those with one; the node itself is not counted."""
    operands = {operand for write in writes for operand, _ in reads(write)}
    return len({leaf for operand in operands for leaf in leaves(operand, stored)} - {node})
