"""Compile: from a comp to a routine and the child value it belongs to (docs/contexts.md, §2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from counterfoil_reference import lineage
from counterfoil_reference.arguments import sequence
from counterfoil_reference.contexts import census, frontend, naming
from counterfoil_reference.contexts.ledger import Ledger
from counterfoil_reference.contexts.linking import Links, link
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.contexts.units import Unit, check_released
from counterfoil_reference.lineage import Entry
from counterfoil_reference.programs import Plan, check_segments, plan, plan_lowered
from counterfoil_spec.arguments import function, instance, text
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.loops import Lowered, Transform
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.roots import ContextDevice
    from counterfoil_reference.contexts.values import Context


@dataclass(frozen=True, eq=False)
class Routine:
    """A compiled routine: a record that only compile makes and only run dispatches (context:15, context:17).

    Beside what the surface shows: ``plan``; ``segments``, the kernels a transform returned; ``locations``, the buffers
    of its arguments; ``entry``, its part of the lineage; ``demanded``, the reads that somebody must have written
    unless they are zero-valid; ``dependency_names`` by id; ``transfer``, the fill of the merge buffer it reads.
    """

    name: str
    routine_id: int
    context: Context
    bindings: tuple[Symbol, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    shared_reads: tuple[Node, ...]
    execution_deps: frozenset[int]
    plan: Plan
    segments: tuple[Lowered, ...] | None
    locations: Mapping[Node, Location]
    entry: Entry
    demanded: tuple[Node, ...]
    dependency_names: Mapping[int, str]
    transfer: int | None

    @property
    def ledger(self) -> Ledger:
        """Its root's ledger."""
        return self.context.ledger

    @property
    def device(self) -> ContextDevice:
        """The device it was compiled for."""
        return self.context.device

    @property
    def reads(self) -> tuple[Node, ...]:
        """What it reads before it writes it, by uid."""
        early = {*self.plan.read_only, *self.plan.read_before_write}
        return tuple(node for node in self.plan.arguments if node in early)

    def __repr__(self) -> str:
        return f"<routine {self.name}>"


class Reuse:
    """A cell for the compiles of one program: the first lowers, the others share the result (context:35)."""

    def __init__(self) -> None:
        self.program: tuple[object, ...] | None = None
        self.plan: Plan | None = None

    def check(self, program: tuple[object, ...]) -> None:
        """Refuse compile/reuse-differs for another context, comp, bindings or name than it was filled with."""
        if self.program is None:
            return
        for field, mine, given in zip(("context", "comp", "bindings", "name"), self.program, program, strict=True):
            if mine is not given and mine != given:
                raise refuse("compile/reuse-differs", field=field)


@dataclass(frozen=True)
class Request:
    """The arguments of a compile, their types checked."""

    comp: Comp
    bindings: tuple[Symbol, ...]
    name: str | None
    transform: Transform | None
    prelowered: Lowered | None
    reuse: Reuse | None


def request(
    comp: object, bindings: Iterable[Symbol], name: object, transform: Transform | None, prelowered: object,
    reuse: object,
) -> Request:  # fmt: skip
    """The arguments; refuses arguments/wrong-type."""
    return Request(
        instance("comp", comp, Comp),
        sequence("bindings", bindings, Symbol),
        None if name is None else text("name", name),
        None if transform is None else function("transform", transform),
        None if prelowered is None else instance("prelowered", prelowered, Lowered),
        None if reuse is None else instance("reuse", reuse, Reuse),
    )


def compiled(context: Context, asked: Request) -> tuple[Context, Routine]:
    """The child value and the routine; refuses in the order of docs/contexts.md, §2, and then changes nothing."""
    check_released(context, "compile")
    _check_arguments(context, asked)
    frontend.check_program("compile", asked.comp)
    _check_lineage(context, asked)
    name = naming.name_of(asked.name, asked.comp.code)
    planned = _planned(context, asked, name)
    segments = _segments(asked.transform, planned, name)
    census.compiled()
    check_released(context, "compile")  # the transform may have released it
    links = link(context, asked.comp, planned, name, asked.prelowered is not None)
    return _finished(context, asked, name, planned, segments, links)


def _check_arguments(context: Context, asked: Request) -> None:
    """Refuse compile/exclusive-arguments, compile/reuse-differs."""
    if asked.reuse is not None:
        if asked.prelowered is not None:
            raise refuse("compile/exclusive-arguments")
        asked.reuse.check((context, asked.comp, asked.bindings, asked.name))


def _check_lineage(context: Context, asked: Request) -> None:
    """Refuse compile/owned-twice, gradients/accumulated-elsewhere, gradients/propagated-earlier; nothing is lowered."""
    comp, entries = asked.comp, context.lineage
    own = asked.name if asked.name is not None else naming.derived_name(comp.code) or "this routine"
    twice = lineage.owned_twice(comp, entries, own)
    if twice:
        raise refuse("compile/owned-twice", fragments=twice)
    elsewhere = lineage.accumulated_elsewhere(comp, entries)
    if elsewhere:
        raise refuse("gradients/accumulated-elsewhere", gradients=[[g.label, r.name] for g, r in elsewhere])
    earlier = lineage.propagated_earlier(comp, entries)
    if earlier:
        raise refuse("gradients/propagated-earlier", gradients=[[g.label, r.name] for g, r in earlier])


