"""Taking back: a run, a lineage, the accumulation history (context:63, context:77, context:79; C5, C12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from counterfoil._native import ffi, lib
from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.roots import Registration, Root

Counts = dict["Registration", list[int]]
"""Runs since the last reset, for each gradient a routine adds to."""


def registered(root: Root, routine_id: int) -> Registration:
    """What the root has under an id; refuses run/unknown-routine."""
    found = root.names.get(integer("routine_id", routine_id))
    if found is None:
        raise refuse("run/unknown-routine", routine=routine_id)
    return found


def rollback(root: Root, routine_id: int) -> None:
    """Undo the records of the routine's latest run (C5); a routine not executed, or a merge fill, is left as it is.

    Refuses run/unknown-routine, run/rollback-overtaken.
    """
    with root.entered():
        registration = registered(root, routine_id)
        tables = registration.tables
        if tables is None or not tables.c.latest:
            return
        outputs = tables.operands[: tables.c.output_count]
        overtaken = [node.label for at, node in enumerate(outputs) if lib.cf_run_overtaken(tables.c, at)]
        if overtaken:
            raise refuse("run/rollback-overtaken", routine=registration.name, nodes=overtaken)
        latest = tables.c.latest
        lib.cf_run_undo(tables.c)
        if registration.before is not None and registration.before[0] == latest:
            _set(root, registration.before[1])
        registration.before = None


def poison(root: Root, routine_id: int, failure: BaseException) -> None:
    """Make the root's runs, syncs, reads, writes and copies refuse from now on; the first failure stays.

    Refuses run/unknown-routine.
    """
    with root.entered():
        name = registered(root, routine_id).name
        instance("failure", failure, BaseException)
        root.notice_loss()  # the first failure stays
        if root.poison is None:
            root.poison = (name, failure)
            lib.cf_ledger_poison(root.ledger)


def saved_history(root: Root) -> Callable[[], None]:
    """All counts of the root now, and how to set them back, as often as wanted (C12)."""
    with root.entered():
        saved = {each.id: [int(lib.cf_count_runs(count)) for count in _counts(each)] for each in root.names.values()}

    def restore() -> None:
        with root.entered():
            _replace(root, saved)

    return restore


def _replace(root: Root, saved: dict[int, list[int]]) -> None:
    """Set all counts of the root: to 0 those that were not saved. What rollbacks would restore is noted before."""
    for registration in root.names.values():
        _note_before(root, registration)
    for registration in root.names.values():
        kept = saved.get(registration.id, [])
        for position, count in enumerate(_counts(registration)):
            lib.cf_count_set(count, kept[position] if position < len(kept) else 0)


def _note_before(root: Root, registration: Registration) -> None:
    """Keep the counts of the buffers that the routine's latest run changed, as they were before that run.

    The core finds them by their epochs, which is at an end once they are set by hand.
    """
    tables = registration.tables
    if tables is None or not tables.c.latest:
        return
    if registration.before is not None and registration.before[0] == tables.c.latest:
        return
    epochs = {record.c: int(record.c.epoch) for record in tables.outputs}
    epochs |= {tables.c.zeroed[k]: int(tables.c.unzeroed[k]) for k in range(tables.c.zeroed_count)}
    before: list[tuple[int, int, int]] = []
    for other in root.names.values():
        for position, count in enumerate(_counts(other)):
            if count.record in epochs:
                before.append((other.id, position, int(count.runs) if count.epoch == epochs[count.record] else 0))
    for position, count in enumerate(_counts(registration)):
        earlier = tables.c.counted[position]
        before.append((registration.id, position, int(earlier.token) if earlier.epoch == count.record.epoch else 0))
    registration.before = (int(tables.c.latest), before)


def _set(root: Root, before: list[tuple[int, int, int]]) -> None:
    """Set counts of routines that are not retired."""
    for routine_id, position, runs in before:
        other = root.names.get(routine_id)
        if other is not None and other.tables is not None:
            lib.cf_count_set(other.tables.c.counts + position, runs)


def _counts(registration: Registration) -> Iterator[Any]:
    tables = registration.tables
    if tables is not None:
        for position in range(tables.c.count_count):
            yield ffi.addressof(tables.c.counts[position])
