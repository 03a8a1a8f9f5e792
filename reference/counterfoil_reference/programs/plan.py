"""From code to a plan: the checks of step 7, the placements of step 8, and the lowered routine."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_reference.programs import interface, prelowered
from counterfoil_reference.programs.checks import check
from counterfoil_reference.programs.decisions import Decisions, Plan
from counterfoil_reference.programs.deep import deep
from counterfoil_reference.programs.lowering import lowered
from counterfoil_reference.programs.placement import place
from counterfoil_reference.programs.reach import check_reach
from counterfoil_reference.programs.views import steps_of
from counterfoil_spec.programs.assignments import Code
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.kernels import check_kernel, names_of
from counterfoil_spec.programs.loops import Lowered


@deep
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


@deep
def plan_lowered(given: Lowered, decisions: Decisions, routine: str) -> Plan:
    """The plan of code given lowered: every node On_device (23), reads and writes those of the loop IR.

    Refuses what check_kernel does, then compile/index-range, compile/merge-nodes.
    """
    check_kernel("prelowered", given, None)
    check_reach(given)
    return prelowered.plan(given, decisions)


@deep
def check_segments(segments: Sequence[Lowered], of: Plan) -> None:
    """Refuse a transform's kernels that are none of the plan's routine: as check_kernel does, compile/index-range."""
    names = names_of(of.lowered, of.arguments, of.writes, of.merge, of.symbols)
    changed = [segment for segment in segments if segment is not of.lowered]
    for segment in changed:
        check_kernel("transform", segment, names)
    for segment in changed:
        check_reach(segment)


def lower(of: Plan) -> Lowered:
    """What a plan's transform is given."""
    return of.lowered
