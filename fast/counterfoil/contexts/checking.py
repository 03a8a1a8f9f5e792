"""What run would refuse, asked beforehand, and what of it is known of a root (context:65-81, context:99)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil._native import ffi, lib
from counterfoil.contexts import faults
from counterfoil.contexts.routines import Routine
from counterfoil.contexts.running import entered, prepared
from counterfoil.contexts.units import check_released
from counterfoil_spec.arguments import instance
from counterfoil_spec.refusals import BackendUnavailable, DeviceMemoryExhausted

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context


def check_lineage_runnable(value: Context, routine: object) -> None:
    """Refuse what run would before it looks at the bindings."""
    called, place = instance("routine", routine, Routine), ffi.new("int64_t *")
    with entered(value, called):
        flags = prepared(value, called)
        standing = ffi.cast("cf_standing *", value._standing)
        called._tables.excuse()
        answer = lib.cf_run_check_lineage(standing, called._tables.c, flags, place)
        if answer != lib.CF_RUN_FINE:
            raise faults.refusal(value, called, answer, place[0])


def check_launch_bindings(routine: object) -> None:
    """Refuse run/launch-binding."""
    called = instance("routine", routine, Routine)
    if any(faults.binding_fault(symbol) for symbol in called.bindings):
        raise faults.binding_refusal(called)


def can_run(routine: object) -> bool:
    """Whether all it depends on was executed (context:99)."""
    called = instance("routine", routine, Routine)
    return all(dependency.executed for dependency in called._tables.dependencies)


def sync(value: Context) -> None:
    """Block until the device is idle (context:73). Refuses release/dead-*, run/poisoned."""
    check_released(value, "sync")
    value._root.check_poison("sync")
    value.device.wait()


def failure_classifier(failure: BaseException) -> str | None:
    """What a failure says of the backend (context:75)."""
    if isinstance(failure, DeviceMemoryExhausted):
        return "device-memory-exhausted"
    return "backend-unavailable" if isinstance(failure, BackendUnavailable) else None
