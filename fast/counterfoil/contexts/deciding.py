"""Decisions recorded for a child value (context:196-204)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.compile import Decisions
from counterfoil.contexts.units import Unit, adopt, check_released
from counterfoil.contexts.values import derived
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.refusals import refuse, shown

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context

READINGS = ("materialized", "inline", "footprint")
"""The readings of a node, in the order in which a whole vector is applied."""

_CONSTRAINED = (Intent.VIRTUAL, Intent.LOCAL, Intent.CONSTANT)


def decided(value: Context, reading: str, nodes: Iterable[Node], operation: str) -> Context:
    """A child value with the reading recorded for the nodes; refuses arguments/wrong-type, release/dead-*."""
    if not isinstance(reading, str) or reading not in READINGS:
        expected = "materialized, inline or footprint"
        raise refuse("arguments/wrong-type", argument="reading", expected=expected, value=shown(reading))
    with value._root.entered():
        check_released(value, operation)
        decisions = _recorded(value.decisions, reading, frozenset(nodes))
        unit = Unit(value._unit, ())
        child = derived(value, unit, name=f"{value.name}/decide", count=0, decisions=decisions)
        unit.begin(child)
    return child


def decided_all(value: Context, readings: Iterable[tuple[str, Sequence[Node]]], skip_empty: bool) -> Context:
    """One decision per reading, in order; an empty one is skipped, or derives a child all the same (context:204).

    The last child adopts those in between, which nobody else could release (context:186).
    """
    check_released(value, "decide_readings")
    children: list[Context] = []
    for reading, nodes in readings:
        if nodes or not skip_empty:
            value = decided(value, reading, nodes, "decide_readings")
            children.append(value)
    with value._root.entered():
        for between in children[:-1]:
            adopt(value._unit, between._unit)
    return value


def _recorded(decisions: Decisions, reading: str, nodes: frozenset[Node]) -> Decisions:
    """On_device for those neither decided nor constrained; inline and footprint each withdraw the other."""
    if reading == "inline":
        return replace(decisions, inline=decisions.inline | nodes, footprint=decisions.footprint - nodes)
    if reading == "footprint":
        return replace(decisions, footprint=decisions.footprint | nodes, inline=decisions.inline - nodes)
    free = {node for node in nodes if node not in decisions.placements and node.intent not in _CONSTRAINED}
    return replace(decisions, materialized=decisions.materialized | free)
