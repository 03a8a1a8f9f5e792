"""Which unit comes next, and what has been done: the state of a campaign, kept in its journal line by line.

A unit is written down before it is handed out, and again when its result is there. A campaign that starts again reads
both: what was handed out and never answered comes first, then the programs after all of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from counterfoil_oracles.campaigns.stores import Journal
from counterfoil_oracles.campaigns.units import UNIT_SECONDS, Result

FIRST_PROGRAMS: Final = 8
"""Programs in a unit while nobody knows how long they take."""

_MOST_GUESSES: Final = 4
_MOST_PROGRAMS: Final = 5000


class Planned(msgspec.Struct, frozen=True, tag="planned", tag_field="is"):
    """A unit handed out."""

    number: int
    stream: str
    first: int
    programs: int
    vectors: bool


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="is"):
    """A unit answered; its traces are in the database of failures."""

    number: int
    result: Result


_decoder: Final = msgspec.json.Decoder(Planned | Done)


class Plan:
    """Units of several streams, the least advanced first; ``programs`` bounds each stream, from ``seed`` on."""

    def __init__(
        self, journal: Journal, streams: Sequence[str], seed: int, programs: int | None, with_vectors: bool
    ) -> None:
        self._journal = journal
        self._end = None if programs is None else seed + programs
        self._cursors = dict.fromkeys(streams, seed)
        self._unseen = set(streams) if with_vectors else set()
        self._spent = dict.fromkeys(streams, 0.0)
        self._rates: dict[str, float] = {}
        self._waiting: dict[int, Planned] = {}
        self.planned: dict[int, Planned] = {}
        self.done: dict[int, Result] = {}
        for line in journal.lines():
            self._read(_decoder.decode(line))
        self._left = [unit for number, unit in self.planned.items() if number not in self.done]

    def _read(self, event: Planned | Done) -> None:
        if isinstance(event, Planned):
            self.planned[event.number] = event
            self._cursors[event.stream] = max(self._cursors[event.stream], event.first + event.programs)
            self._unseen.discard(event.stream)
        else:
            self._count(event.number, event.result)

    def next(self) -> Planned | None:
        """The next unit to hand out; None where nothing is left, or nothing before a first answer."""
        unit = self._left.pop(0) if self._left else self._cut()
        if unit is not None:
            self._waiting[unit.number] = unit
            self._spent[unit.stream] += UNIT_SECONDS
        return unit

    def _cut(self) -> Planned | None:
        open_streams = [name for name in self._cursors if not self._is_over(name) and not self._is_guessing(name)]
        if not open_streams:
            return None
        stream = min(open_streams, key=lambda name: self._spent[name])
        rate, first = self._rates.get(stream), self._cursors[stream]
        count = FIRST_PROGRAMS if rate is None else max(1, min(_MOST_PROGRAMS, round(rate * UNIT_SECONDS)))
        if self._end is not None:
            count = min(count, self._end - first)
        unit = Planned(len(self.planned), stream, first, count, stream in self._unseen)
        self._journal.append(msgspec.json.encode(unit))
        self._unseen.discard(stream)
        self._cursors[stream] = first + count
        self.planned[unit.number] = unit
        return unit

    def _is_over(self, stream: str) -> bool:
        return self._end is not None and self._cursors[stream] >= self._end

    def _is_guessing(self, stream: str) -> bool:
        """Whether units of unknown length enough are out."""
        out = sum(unit.stream == stream for unit in self._waiting.values())
        return stream not in self._rates and out >= _MOST_GUESSES

    def settle(self, number: int, result: Result) -> None:
        """Note the result of a unit; a broken one is tried again when the campaign starts again."""
        unit = self._waiting.pop(number)
        self._spent[unit.stream] -= UNIT_SECONDS
        if result.broken is None:
            kept = msgspec.structs.replace(result, found=[])
            self._journal.append(msgspec.json.encode(Done(number, kept)))
        self._count(number, result)

    def give_up(self, number: int) -> None:
        """A unit that got no verdict; it is tried again when the campaign starts again."""
        self._waiting.pop(number)

    def _count(self, number: int, result: Result) -> None:
        if number in self.done:
            return
        self.done[number] = result
        stream = self.planned[number].stream
        self._spent[stream] += result.seconds
        if result.programs and result.seconds and not self.planned[number].vectors:
            self._rates[stream] = result.programs / result.seconds
