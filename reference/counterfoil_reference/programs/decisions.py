"""What a lineage has decided about nodes, and what a routine's plan says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from counterfoil_reference.programs.views import Step
from counterfoil_spec.programs.assignments import Assignment
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Placement
from counterfoil_spec.programs.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Decisions:
    """A lineage's optimisation state, immutable.

    ``placements``: final decisions. ``stored``: the setters of each node placed Virtual, in order. ``materialized``,
    ``inline``, ``footprint``: what the decide operations recorded, looked at when a routine first writes the node.
    """

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

    ``decisions``: the child's. ``read_only``, ``read_before_write`` (the reads), ``writes``, ``arguments`` (all of
    them): On_device nodes by uid. ``merge``: the node whose merge buffer is read. ``symbols``: those of the code and of
    what it replays, by number. ``lowered``: what the transform is given. ``steps``: what is executed, as assignments;
    None where the code was given lowered.
    """

    decisions: Decisions
    read_only: tuple[Node, ...]
    read_before_write: tuple[Node, ...]
    writes: tuple[Node, ...]
    arguments: tuple[Node, ...]
    merge: Node | None
    symbols: tuple[Symbol, ...]
    lowered: Lowered
    steps: tuple[Step, ...] | None
