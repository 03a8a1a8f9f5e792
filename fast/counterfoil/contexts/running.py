"""Run: every call that the base class of values hands on (docs/contexts.md, section 4)."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from counterfoil._native import ffi, lib
from counterfoil.contexts import faults
from counterfoil.contexts.roots import both_entered
from counterfoil.contexts.routines import Routine
from counterfoil.contexts.values import derived
from counterfoil.timeline import Order, perform
from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.backends import Slab
    from counterfoil.contexts.launching import Launcher
    from counterfoil.contexts.surface import Context

_FINE = int(lib.CF_RUN_FINE)
_PLACE = ffi.typeof("int64_t *")
_STANDING = ffi.typeof("cf_standing *")
_UNASSIGNED = -(2**63)
_MOST = 2**63 - 1


def run(value: Context, routine: object, timing: bool) -> Context:
    """Execute the routine; the value with its outputs marked initialized, where it binds the same locations (C15)."""
    called = instance("routine", routine, Routine)
    with entered(value, called):
        flags, bindings = prepared(value, called), binding_values(called)
        if timing:
            flags |= lib.CF_RUN_TIMING
        if value.device.deferred:
            _run_later(value, called, flags, bindings)
        else:
            _run_now(value, called, flags, bindings)
    return _marked(value, called)


def entered(value: Context, routine: Routine) -> contextlib.AbstractContextManager[None]:
    """Both roots entered while a ``with`` block runs; refuses run/other-device."""
    if value.device is not routine.context.device:
        raise refuse("run/other-device", routine=routine.name)
    root, other = value._root, routine.context._root
    return root.entered() if root is other else both_entered(root, other)


def prepared(value: Context, routine: Routine) -> int:
    """The checks that look at no record: the flags of the run. Refuses run/fragment-not-owned."""
    faults.check_fragments(value, routine)
    value._root.notice_loss()
    origin = routine.context
    origin._root.notice_loss()
    return lib.CF_RUN_FORKED if value._unit is not origin._unit and is_live_fork(value, routine) else 0


def is_live_fork(value: Context, routine: Routine) -> bool:
    """Whether the value's unit, or an ancestor of it, is a live fork that reaches all the routine's pools (C14)."""
    pools = routine._tables.pools
    units = (value._unit, *value._unit.ancestors)
    return any(
        unit.is_fork and not unit.released and all(unit.reaches(pool) for pool in pools) for unit in units
    )


def binding_values(routine: Routine) -> Any:
    """What the routine's symbols hold now, in the order of its tables; a value of no 64 bits by the nearest one."""
    values = [symbol.value for symbol in routine._symbols]
    held = [_UNASSIGNED if each is None else max(min(integer("value", each), _MOST), -_MOST) for each in values]
    return ffi.new("int64_t[]", held) if held else ffi.NULL


def _run_now(value: Context, routine: Routine, flags: int, bindings: Any) -> None:
    place = ffi.new(_PLACE)
    standing = ffi.cast(_STANDING, value._standing)
    c = routine._tables.c
    while True:
        answer = lib.cf_routine_run(standing, c, bindings, flags, place)
        if answer == lib.CF_RUN_FINE:
            return
        if answer == lib.CF_RUN_PENDING:
            _reach(routine)
        elif answer != lib.CF_RUN_UNWRITTEN or not routine._tables.excuse():
            raise faults.refusal(value, routine, answer, place[0])


def _reach(routine: Routine) -> None:
    """Perform the pending work of the pools that must come first; refuses memory/lost."""
    tables = routine._tables
    uses = [(pool.buffer, bool(tables.c.writing[position])) for position, pool in enumerate(tables.pools)]
    for buffer, writing in uses:
        buffer.require_found(writing)
    for buffer, writing in uses:
        buffer.reach(writing)


def _run_later(value: Context, routine: Routine, flags: int, bindings: Any) -> None:
    """Checks and books now, the work when the device gets to it: with the values the bindings hold now."""
    place, tables = ffi.new(_PLACE), routine._tables
    standing = ffi.cast(_STANDING, value._standing)
    while (answer := lib.cf_run_enter(standing, tables.c, bindings, flags | lib.CF_RUN_DEFERRED, place)) != _FINE:
        if answer != lib.CF_RUN_UNWRITTEN or not tables.excuse():
            raise faults.refusal(value, routine, answer, place[0])
    try:
        if tables.launcher is None:
            _give_to_worker(value, routine, bindings)
        else:
            _give_to_device(value, routine, tables.launcher, bindings)
    except BaseException:
        lib.cf_claims_release(tables.c.pools, tables.c.pool_count)
        raise
    lib.cf_run_done(tables.c)


def _give_to_worker(value: Context, routine: Routine, bindings: Any) -> None:
    """Queue the work behind what the pools must follow; refuses memory/lost, run/merge-slab."""
    worker, tables = value.device.worker, routine._tables
    assert worker is not None
    orders = _uses(routine)
    points = [point for order, writes in orders.items() for point in order.points(writes)]
    perform(point for point in points if point[0] is not worker.timeline)
    with _slab_held(value, routine):
        number = worker.submit(lambda: lib.cf_run_work(tables.c, bindings))
    worker.timeline.submit(lambda: worker.wait_for(number), orders)
    worker.prune()


def _give_to_device(value: Context, routine: Routine, launcher: Launcher, bindings: Any) -> None:
    """Submit the kernels; refuses memory/lost, run/merge-slab. A root whose run may be half done is poisoned."""
    launcher.check_found()
    root, timeline = routine.context._root, value.device.memory.timeline
    if routine._tables.merge is None:
        number = launcher.submit(bindings, None)
    else:
        with _slab_held(value, routine) as slab:
            number = launcher.submit(bindings, slab.buffer)
    root.under_way(number, routine.name)
    if timeline.why is not None:
        root.notice_loss()
        raise timeline.lost()


@contextlib.contextmanager
def _slab_held(value: Context, routine: Routine) -> Generator[Slab]:
    """The device's merge buffer, which nobody fills meanwhile; refuses run/merge-slab where somebody has filled it."""
    tables, device = routine._tables, value.device
    with device.guard:
        if tables.c.slab and not lib.cf_slab_holds(tables.c.slab, tables.c.fill):
            raise faults.refusal(value, routine, lib.CF_RUN_SLAB, 0)
        yield device.slab


def _uses(routine: Routine) -> dict[Order, bool]:
    """The orders of work of the pools, and whether each is written; refuses memory/lost."""
    tables = routine._tables
    orders: dict[Order, bool] = {}
    for position, pool in enumerate(tables.pools):
        writing = bool(tables.c.writing[position])
        pool.buffer.require_found(writing)
        orders[pool.buffer.memory.ordered()] = writing
    return orders


def _marked(value: Context, routine: Routine) -> Context:
    """The value with the outputs marked; itself where nothing is new, which the next run then knows."""
    locations = routine._tables.locations
    same = [node for node in routine.outputs if value.buffers.get(node) is locations[node]]
    if value.initialized.issuperset(same):
        if not value.device.deferred and value._root is routine.context._root:
            value._accept(routine._tables.c.serial)
        return value
    return derived(value, initialized=value.initialized.union(same))
