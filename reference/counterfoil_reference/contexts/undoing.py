"""Taking back: a run, a lineage, the accumulation history (context:63, context:77, context:79; C5, C12)."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TypeVar

from counterfoil_reference.contexts.ledger import Before, Ledger
from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.history import Counts, withdrawn
from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.refusals import BackendUnavailable, DeviceMemoryExhausted, refuse

_T = TypeVar("_T")


def known_routine(ledger: Ledger, routine_id: int) -> str:
    """The name the root has for an id; refuses run/unknown-routine."""
    routine_id = integer("routine_id", routine_id)
    if routine_id not in ledger.names:
        raise refuse("run/unknown-routine", routine=routine_id)
    return ledger.names[routine_id]


def rollback(ledger: Ledger, routine_id: int) -> None:
    """Undo the records of the routine's latest run (C5); a routine not executed, or a merge fill, is left as it is.

    Refuses run/unknown-routine, run/rollback-overtaken.
    """
    name = known_routine(ledger, routine_id)
    latest = ledger.runs.get(routine_id)
    if latest is None:
        return
    live = {location: before for location, before in latest.found.items() if not location.pool.freed}
    overtaken = [location.node.label for location in live if location.event != latest.event]
    if overtaken:
        raise refuse("run/rollback-overtaken", routine=name, nodes=overtaken)
    for location, before in live.items():
        _put_back(ledger, location, before)
    ledger.counts = withdrawn(ledger.counts, latest.counts, {*live, *latest.counted})
    ledger.executed.discard(routine_id)
    del ledger.runs[routine_id]


def _put_back(ledger: Ledger, location: Location, before: Before) -> None:
    """The records of a buffer as the run found them."""
    if not before.written:
        ledger.written.discard(location)
    _entry(ledger.writers, location, before.writer)
    _entry(ledger.known, location, before.known)
    location.token, location.event = before.token, before.event


def _entry(records: dict[Location, _T], location: Location, value: _T | None) -> None:
    """Set a record, or remove it where there was none."""
    if value is None:
        records.pop(location, None)
    else:
        records[location] = value


def poison(ledger: Ledger, routine_id: int, failure: BaseException) -> None:
    """Make the root's runs, syncs, reads, writes and copies refuse from now on; the first failure stays.

    Refuses run/unknown-routine.
    """
    name = known_routine(ledger, routine_id)
    failure = instance("failure", failure, BaseException)
    if ledger.poison is None:
        ledger.poison = (name, failure)


def saved_history(ledger: Ledger) -> Callable[[], None]:
    """All counts of the root now, and how to set them back, as often as wanted (C12)."""
    saved = ledger.counts

    def restore() -> None:
        ledger.counts = kept(ledger, saved)

    return restore


def kept(ledger: Ledger, counts: Counts) -> Counts:
    """The counts without those of retired routines and of freed buffers; what a retired one has now, it keeps."""
    retired = {key: count for key, count in ledger.counts.items() if key[0] not in ledger.names}
    return MappingProxyType(
        {
            (routine_id, location): count
            for (routine_id, location), count in counts.items()
            if routine_id in ledger.names and not (isinstance(location, Location) and location.pool.freed)
        }
        | retired
    )


def classified(failure: BaseException) -> str | None:
    """The backend's explanation of a failure, or None: it is not the backend's to explain (context:75)."""
    if isinstance(failure, DeviceMemoryExhausted):
        return "device-memory-exhausted"
    return "backend-unavailable" if isinstance(failure, BackendUnavailable) else None
