"""What a lineage has decided about nodes, and what a routine's plan says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from counterfoil_spec.programs.assignments import Assignment
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Placement
from counterfoil_spec.programs.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Decisions:
    """A lineage's optimisation state, immutable: its final placements, the setters of each Virtual node, and what the
    ``decide_*`` calls recorded."""

    placements: Mapping[Node, Placement] = field(default_factory=lambda: MappingProxyType({}))
    stored: Mapping[Node, tuple[Assignment, ...]] = field(default_factory=lambda: MappingProxyType({}))
    materialized: frozenset[Node] = frozenset()
    inline: frozenset[Node] = frozenset()
    footprint: frozenset[Node] = frozenset()


NOTHING_DECIDED: Final = Decisions()
"""A root's state."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A routine after placement, before its transform.

    ``decisions``: the child's. ``read_only`` and ``read_before_write`` (together the reads), ``writes``, ``arguments``
    (all of them): On_device nodes by uid. ``merge``: the node whose merge buffer is read. ``symbols``: those of the
    code and of what it replays, by number: the order of the bindings. ``lowered``: what the transform is given.
    """

    decisions: Decisions
    read_only: tuple[Node, ...]
    read_before_write: tuple[Node, ...]
    writes: tuple[Node, ...]
    arguments: tuple[Node, ...]
    merge: Node | None
    symbols: tuple[Symbol, ...]
    lowered: Lowered
