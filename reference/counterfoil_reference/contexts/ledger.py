"""The ledger of a root: what its values know of ids, buffers, merge fills, counts and poison (docs/contexts.md, §4)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil_reference.contexts.pools import Location
from counterfoil_reference.history import NOTHING_COUNTED, Counts, reset, retired
from counterfoil_reference.lineage import Entry
from counterfoil_spec.refusals import refuse
from counterfoil_spec.values import words

if TYPE_CHECKING:
    from counterfoil_reference.contexts.units import Unit

_events: Final = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Token:
    """One write of a shared constant, and the root that made it (context:57). Compared by identity."""

    ledger: Ledger


@dataclass(frozen=True)
class Before:
    """What the records said of a buffer before a run wrote it."""

    written: bool
    writer: int | None
    token: Token | None
    known: Token | None
    event: int


@dataclass(frozen=True)
class LatestRun:
    """A routine's latest run: its number, and what it found (C5). ``counted``: buffers whose counts it moved."""

    event: int
    counts: Counts
    found: dict[Location, Before]
    counted: frozenset[Location]


class Ledger:
    """Shared by every value of one root, and by nobody else. Ids are drawn by routines and merge fills alike.

    ``names``, ``executed``; ``writers``: the routine that last wrote a buffer; ``written``: buffers somebody wrote;
    ``known``: per shared constant the write this root made or adopted; ``consumers``: per fill the routines that read
    it with the units that own them; ``fill``: the current one; ``counts``: the accumulation history; ``entries``:
    routines not retired; ``living``: the units whose values have a routine in their lineage (C17); ``runs``: latest
    runs; ``poison``: (routine's name, failure); ``leftovers``: recomputes whose release failed.
    """

    def __init__(self) -> None:
        self.next_id = 0
        self.names: dict[int, str] = {}
        self.executed: set[int] = set()
        self.writers: dict[Location, int] = {}
        self.written: set[Location] = set()
        self.known: dict[Location, Token] = {}
        self.consumers: dict[int, dict[int, set[Unit]]] = {}
        self.fill: int | None = None
        self.counts: Counts = NOTHING_COUNTED
        self.entries: dict[int, Entry] = {}
        self.living: dict[int, set[Unit]] = {}
        self.runs: dict[int, LatestRun] = {}
        self.poison: tuple[str, BaseException] | None = None
        self.leftovers: list[Unit] = []

    def new_id(self) -> int:
        """An id never given before."""
        self.next_id += 1
        return self.next_id - 1

    @property
    def records(self) -> int:
        """Names, executed ids, merge registrations and current writers (context:107)."""
        registrations = sum(len(consumers) for consumers in self.consumers.values())
        return len(self.names) + len(self.executed) + registrations + len(self.writers)

    def retire(self, routine_id: int) -> None:
        """No live unit's lineage holds the routine any more (C17)."""
        self.names.pop(routine_id, None)
        self.executed.discard(routine_id)
        self.entries.pop(routine_id, None)
        self.living.pop(routine_id, None)
        self.runs.pop(routine_id, None)
        self.writers = {location: writer for location, writer in self.writers.items() if writer != routine_id}
        for run in self.runs.values():
            for location, before in run.found.items():
                if before.writer == routine_id:
                    run.found[location] = replace(before, writer=None)
        self.counts = retired(self.counts, routine_id)

    def forget(self, location: Location) -> None:
        """The location was given up: a reused one inherits nothing (context:172)."""
        self.written.discard(location)
        self.writers.pop(location, None)
        self.known.pop(location, None)
        self.counts = reset(self.counts, location)

    def check_poison(self, operation: str) -> None:
        """Refuse run/poisoned, naming the routine and the failure."""
        if self.poison is not None:
            routine, failure = self.poison
            raise refuse("run/poisoned", operation=operation, routine=routine, failure=words(failure))

    def is_stale(self, location: Location) -> bool:
        """Whether another root wrote the constant after this one last wrote or adopted it (context:57)."""
        token = location.token
        return token is not None and token.ledger is not self and self.known.get(location) is not token

    def vouches(self, location: Location) -> bool:
        """Whether somebody wrote the buffer, or it holds a literal (C6)."""
        return location in self.written or location.node.literal is not None

    def write_constant(self, location: Location) -> None:
        """A write of a shared constant leaves a token there and here."""
        if location.pool.constant:
            self.known[location] = location.token = Token(self)

    def written_from_outside(self, location: Location, vouched: bool = True) -> None:
        """An upload or a copy replaced the buffer: no writer is current, every count starts again (C8).

        ``vouched``: somebody wrote the value copied; else the buffer has no written record afterwards.
        """
        self.writers.pop(location, None)
        self.counts = reset(self.counts, location)
        self.write_constant(location)
        location.event = next_event()
        if vouched:
            self.written.add(location)
        else:
            self.written.discard(location)


def next_event() -> int:
    """The number of the next write of any buffer in the process."""
    return next(_events)
