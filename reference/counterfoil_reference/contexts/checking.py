"""What run looks at before it dispatches, in C1's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil_reference import lineage
from counterfoil_reference.contexts.compiling import Routine
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.contexts.units import Unit, check_released
from counterfoil_reference.frontier import unmet
from counterfoil_reference.history import overdrawn
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context

_INDEX_WIDTH: Final = 2**31
"""Code indexes with integers below it."""


def check_lineage_runnable(context: Context, routine: Routine) -> None:
    """All that is no matter of bindings, of the run history or of the buffers (context:67)."""
    if routine.device is not context.device:
        raise refuse("run/other-device", routine=routine.name)
    _check_required(context, routine)
    check_released(context, "run")
    _check_compile_context(context, routine)
    context.ledger.check_poison("run")
    routine.ledger.check_poison("run")
    _check_written(routine)
    _check_own(routine)
    _check_dependencies(routine)


def check_launch_bindings(routine: Routine) -> None:
    """Refuse run/launch-binding: every binding that has no value, or one that code must not index with (context:71)."""
    faults = [[symbol.label, symbol.value, _binding_fault(symbol)] for symbol in routine.bindings]
    wrong = [fault for fault in faults if fault[2] is not None]
    if wrong:
        raise refuse("run/launch-binding", routine=routine.name, bindings=wrong)


def _binding_fault(symbol: Symbol) -> str | None:
    if symbol.value is None:
        return "unassigned"
    if symbol.value < 0:
        return "negative"
    if symbol.greatest is not None and symbol.value > symbol.greatest:
        return "past range"
    return "past index width" if symbol.value >= _INDEX_WIDTH else None


def check_reset(context: Context, routine: Routine) -> None:
    """Refuse gradients/without-reset (context:61), naming a routine of the value's lineage that zeroes each."""
    gradients = overdrawn(routine.entry, routine.ledger.counts, routine.locations.get)
    if gradients:
        named = [[gradient.label, _zeroing(context, gradient)] for gradient in gradients]
        raise refuse("gradients/without-reset", routine=routine.name, gradients=named)


def _zeroing(context: Context, gradient: Node) -> str | None:
    zeroing = lineage.zeroing_routine(gradient, context.lineage)
    return None if zeroing is None else zeroing.name


def _check_required(context: Context, routine: Routine) -> None:
    """Refuse run/fragment-not-owned (context:55): in the value's lineage if the routine is in it, else its own."""
    ledger = routine.ledger
    descends = any(entry is routine.entry for entry in context.lineage)
    path = context.lineage if descends else routine.context.lineage
    missing = lineage.unowned(routine.entry, path)
    if missing:
        owners = [[each.name for each in ledger.entries.values() if fragment in each.owned] for fragment in missing]
        fragments = [[str(fragment), names] for fragment, names in zip(missing, owners, strict=True)]
        raise refuse("run/fragment-not-owned", routine=routine.name, fragments=fragments)


def _check_compile_context(context: Context, routine: Routine) -> None:
    """Refuse run/compile-context-released, unless the value stands on a live fork that holds the pools (C14)."""
    home = routine.context.unit
    for levels, unit in enumerate([home, *home.ancestors]):
        if unit.released and not _stands_on_fork(context.unit, routine):
            raise refuse("run/compile-context-released", routine=routine.name, levels=levels)


def _stands_on_fork(unit: Unit, routine: Routine) -> bool:
    pools = {location.pool for location in routine.locations.values()}
    return any(each.is_fork and all(each.reaches(pool) for pool in pools) for each in [unit, *unit.ancestors])


def _check_written(routine: Routine) -> None:
    """Refuse run/unwritten-inputs: allocation zeros are a right start for the zero-valid alone (context:53, C3)."""
    written = routine.ledger.written
    missing = [node for node in routine.demanded if not node.zero_valid and routine.locations[node] not in written]
    if missing:
        raise refuse("run/unwritten-inputs", routine=routine.name, nodes=[node.label for node in missing])


def _check_own(routine: Routine) -> None:
    """Refuse run/foreign-write: shared constants that another root overwrote (context:57)."""
    stale = [node.label for node in routine.reads if _is_stale(routine, routine.locations[node])]
    if stale:
        raise refuse("run/foreign-write", routine=routine.name, nodes=stale)


def _is_stale(routine: Routine, location: Location) -> bool:
    return location.pool.constant and routine.ledger.is_stale(location)


def missing_dependencies(routine: Routine) -> list[int]:
    """The ids it depends on that have not run, in order (context:99)."""
    return unmet(routine.execution_deps, routine.ledger.executed)


def _check_dependencies(routine: Routine) -> None:
    missing = missing_dependencies(routine)
    if missing:
        names = [routine.dependency_names[dep] for dep in missing]
        raise refuse("run/dependencies", routine=routine.name, missing=names)


def check_slab(routine: Routine) -> None:
    """Refuse run/merge-slab: at the dispatch, another root filled the device's slab since (C18)."""
    merge = routine.plan.merge
    if merge is not None and routine.transfer is not None:
        if not routine.device.slab.holds(routine.ledger, routine.transfer):
            raise refuse("run/merge-slab", routine=routine.name, node=merge.label)
