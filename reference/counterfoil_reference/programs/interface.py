"""What a routine reads, writes and mentions: its arguments, its merge node, its symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from counterfoil_reference.programs.definitions import Stored, merge_nodes, reached, setters
from counterfoil_reference.programs.placement import unwritten_reads
from counterfoil_reference.programs.views import Step, accesses, reads
from counterfoil_spec.programs import assignments
from counterfoil_spec.programs.assignments import Code, Merge
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.symbols import Symbol

Placements = Mapping[Node, Placement]


def on_device(nodes: Iterable[Node], placements: Placements) -> tuple[Node, ...]:
    """Those of the nodes that have a buffer, by uid."""
    return by_uid(node for node in nodes if node in placements and placements[node].mode is Mode.ON_DEVICE)


def unwritten(executed: Sequence[Step], stored: Stored, placements: Placements) -> tuple[Node, ...]:
    """The On_device nodes read before they are definitely written, through definitions too."""
    return on_device((node for found in unwritten_reads(executed, stored) for node in found), placements)


def merge_of(executed: Sequence[Step], stored: Stored) -> Node | None:
    """The node whose merge buffer is read, itself or in a definition that is replayed."""
    for step in executed:
        for operand, _ in accesses(step):
            if isinstance(operand, Merge):
                return operand.node
        for node, _ in reads(step):
            for merged in merge_nodes(node, stored):
                return merged
    return None


def symbols_of(code: Code, executed: Sequence[Step], stored: Stored) -> tuple[Symbol, ...]:
    """The symbols of the code and of the definitions it replays, by number."""
    found = set(assignments.symbols(code))
    for step in executed:
        for node, _ in reads(step):
            for each in reached(node, stored):
                for setter in setters(each, stored):
                    assert isinstance(setter, assignments.Accumulate | assignments.Fetch)
                    found.update(assignments.symbols(setter))
    return tuple(sorted(found, key=lambda symbol: symbol.number))
