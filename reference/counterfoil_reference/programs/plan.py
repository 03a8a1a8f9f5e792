"""From code to a plan: the checks of step 7, the placements of step 8, and the lowered routine."""

from __future__ import annotations

from counterfoil_reference.programs import interface, prelowered
from counterfoil_reference.programs.checks import check
from counterfoil_reference.programs.decisions import Decisions, Plan
from counterfoil_reference.programs.lowering import lowered
from counterfoil_reference.programs.placement import place
from counterfoil_reference.programs.views import steps_of
from counterfoil_spec.programs.assignments import Code
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.loops import Lowered


def plan(code: Code, decisions: Decisions, routine: str) -> Plan:
    """The plan of code under a lineage's decisions.

    Refuses compile/fill-limit, compile/index-range, compile/merge-nodes; then placement/local-read,
    placement/merge-template, placement/nothing-stored, placement/virtual-illegal.
    """
    steps = steps_of(code)
    check(steps)
    child = place(steps, decisions, routine)
    stored = child.stored
    executed = tuple(step for step in steps if step.target not in stored)
    reads = interface.unwritten(executed, stored, child.placements)
    writes = interface.on_device((step.target for step in executed), child.placements)
    return Plan(
        decisions=child,
        read_only=tuple(node for node in reads if node not in writes),
        read_before_write=tuple(node for node in reads if node in writes),
        writes=writes,
        arguments=by_uid((*reads, *writes)),
        merge=interface.merge_of(executed, stored),
        symbols=interface.symbols_of(code, executed, stored),
        lowered=lowered(executed, stored),
        steps=executed,
    )


def plan_lowered(given: Lowered, decisions: Decisions, routine: str) -> Plan:
    """The plan of code given lowered: every node On_device (23), reads and writes those of the loop IR.

    Refuses compile/merge-nodes.
    """
    return prelowered.plan(given, decisions)


def lower(of: Plan) -> Lowered:
    """What a plan's transform is given."""
    return of.lowered
