"""Release: pools, constants, registrations, adopted ancestors, then the mark (context:172-186)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil._native import lib
from counterfoil.contexts import census
from counterfoil.contexts.pools import Location, Pool
from counterfoil.contexts.roots import Root, forget
from counterfoil.contexts.units import Unit, adopt, check_released
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.surface import Context


def release(root: Root, unit: Unit) -> None:
    """Give up what the unit holds; a second time does nothing. What fails propagates: progress is kept, the mark is
    not set, and the next release resumes (context:180)."""
    stale: list[Location] = []
    try:
        with root.entered(), root.device.guard:
            _release(root, unit, stale)
    finally:
        for location in stale:  # other roots' records too, each under its own lock: nobody binds the pool any more
            forget(location)


def _release(root: Root, unit: Unit, stale: list[Location]) -> None:
    if unit.released:
        return
    census.passed("finalize-before-await")
    root.device.drain()
    while unit.given_up < len(unit.pools):
        _give_up(unit.pools[unit.given_up])
        unit.given_up += 1
    for pool in list(unit.constants):
        _unbind(root, unit, pool, stale)
    _retire_registrations(root, unit)
    for ancestor in sorted(unit.adopted, key=lambda each: -each.depth):
        if ancestor.adopters == 1:
            _release(root, ancestor, stale)
        ancestor.adopters -= 1
        unit.adopted.remove(ancestor)
    _retire_routines(root, unit)
    lib.cf_unit_release(unit.c)
    unit.pools.clear()
    unit.given_up = 0
    census.unit_released()


def _give_up(pool: Pool) -> None:
    """One holder fewer; the last one frees the pool, and the records of its locations go with it."""
    if pool.holders == 1:
        census.passed("finalize-before-free")
        for location in pool.free():
            forget(location)
    pool.holders -= 1


def _unbind(root: Root, unit: Unit, pool: Pool, stale: list[Location]) -> None:
    """One binder fewer; the last one frees the constant pool, with its cache entries, tokens and records (C6)."""
    if pool.holders == 1:
        given_up = pool.free()
        for location in given_up:
            if location.cache.get(location.node) is location:
                del location.cache[location.node]
        stale += given_up
    pool.holders -= 1
    del unit.constants[pool]


def _retire_registrations(root: Root, unit: Unit) -> None:
    """The unit owns no consumer of the merge buffer any more; one that nobody owns blocks no fill (context:172)."""
    for fill, registered in list(root.consumers.items()):
        for routine_id, owners in list(registered.items()):
            owners.discard(unit)
            if not owners:
                del registered[routine_id]
        if not registered:
            del root.consumers[fill]


def _retire_routines(root: Root, unit: Unit) -> None:
    """Routines that no live unit's lineage holds leave the ledger (C17)."""
    routines, unit.routines = unit.routines, ()
    for registration in routines:
        registration.units -= 1
        if registration.units == 0:
            root.retire(registration)


def adopt_ancestor(value: Context, ancestor: Context) -> None:
    """Make the value's release unit answer for an ancestor that a wrapper minted (context:186).

    Refuses release/dead-*, release/not-an-ancestor.
    """
    with value._root.entered():
        check_released(value, "adopt_ancestor")
        if ancestor._unit not in value._unit.ancestors:
            raise refuse("release/not-an-ancestor", context=value.name, ancestor=ancestor.name)
        adopt(value._unit, ancestor._unit)