def _planned(context: Context, asked: Request, name: str) -> Plan:
    """Steps 7 and 8, or what the reuse cell kept of them."""
    if asked.prelowered is not None:
        return plan_lowered(asked.prelowered, context.decisions, name)
    cell = asked.reuse
    if cell is not None and cell.plan is not None:
        return cell.plan
    planned = plan(asked.comp.code, context.decisions, name)
    if cell is not None:
        cell.program = (context, asked.comp, asked.bindings, asked.name)
        cell.plan = planned
    return planned


def _segments(transform: Transform | None, planned: Plan, name: str) -> tuple[Lowered, ...] | None:
    """The kernels a transform makes, None without one; refuses compile/empty-transform, and what is no kernel."""
    if transform is None:
        return None
    segments = sequence("transform", transform(planned.lowered), Lowered)
    if not segments:
        raise refuse("compile/empty-transform", routine=name)
    check_segments(segments, planned)
    return segments


def _finished(
    context: Context, asked: Request, name: str, planned: Plan, segments: tuple[Lowered, ...] | None, links: Links
) -> tuple[Context, Routine]:
    """Step 12: nothing fails any more, so the id is drawn and every record is made."""
    routine_id = context.ledger.new_id()
    entry = lineage.entry(asked.comp, name, routine_id)
    child = _child(context, entry, planned, links)
    routine = _routine(context, child, asked, entry, planned, segments)
    _record(routine)
    return child, routine


def _child(context: Context, entry: Entry, planned: Plan, links: Links) -> Context:
    """The child value in a unit of its own that holds the fresh working pools (and binds the constants)."""
    for pool in links.constant:
        context.device.constants.put(context.ledger, pool)
    buffers = MappingProxyType({**context.buffers, **links.locations})
    entries = (*context.lineage, entry)
    unit = Unit(context.ledger, context.unit, links.working)
    unit.begin(buffers, entries)
    reads = (*planned.read_only, *planned.read_before_write)
    return replace(
        context,
        name=f"{context.name}/{entry.name}",
        unit=unit,
        count=0,
        buffers=buffers,
        lineage=entries,
        decisions=planned.decisions,
        frontier=context.frontier.after(entry.routine_id, reads, planned.writes),
    )


def _routine(
    context: Context, child: Context, asked: Request, entry: Entry, planned: Plan,
    segments: tuple[Lowered, ...] | None,
) -> Routine:  # fmt: skip
    reads = (*planned.read_only, *planned.read_before_write)
    early = [node for node in planned.arguments if node in reads]
    locations = {node: child.buffers[node] for node in planned.arguments}
    deps = context.frontier.dependencies(reads, planned.writes, planned.merge)
    symbols = {*planned.symbols, *asked.bindings}
    fill = context.frontier.merge
    return Routine(
        entry.name,
        entry.routine_id,
        child,
        tuple(sorted(symbols, key=lambda symbol: symbol.number)),
        tuple(node for node in early if node not in asked.comp.embedded and node.literal is None),
        planned.writes,
        tuple(node for node in early if locations[node].pool.constant),
        deps,
        planned,
        segments,
        MappingProxyType(locations),
        entry,
        tuple(node for node in early if _is_demanded(node, asked.comp, planned)),
        MappingProxyType({dep: _dependency_name(context, dep) for dep in sorted(deps)}),
        None if planned.merge is None or fill is None else fill[1],
    )


def _is_demanded(node: Node, comp: Comp, planned: Plan) -> bool:
    """Whether a read must have been written unless it is zero-valid: no literal, and not embedded and started by the
    routine itself (context:53)."""
    starts_here = node in comp.embedded and node in planned.read_before_write
    return node.literal is None and not starts_here


def _dependency_name(context: Context, dep: int) -> str:
    """The ledger's name for what a routine depends on; a fill that another one replaced has left the ledger."""
    fill = context.frontier.merge
    replaced = fill is not None and fill[1] == dep and dep not in context.ledger.names
    return fill_name(fill[0]) if fill is not None and replaced else context.ledger.names[dep]


def fill_name(node: Node) -> str:
    """The name of a fill of the merge buffer from that node."""
    return f"copy of {node.label}"


def _record(routine: Routine) -> None:
    """The ledger's name for it, its entry, and its registration as a consumer of the merge buffer (C18)."""
    ledger = routine.ledger
    ledger.names[routine.routine_id] = routine.name
    ledger.entries[routine.routine_id] = routine.entry
    if routine.transfer is not None:
        consumers = ledger.consumers.setdefault(routine.transfer, {})
        consumers[routine.routine_id] = {routine.context.unit}
