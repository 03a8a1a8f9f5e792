"""Release: pools, constants, registrations, adopted ancestors, then the mark (context:172 to context:186)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil_reference.contexts import census
from counterfoil_reference.contexts.pools import Pool
from counterfoil_reference.contexts.units import Unit, adopt, check_released
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context


def release(unit: Unit) -> None:
    """Give up what the unit holds; a second time does nothing. What fails propagates: progress is kept, the mark is
    not set, and the next release resumes (context:180)."""
    if unit.released:
        return
    census.passed("finalize-before-await")
    for pool in unit.pools:
        if pool not in unit.given_up:
            _give_up(unit, pool)
    for pool in list(unit.constants):
        _unbind(unit, pool)
    _retire_registrations(unit)
    _release_adopted(unit)
    _retire_routines(unit)
    unit.released = True
    unit.pools.clear()
    unit.given_up.clear()
    census.unit_released()


def _give_up(unit: Unit, pool: Pool) -> None:
    """One holder fewer; the last one frees the pool, and the records of its locations go with it."""
    if pool.holders == {unit}:
        census.passed("finalize-before-free")
        pool.free()
        for location in pool.locations.values():
            unit.ledger.forget(location)
    pool.holders.discard(unit)
    unit.given_up.add(pool)


def _unbind(unit: Unit, pool: Pool) -> None:
    """One binder fewer; the last one frees the constant pool, with its cache entries, tokens and records (C6)."""
    if pool.holders == {unit}:
        pool.free()
        pool.device.constants.drop(pool)
        for ledger in pool.device.ledgers:
            for location in pool.locations.values():
                ledger.forget(location)
    pool.holders.discard(unit)
    del unit.constants[pool]


def _retire_registrations(unit: Unit) -> None:
    """The unit owns no consumer of the merge buffer any more; one that nobody owns blocks no fill (context:172)."""
    consumers = unit.ledger.consumers
    for fill, registered in list(consumers.items()):
        for routine_id, owners in list(registered.items()):
            owners.discard(unit)
            if not owners:
                del registered[routine_id]
        if not registered:
            del consumers[fill]


def _release_adopted(unit: Unit) -> None:
    """Adopted ancestors that no other unit holds, deepest first (context:180)."""
    for ancestor in sorted(unit.adopted, key=lambda each: -each.depth):
        if ancestor.adopters == {unit}:
            release(ancestor)
        ancestor.adopters.discard(unit)
        unit.adopted.remove(ancestor)


def _retire_routines(unit: Unit) -> None:
    """Routines that no live unit's lineage holds leave the ledger (C17)."""
    for routine_id in unit.routines:
        units = unit.ledger.living.get(routine_id, set())
        units.discard(unit)
        if not units:
            unit.ledger.retire(routine_id)


def adopt_ancestor(context: Context, ancestor: Context) -> None:
    """Make the context's release unit answer for an ancestor a wrapper minted (context:186).

    Refuses released, release/not-an-ancestor.
    """
    check_released(context, "adopt_ancestor")
    if ancestor.unit not in context.unit.ancestors:
        raise refuse("release/not-an-ancestor", context=context.name, ancestor=ancestor.name)
    adopt(context.unit, ancestor.unit)
