"""What would have been allowed in place of a refused command: candidates tried out on the reference, and those accepted
told in words.

Three kinds are tried, in this order: the same command after other steps, with another object, with another value. What
is named was accepted on a fresh replay of all that ran before; which are tried, and how many, depends on the trace
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.explaining import contexts, memories, others
from counterfoil_oracles.explaining.situation import Repair, Situation
from counterfoil_oracles.explaining.trying import Bench, situation_of
from counterfoil_oracles.wording import said_value, words
from counterfoil_spec.commands import Command

MOST: Final = 4
"""Suggestions told, at most."""

_TRIED: Final = {"after": 8, "object": 24, "value": 48}
"""Candidates of a kind that are tried, at most."""

_ENOUGH: Final = 2
"""So many suggestions, and no other values are tried."""

_MENDED: Final = 8
"""Objects, and values, that are tried once more, with what they lack put before."""

_TAKEN: Final = {"after": 3, "object": 1, "value": 1}
"""Suggestions of a kind that are taken, at most."""


@dataclass(frozen=True)
class Suggestion:
    """Commands that are accepted where the refused one stood, the last in its place; and how people are told."""

    commands: tuple[Command, ...]
    words: str


def allowed(ran: Sequence[Command], refused: Command, reference: Any, most: int = MOST) -> list[Suggestion]:
    """What the reference would have accepted after ``ran`` in place of a command that it refuses there.

    Empty where nothing that was tried is accepted, or no rule refuses the command.
    """
    with between_programs():
        bench = Bench(reference, ran)
        try:
            driver = bench.fresh()
            situation = situation_of(driver, ran, refused, driver.execute(refused))
            return [] if situation is None or refused.do == "refused" else _found(bench, situation, most)
        finally:
            bench.close()


def _found(bench: Bench, situation: Situation, most: int) -> list[Suggestion]:
    repairs = _repairs(situation)[: _TRIED["after"]]
    objects = list(islice(others.objects(situation), _TRIED["object"]))
    values = list(islice(others.values(situation), _TRIED["value"]))
    refused = situation.command  # from here on the situation's objects are gone
    found = list(islice(_after(bench, refused, repairs), _TAKEN["after"]))
    if len(found) < _TAKEN["after"]:
        objects_first = chain(_changed(bench, refused, objects), _mended(bench, refused, objects))
        found += islice(_worth(found, objects_first), _TAKEN["object"])
    if len(found) < _ENOUGH:
        found += islice(chain(_changed(bench, refused, values), _mended(bench, refused, values)), _TAKEN["value"])
    return [each for each in found[:most] if bench.confirms(each.commands)]


def _worth(found: Sequence[Suggestion], candidates: Iterable[Suggestion]) -> Iterator[Suggestion]:
    """Those that ask for something else than one found before does, and more."""
    seen = [set(map(repr, each.commands[:-1])) for each in found]
    for candidate in candidates:
        steps = set(map(repr, candidate.commands[:-1]))
        if not any(before <= steps for before in seen):
            seen.append(steps)
            yield candidate


def _repairs(situation: Situation) -> list[Repair]:
    return [*contexts.repairs(situation), *memories.repairs(situation)]


def _after(bench: Bench, refused: Command, repairs: Sequence[Repair]) -> Iterator[Suggestion]:
    """The same command after other steps."""
    mended = (bench.mended(repair, refused, _repairs) for repair in repairs)
    found = (Suggestion(tuple(steps), _told_first(steps, refused)) for steps in mended if steps is not None)
    yield from _worth((), found)


def _told_first(steps: Sequence[Command], refused: Command) -> str:
    told = [words(Command(do=each.do, args=each.args)) for each in steps[:-1]]
    told = [
        f"{text} as {each.bind}" if each.bind is not None else text for text, each in zip(told, steps, strict=False)
    ]
    last = steps[-1]
    same = "then the same" if last == refused else f"then {words(Command(do=last.do, args=last.args))}"
    return f"first {', then '.join(told)}; {same}"


def _changed(bench: Bench, refused: Command, changes: Sequence[others.Change]) -> Iterator[Suggestion]:
    """The same command but for one object, or one value."""
    for change in changes:
        other = others.changed(refused, change)
        if other != refused and bench.accepts(other):
            yield Suggestion((other,), _told_change(refused, change))


def _mended(bench: Bench, refused: Command, changes: Sequence[others.Change]) -> Iterator[Suggestion]:
    """The same command but for one object or value, after what it lacks then."""
    for change in changes[:_MENDED]:
        other = others.changed(refused, change)
        steps = bench.mended(Repair(()), other, _repairs)
        if steps is not None and len(steps) > 1:
            yield Suggestion(tuple(steps), _told_first(steps, refused))


def _told_change(refused: Command, change: others.Change) -> str:
    path, value = change
    where = " ".join(str(part) if isinstance(part, str) else f"entry {part + 1}" for part in path)
    if value is None:
        return f"the same without {where}"
    stood = others.stood(refused, change)
    instead = "" if stood is None else f" in place of {said_value(stood)}"
    return f"the same with {said_value(value)}{instead} as {where}"
