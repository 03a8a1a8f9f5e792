"""Roots: one ledger each, shared by every value derived from it (context:57)."""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final

from counterfoil._native import ffi, lib
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse
from counterfoil_spec.values import words

if TYPE_CHECKING:
    from counterfoil.contexts.backends import ContextDevice
    from counterfoil.contexts.lineage import Entry
    from counterfoil.contexts.pools import Location
    from counterfoil.contexts.tables import Tables
    from counterfoil.contexts.units import Unit

_MARK = ffi.typeof("cf_mark *")
_RECORD = ffi.typeof("cf_record *")
_numbers: Final = itertools.count(1)


class Registration:
    """What a ledger knows of one id: a routine's, or a fill's of the merge buffer.

    ``units``: how many live units hold the routine in their lineage (C17). Entry and tables are a routine's.
    ``before``: the time of its latest run, with counts that a rollback of that run sets (undoing): id, position, runs.
    """

    __slots__ = ("before", "c", "entry", "id", "name", "tables", "units")

    def __init__(self, routine_id: int, name: str) -> None:
        self.id = routine_id
        self.name = name
        self.c = ffi.new(_MARK)
        self.c.id = routine_id
        self.units = 0
        self.entry: Entry | None = None
        self.tables: Tables | None = None
        self.before: tuple[int, list[tuple[int, int, int]]] | None = None

    @property
    def executed(self) -> bool:
        """Whether it ran, and was not withdrawn."""
        return bool(self.c.executed)


class Record:
    """What one root knows of one buffer."""

    __slots__ = ("c", "ledger", "shared")

    def __init__(self, ledger: Any, location: Location) -> None:
        self.ledger = ledger
        self.shared = location.shared
        self.c = ffi.new(_RECORD)
        if location.shared is not None:
            self.c.shared = location.shared


class Entered:
    """The ``with`` block of whoever entered a ledger."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    def __enter__(self) -> None:
        lib.cf_ledger_enter(self._ledger)

    def __exit__(self, *exception: object) -> None:
        lib.cf_ledger_leave(self._ledger)


class Root:
    """A ledger on one device.

    ``names``: what is not retired, by id. ``constants``: places of what its routines only read and that is no literal.
    ``fill``: the current fill of the merge buffer; ``consumers``: by fill the routines that read it, each with the
    units that own the registration (C18). ``poison``: (routine, failure). ``leftovers``: units of recomputes whose
    release failed.
    """

    def __init__(self, device: ContextDevice) -> None:
        self.device = device
        self.number = next(_numbers) % 2**32
        self.ledger = ffi.gc(lib.cf_ledger_create(self.number), lib.cf_ledger_destroy)
        if self.ledger == ffi.NULL:
            raise MemoryError("no memory for a ledger")
        self.names: dict[int, Registration] = {}
        self.constants: dict[Node, Location] = {}
        self.fill: Registration | None = None
        self.consumers: dict[int, dict[int, set[Unit]]] = {}
        self.poison: tuple[str, BaseException] | None = None
        self.leftovers: list[Unit] = []
        self._under_way: deque[tuple[int, str]] = deque()
        self._ids = itertools.count()
        self._entered = Entered(self.ledger)

    def entered(self) -> Entered:
        """One thread at a time while a ``with`` block runs; that thread may enter again."""
        return self._entered

    def register(self, name: str) -> Registration:
        """A fresh id under a name."""
        registration = Registration(next(self._ids), name)
        self.names[registration.id] = registration
        return registration

    def name_of(self, routine_id: int) -> str | None:
        """The name the ledger has for an id, None where it has none any more."""
        found = self.names.get(routine_id)
        return None if found is None else found.name

    def record(self, location: Location) -> Record:
        """What the root knows of a buffer."""
        found = location.records.get(self.number)
        if found is None:
            found = location.records.setdefault(self.number, Record(self.ledger, location))
        return found

    def written(self, location: Location) -> bool:
        """Whether a run, an upload or a device copy wrote the buffer."""
        found = location.records.get(self.number)
        return found is not None and bool(found.c.written)

    def vouches(self, location: Location) -> bool:
        """Whether somebody wrote the buffer, or it holds a literal (C6)."""
        return location.node.literal is not None or self.written(location)

    def written_from_outside(self, location: Location, vouched: bool = True) -> None:
        """An upload or a copy replaced the buffer: no writer is current, every count starts again (C8).

        ``vouched``: somebody wrote the value copied; else the buffer has no written record afterwards.
        """
        record = self.record(location)
        lib.cf_record_upload(self.ledger, record.c)
        record.c.written = vouched

    @property
    def records(self) -> int:
        """Names, executed ids, merge registrations and current writers (context:107)."""
        registrations = sum(len(consumers) for consumers in self.consumers.values())
        executed, writers = lib.cf_ledger_executed(self.ledger), lib.cf_ledger_writers(self.ledger)
        return len(self.names) + registrations + int(executed) + int(writers)

    def retire(self, registration: Registration) -> None:
        """Nobody's lineage holds the routine any more, or the fill was replaced (C17)."""
        self.names.pop(registration.id, None)
        lib.cf_mark_set(self.ledger, registration.c, False)
        tables, registration.tables = registration.tables, None
        if tables is None:
            return
        tables.c.mark = ffi.NULL
        for record in tables.outputs:
            if record.c.writer == registration.c:
                lib.cf_record_own(self.ledger, record.c, ffi.NULL)
        for count in range(tables.c.count_count):
            tables.c.counts[count].runs = 0
        for other in self.names.values():
            if other.tables is not None:
                lib.cf_run_forget(other.tables.c, registration.c)

    def under_way(self, number: int, routine: str) -> None:
        """A run was submitted to the device under that number, and is noted until it is done."""
        reached = self.device.memory.timeline.reached
        while self._under_way and self._under_way[0][0] <= reached:
            self._under_way.popleft()
        self._under_way.append((number, routine))

    def notice_loss(self) -> None:
        """Poison the root if its device was lost before a run was done, which may have left buffers half written."""
        timeline = self.device.memory.timeline
        if timeline.why is None or not self._under_way:
            return
        undone = [routine for number, routine in self._under_way if number > timeline.reached]
        self._under_way.clear()
        if undone and self.poison is None:
            self.poison = (undone[0], timeline.lost())
            lib.cf_ledger_poison(self.ledger)

    def check_poison(self, operation: str) -> None:
        """Refuse run/poisoned, naming the routine and the failure."""
        self.notice_loss()
        if self.poison is not None:
            routine, failure = self.poison
            raise refuse("run/poisoned", operation=operation, routine=routine, failure=words(failure))


@contextlib.contextmanager
def both_entered(a: Root, b: Root) -> Generator[None]:
    """Two roots, or one, while a ``with`` block runs."""
    first, second = (a, b) if a.number <= b.number else (b, a)
    with first.entered(), second.entered():
        yield


def forget(location: Location) -> None:
    """The location was given up: no root knows anything of it any more (context:172)."""
    records, location.records = location.records, {}
    for record in records.values():
        with Entered(record.ledger):
            lib.cf_record_forget(record.ledger, record.c)
