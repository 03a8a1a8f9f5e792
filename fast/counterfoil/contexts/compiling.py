"""Compile: from a comp to a routine and the child value it belongs to (docs/contexts.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from counterfoil import compile as compiler
from counterfoil._native import ffi
from counterfoil.contexts import census, frontend, naming
from counterfoil.contexts.lineage import Entry
from counterfoil.contexts.linking import Links, link, publish
from counterfoil.contexts.routines import Routine
from counterfoil.contexts.tables import add_bindings, add_kernel, add_slab, tables_of
from counterfoil.contexts.units import Unit, check_released
from counterfoil.contexts.values import derived
from counterfoil.layouts import list_of
from counterfoil_spec.arguments import function, instance, text
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.loops import Lowered, Transform
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.compile import Kernel, Plan
    from counterfoil.contexts.launching import CudaKernel
    from counterfoil.contexts.roots import Registration
    from counterfoil.contexts.surface import Context

_ADDRESS = ffi.typeof("uintptr_t")


class Reuse:
    """A cell for the compiles of one program: the first lowers, the others share the result (context:35)."""

    __slots__ = ("_plan", "_program")

    def __init__(self) -> None:
        self._program: tuple[object, ...] | None = None
        self._plan: Plan | None = None

    def check(self, program: tuple[object, ...]) -> None:
        """Refuse compile/reuse-differs for another context, comp, bindings or name than it was filled with."""
        if self._program is None:
            return
        for field, mine, given in zip(("context", "comp", "bindings", "name"), self._program, program, strict=True):
            if mine is not given and mine != given:
                raise refuse("compile/reuse-differs", field=field)

    def planned(self) -> Plan | None:
        """The plan it was filled with."""
        return self._plan

    def fill(self, program: tuple[object, ...], plan: Plan) -> None:
        """Keep the plan of a program."""
        self._program, self._plan = program, plan


class Request:
    """The arguments of a compile, their types checked."""

    __slots__ = ("bindings", "comp", "name", "prelowered", "reuse", "transform")

    def __init__(
        self, comp: object, bindings: Iterable[Symbol], name: object, transform: Transform | None, prelowered: object,
        reuse: object,
    ) -> None:  # fmt: skip
        """Refuses arguments/wrong-type."""
        self.comp = instance("comp", comp, Comp)
        self.bindings = tuple(list_of("bindings", bindings, Symbol))
        self.name = None if name is None else text("name", name)
        self.transform = None if transform is None else function("transform", transform)
        self.prelowered = None if prelowered is None else instance("prelowered", prelowered, Lowered)
        self.reuse = None if reuse is None else instance("reuse", reuse, Reuse)


def compiled(value: Context, asked: Request) -> tuple[Context, Routine]:
    """The child value and the routine; a refusal, in the order of docs/contexts.md, changes nothing."""
    check_released(value, "compile")
    _check_reuse(value, asked)
    frontend.check_program("compile", asked.comp)
    _check_lineage(value, asked)
    name = naming.name_of(asked.name, asked.comp.code)
    plan = _planned(value, asked, name)
    segments = _segments(asked.transform, plan, name)
    kernel = value.device.generate(segments, plan)
    census.compiled()
    root = value._root
    with root.entered(), root.device.guard:
        check_released(value, "compile")  # another thread may have released it meanwhile
        links = link(value, asked.comp, plan, name, asked.prelowered is not None)
        try:
            root.device.load(kernel)
        except BaseException:
            links.undo()
            raise
        publish(value, links)
        return _finished(value, asked, name, plan, kernel, links)


def _check_reuse(value: Context, asked: Request) -> None:
    if asked.reuse is None:
        return
    if asked.prelowered is not None:
        raise refuse("compile/exclusive-arguments")
    asked.reuse.check(_program(value, asked))


def _program(value: Context, asked: Request) -> tuple[object, ...]:
    return value, asked.comp, asked.bindings, asked.name


def _check_lineage(value: Context, asked: Request) -> None:
    """Refuse compile/owned-twice, gradients/accumulated-elsewhere, gradients/propagated-earlier; nothing is lowered."""
    comp, lineage = asked.comp, value.lineage
    own = asked.name if asked.name is not None else naming.derived_name(comp.code) or "this routine"
    twice = lineage.owned_twice(comp, own)
    if twice:
        raise refuse("compile/owned-twice", fragments=twice)
    for rule, found in (
        ("gradients/accumulated-elsewhere", lineage.accumulated_elsewhere(comp)),
        ("gradients/propagated-earlier", lineage.propagated_earlier(comp)),
    ):
        if found:
            raise refuse(rule, gradients=[[gradient.label, entry.name] for gradient, entry in found])


def _planned(value: Context, asked: Request, name: str) -> Plan:
    """Steps 7 and 8, or what the reuse cell kept of them."""
    if asked.prelowered is not None:
        return compiler.plan_lowered(asked.prelowered, value.decisions, name)
    kept = None if asked.reuse is None else asked.reuse.planned()
    if kept is not None:
        return kept
    plan = compiler.plan(asked.comp.code, value.decisions, name)
    if asked.reuse is not None:
        asked.reuse.fill(_program(value, asked), plan)
    return plan


def _segments(transform: Transform | None, plan: Plan, name: str) -> Sequence[Lowered]:
    """The kernels to generate code for; refuses compile/empty-transform, and what is no kernel."""
    if transform is None:
        return [plan.lowered]
    segments = list_of("transform", transform(plan.lowered), Lowered)
    if not segments:
        raise refuse("compile/empty-transform", routine=name)
    compiler.check_segments(segments, plan)
    return segments


def _finished(
    value: Context, asked: Request, name: str, plan: Plan, kernel: Kernel | CudaKernel, links: Links
) -> tuple[Context, Routine]:
    """Step 12: nothing fails any more, so the id is drawn and every record is made."""
    root, comp = value._root, asked.comp
    reads = (*plan.read_only, *plan.read_before_write)
    dependencies = value.frontier.dependencies(reads, plan.writes, plan.merge)
    registration = root.register(name)
    entry = registration.entry = Entry(name, registration.id, comp)
    unit = Unit(value._unit, links.working)
    child = derived(
        value,
        unit,
        name=f"{value.name}/{name}",
        count=0,
        buffers={**value.buffers, **links.places},
        lineage=value.lineage.then(entry),
        decisions=plan.decisions,
        frontier=value.frontier.after(registration, reads, plan.writes),
    )
    unit.begin(child)
    locations = {node: child.buffers[node] for node in plan.arguments}
    tables = registration.tables = tables_of(root, unit, registration, comp, plan, locations, dependencies)
    add_kernel(tables, plan, kernel)
    fill = value.frontier.fill
    if plan.merge is not None and fill is not None:
        add_slab(tables, root, fill)
        root.consumers.setdefault(fill.transfer.id, {})[registration.id] = {unit}
    return child, _routine(child, asked, plan, registration, entry)


def _routine(child: Context, asked: Request, plan: Plan, registration: Registration, entry: Entry) -> Routine:
    tables = registration.tables
    assert tables is not None
    given = [symbol for symbol in dict.fromkeys(asked.bindings) if symbol not in plan.symbols]
    symbols = (*plan.symbols, *given)
    add_bindings(tables, symbols)
    routine = object.__new__(Routine)
    routine._dispatch(tables, symbols, int(ffi.cast(_ADDRESS, tables.c)))
    embedded = set(asked.comp.embedded)
    reads: list[Node] = [n for n in plan.arguments if n in plan.read_only or n in plan.read_before_write]
    fields = {
        "context": child,
        "entry": entry,
        "registration": registration,
        "bindings": tuple(sorted(symbols, key=lambda symbol: symbol.number)),
        "inputs": tuple(node for node in reads if node not in embedded and node.literal is None),
        "outputs": plan.writes,
        "shared_reads": tuple(tables.shared_reads),
        "execution_deps": frozenset(dependency.id for dependency in tables.dependencies),
    }
    for field, value in fields.items():
        object.__setattr__(routine, field, value)
    return routine
