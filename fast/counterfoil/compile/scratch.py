"""Where scratch nodes lie in a routine's scratch memory: nodes that are not needed at once may lie at one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from counterfoil_spec.programs.nodes import Node

ALIGNMENT: Final = 64

Span = tuple[int, int]
"""The first and the last function that touches a node."""


def arranged(spans: Mapping[Node, Span]) -> tuple[dict[Node, int], int]:
    """The offset of each node in bytes, and the bytes of all: first fit, the largest nodes first."""
    offsets: dict[Node, int] = {}
    total = 0
    for node in sorted(spans, key=lambda each: -each.nbytes):
        taken = sorted(
            (offsets[other], offsets[other] + _room(other)) for other in offsets if _meet(spans[node], spans[other])
        )
        offsets[node] = _first_gap(taken, _room(node))
        total = max(total, offsets[node] + _room(node))
    return offsets, total


def _first_gap(taken: Sequence[tuple[int, int]], room: int) -> int:
    place = 0
    for first, end in taken:
        if place + room <= first:
            return place
        place = max(place, end)
    return place


def _meet(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _room(node: Node) -> int:
    return -(-max(1, node.nbytes) // ALIGNMENT) * ALIGNMENT
