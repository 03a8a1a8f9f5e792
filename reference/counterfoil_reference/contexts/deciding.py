"""Decisions recorded for a child value (context:196 to context:204)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterfoil_reference.contexts.units import Unit, adopt, check_released
from counterfoil_reference.programs import Decisions
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.refusals import refuse, shown

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context

READINGS: Final = ("materialized", "inline", "footprint")
"""The readings of a node, in the order in which a whole vector is applied."""

_CONSTRAINED: Final = (Intent.VIRTUAL, Intent.LOCAL, Intent.CONSTANT)


def decided(context: Context, reading: str, nodes: Iterable[Node], operation: str) -> Context:
    """A child value with the reading recorded for the nodes; refuses arguments/wrong-type, released."""
    if not isinstance(reading, str) or reading not in READINGS:
        expected = "materialized, inline or footprint"
        raise refuse("arguments/wrong-type", argument="reading", expected=expected, value=shown(reading))
    check_released(context, operation)
    record = {"materialized": materialized, "inline": inline, "footprint": footprint}[reading]
    unit = Unit(context.ledger, context.unit, ())
    unit.begin(context.buffers, context.lineage)
    decisions = record(context.decisions, frozenset(nodes))
    return replace(context, name=f"{context.name}/decide", unit=unit, count=0, decisions=decisions)


def decided_all(
    context: Context, readings: Iterable[tuple[str, tuple[Node, ...]]], skip_empty: bool
) -> Context:
    """One decision per reading, in order; an empty one is skipped, or derives a child all the same (context:204).

    The last child adopts those in between, which nobody else could release (context:186).
    """
    check_released(context, "decide_readings")
    minted: list[Context] = []
    for reading, nodes in readings:
        if nodes or not skip_empty:
            context = decided(context, reading, nodes, "decide_readings")
            minted.append(context)
    for between in minted[:-1]:
        adopt(context.unit, between.unit)
    return context


def materialized(decisions: Decisions, nodes: frozenset[Node]) -> Decisions:
    """On_device for those not decided and not declared Virtual, Local or constant; the rest is skipped."""
    free = {node for node in nodes if node not in decisions.placements and node.intent not in _CONSTRAINED}
    return replace(decisions, materialized=decisions.materialized | free)


def inline(decisions: Decisions, nodes: frozenset[Node]) -> Decisions:
    """Preferred inline; a preference for the footprint form is withdrawn."""
    return replace(decisions, inline=decisions.inline | nodes, footprint=decisions.footprint - nodes)


def footprint(decisions: Decisions, nodes: frozenset[Node]) -> Decisions:
    """Preferred in the footprint form; a preference for inlining is withdrawn."""
    return replace(decisions, footprint=decisions.footprint | nodes, inline=decisions.inline - nodes)
