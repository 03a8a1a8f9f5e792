"""What run refuses, in words: the subjects of each outcome of the core's checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from counterfoil._native import lib
from counterfoil.contexts.tables import INDEX_WIDTH
from counterfoil.contexts.units import released_refusal
from counterfoil_spec.answers import Answer
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import Refusal, door_refusal, refuse

if TYPE_CHECKING:
    from counterfoil.contexts.routines import Routine
    from counterfoil.contexts.surface import Context

_ANSWERS = tuple(Answer)


def check_fragments(value: Context, routine: Routine) -> None:
    """Refuse run/fragment-not-owned: what the routine requires is owned by no routine of the path (context:55, C2).

    The path is the value's lineage where the routine is in it, else the routine's own.
    """
    comp = routine.entry.comp
    if not comp.requires:
        return
    path = value.lineage
    if value._root is not routine.context._root or not path.has(routine.routine_id):
        path = routine.context.lineage
    missing = path.unowned(comp)
    if missing:
        names = routine.context._root.names.values()
        elsewhere = [entry for each in names if (entry := each.entry) is not None]
        owners = [[str(lost), [e.name for e in elsewhere if lost in e.comp.owned]] for lost in missing]
        raise refuse("run/fragment-not-owned", routine=routine.name, fragments=owners)


def refusal(value: Context, routine: Routine, answer: int, place: int) -> BaseException:
    """What to raise for an outcome of the core."""
    return _WORDS[answer](value, routine, place)


def _released(value: Context, routine: Routine, levels: int) -> Exception:
    return released_refusal(value, "run", levels)


def _compile_released(value: Context, routine: Routine, levels: int) -> Refusal:
    return refuse("run/compile-context-released", routine=routine.name, levels=levels)


def _poisoned(value: Context, routine: Routine, place: int) -> BaseException:
    root = routine.context._root if place else value._root
    try:
        root.check_poison("run")
    except Refusal as refused:
        return refused.with_traceback(None)
    raise AssertionError("the core found a root poisoned that is not")


def _unwritten(value: Context, routine: Routine, place: int) -> Refusal:
    c, nodes = routine._tables.c, routine._tables.needed
    missing = [node.label for position, node in enumerate(nodes) if not c.needed[position].written]
    return refuse("run/unwritten-inputs", routine=routine.name, nodes=missing)


def _foreign(value: Context, routine: Routine, place: int) -> Refusal:
    c, nodes = routine._tables.c, routine._tables.shared_reads
    stale = [n.label for at, n in enumerate(nodes) if lib.cf_record_stale(c.ledger, c.shared_reads[at])]
    return refuse("run/foreign-write", routine=routine.name, nodes=stale)


def _dependencies(value: Context, routine: Routine, place: int) -> Refusal:
    missing = [each.name for each in routine._tables.dependencies if not each.executed]
    return refuse("run/dependencies", routine=routine.name, missing=missing)


def _slab(value: Context, routine: Routine, place: int) -> Refusal:
    node = routine._tables.merge
    assert node is not None
    return refuse("run/merge-slab", routine=routine.name, node=node.label)


def _bindings(value: Context, routine: Routine, place: int) -> Refusal:
    return binding_refusal(routine)


def binding_refusal(routine: Routine) -> Refusal:
    """The refusal run/launch-binding, naming every binding that is wrong."""
    wrong = [[symbol.label, symbol.value, why] for symbol in routine.bindings if (why := binding_fault(symbol))]
    return refuse("run/launch-binding", routine=routine.name, bindings=wrong)


def binding_fault(symbol: Symbol) -> str | None:
    """What is wrong with the value a symbol holds, None for nothing."""
    value, greatest = symbol.value, symbol.greatest
    if value is None:
        return "unassigned"
    if value < 0:
        return "negative"
    if greatest is not None and value > greatest:
        return "past range"
    return "past index width" if value >= INDEX_WIDTH else None


def _gradients(value: Context, routine: Routine, place: int) -> Refusal:
    c = routine._tables.c
    found = []
    for position, gradient in enumerate(routine._tables.counted):
        count = c.counts[position]
        if lib.cf_count_runs(c.counts + position) >= count.allowance:
            zeroer = value.lineage.zeroer(gradient)
            found.append([gradient.label, None if zeroer is None else zeroer.name])
    return refuse("gradients/without-reset", routine=routine.name, gradients=found)


def _door(value: Context, routine: Routine, place: int) -> Refusal:
    """As kernels are refused (A10): the arguments written, then those only read; each whose pool died says so."""
    tables = routine._tables
    operands = [(node.dtype.name, node.dims) for node in tables.operands]
    whys = [tables.locations[node].pool.buffer.dead for node in tables.operands]
    deaths = [(position, why) for position, why in enumerate(whys) if why is not None]
    return door_refusal(routine.name, _ANSWERS[place % 16], operands, deaths)


_WORDS: dict[int, Callable[[Context, Routine, int], BaseException]] = {
    lib.CF_RUN_RELEASED: _released,
    lib.CF_RUN_COMPILE_RELEASED: _compile_released,
    lib.CF_RUN_POISONED: _poisoned,
    lib.CF_RUN_UNWRITTEN: _unwritten,
    lib.CF_RUN_FOREIGN: _foreign,
    lib.CF_RUN_DEPENDENCIES: _dependencies,
    lib.CF_RUN_SLAB: _slab,
    lib.CF_RUN_BINDING: _bindings,
    lib.CF_RUN_GRADIENT: _gradients,
    lib.CF_RUN_DOOR: _door,
}
