"""From code to a plan: the checks of step 7, the placements of step 8, the lowered routine and its accesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from counterfoil.compile.accesses import Accesses
from counterfoil.compile.checks import check
from counterfoil.compile.coverage import Coverage, LoweredCoverage
from counterfoil.compile.decisions import Decisions, Plan
from counterfoil.compile.deep import deeply
from counterfoil.compile.lower import Lowerer
from counterfoil.compile.place import place
from counterfoil.compile.ranges import check_lowered
from counterfoil.compile.views import Step, steps_of
from counterfoil_spec.programs.assignments import Assignment, Code
from counterfoil_spec.programs.assignments import symbols as symbols_of
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.kernels import check_kernel, names_of
from counterfoil_spec.programs.loops import Lowered, Statement
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.symbols import Symbol


def plan(code: Code, decisions: Decisions, routine: str) -> Plan:
    """The plan of code under a lineage's decisions; ``routine`` is the name refusals give it.

    Refuses compile/fill-limit, compile/index-range, compile/merge-nodes; then placement/local-read,
    placement/merge-template, placement/nothing-stored, placement/virtual-illegal.
    """
    return deeply(lambda: _planned(code, decisions, routine))


def _planned(code: Code, decisions: Decisions, routine: str) -> Plan:
    steps = steps_of(code)
    check(steps)
    accesses = Accesses(steps, decisions)
    placements = place(accesses, decisions, routine)
    virtual = {node for node, placement in placements.items() if placement.mode is Mode.VIRTUAL}
    lowerer = Lowerer(dict(accesses.inherited))
    coverage = Coverage(placements)
    body: list[Statement] = []
    for step in steps:
        if step.target in virtual:
            lowerer.define(step)
        else:
            statements = lowerer.lower(step)
            coverage.step(step, lowerer.loaded)
            body.extend(statements)
    stored = dict(decisions.stored)
    stored |= {node: _assignments(lowerer.definitions[node]) for node in accesses.writers if node in virtual}
    child = Decisions(
        MappingProxyType(placements), MappingProxyType(stored), decisions.materialized, decisions.inline,
        decisions.footprint,
    )  # fmt: skip
    coverage.merged = lowerer.merged
    mentioned = {*symbols_of(code), *(symbol for step in lowerer.replayed for symbol in symbols_of(step.assignment))}
    return _plan(child, coverage, Lowered(tuple(body)), mentioned)


def plan_lowered(lowered: Lowered, decisions: Decisions, routine: str) -> Plan:
    """The plan of code given lowered: every node On_device (23) from now on, whatever was decided of it before, and
    what was stored of it forgotten; reads and writes are those of the loop IR.

    Refuses what check_kernel does, then compile/index-range, compile/merge-nodes.
    """
    check_kernel("prelowered", lowered, None)
    check_lowered(lowered)
    coverage = Coverage(None)
    LoweredCoverage(coverage).note(lowered.body)
    placements, nodes = dict(decisions.placements), {*coverage.reads, *coverage.writes}
    for node in nodes:
        known = placements.get(node)
        if known is None or known.mode is not Mode.ON_DEVICE:  # the caller owns the provenance (context:33)
            placements[node] = Placement(Mode.ON_DEVICE, 23)
    stored = {node: setters for node, setters in decisions.stored.items() if node not in nodes}
    child = Decisions(
        MappingProxyType(placements), MappingProxyType(stored), decisions.materialized, decisions.inline,
        decisions.footprint,
    )  # fmt: skip
    return _plan(child, coverage, lowered, ())


def check_segments(segments: Sequence[Lowered], of: Plan) -> None:
    """Refuse a transform's kernels that are none of the plan's routine: as check_kernel does, compile/index-range."""
    changed = [segment for segment in segments if segment is not of.lowered]
    if not changed:
        return
    names = names_of(of.lowered, of.arguments, of.writes, of.merge, of.symbols)
    for segment in changed:
        check_kernel("transform", segment, names)
    for segment in changed:
        check_lowered(segment)


def _plan(decisions: Decisions, coverage: Coverage, lowered: Lowered, symbols: Iterable[Symbol]) -> Plan:
    reads, writes = coverage.reads, coverage.writes
    return Plan(
        decisions,
        by_uid(node for node in reads if node not in writes),
        by_uid(node for node in reads if node in writes),
        by_uid(writes),
        by_uid([*reads, *writes]),
        coverage.merge,
        tuple(sorted({*symbols, *coverage.symbols}, key=lambda symbol: symbol.number)),
        lowered,
    )


def _assignments(setters: Iterable[Step]) -> tuple[Assignment, ...]:
    return tuple(step.assignment for step in setters)

