"""What a trace does, moment by moment: what every memory, device and context was after each step."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.explain import facts_of
from counterfoil_oracles.explaining import allowed
from counterfoil_oracles.observe import role
from counterfoil_oracles.wording import outcome_words, words
from counterfoil_spec.commands import Command, Outcome, Trace, matches, references

_WRITES = {"kernel": ("dst",), "array.set": ("array",), "transfer": ("dst",), "array.writing": ("array",),
           "submit_fill": ("buffer",), "submit_copy": ("dst",), "buffer.poke": ("buffer",), "submit": ("writes",),
           "door": ("written",)}  # fmt: skip
"""The arguments that name what a command writes; what else it names it reads."""

_MOST_ASKED = 8
"""Refusals of one trace of which it is asked what would have been allowed: each takes replays of all before it."""


@dataclass(frozen=True)
class Held:
    """A memory at one moment: its names, who holds it, whether it is dead and why."""

    names: tuple[str, ...]
    nbytes: int
    device: str
    claims: int
    exclusive: bool
    exported: bool
    dead: str | None
    pending: bool
    read_only: bool

    @property
    def state(self) -> str:
        """In one word: dead, exclusive, claimed, exported or live."""
        if self.dead is not None:
            return "dead"
        if self.exclusive:
            return "exclusive"
        if self.claims:
            return "claimed"
        return "exported" if self.exported else "live"


@dataclass(frozen=True)
class Unit:
    """A release unit at one moment: the values in it by name, its parent, what it owns, whether it was released."""

    key: int
    parent: int | None
    values: tuple[str, ...]
    routines: tuple[str, ...]
    owned: tuple[str, ...]
    is_fork: bool
    released: bool
    backend: str


@dataclass
class Moment:
    """One step: the command, what came of it, what there was afterwards, and where it was refused what would have been
    allowed (None: nobody asked)."""

    words: str
    outcome: str
    rule: str | None
    unlike: str | None
    source: str
    facts: list[str]
    touched: dict[int, str] = field(default_factory=dict)
    memories: dict[int, Held] = field(default_factory=dict)
    devices: dict[str, tuple[int, int]] = field(default_factory=dict)
    units: dict[int, Unit] = field(default_factory=dict)
    allowed: list[str] | None = None


@dataclass(frozen=True)
class Recording:
    """A trace as it went: its title, the rules its author names, its moments."""

    title: str
    rules: list[str]
    moments: list[Moment]


class Recorder:
    """Runs commands on the reference and looks at everything after each."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._kept: dict[int, tuple[Any, int]] = {}
        self._ran: list[Command] = []

    def step(self, command: Command, recorded: Outcome | None) -> Moment:
        """Run one command; the moment after it."""
        facts = list(facts_of(self.driver, command, self._ran))
        self._ran.append(command)
        outcome = self.driver.execute(command)
        unlike = None
        if recorded is not None and not matches(recorded, outcome):
            unlike = f"the trace says {outcome_words(command, recorded)}"
        source = json.dumps(msgspec.to_builtins(command), ensure_ascii=False)
        rule = rule_of_outcome(command, outcome)
        moment = Moment(words(command), outcome_words(command, outcome), rule, unlike, source, facts)
        self._memories(moment)
        self._others(moment)
        if rule is None:
            moment.touched = self._touched(command)
        return moment

    def _number(self, thing: Any) -> int:
        """The number of an object, in the order they were first seen; it is kept, so its id stays its own."""
        return self._kept.setdefault(id(thing), (thing, len(self._kept)))[1]

    def _memories(self, moment: Moment) -> None:
        names: dict[int, list[str]] = {}
        buffers: dict[int, Any] = {}
        for name, thing in self.driver.names.items():
            buffer = thing.buffer if role(thing) == "array" else thing if role(thing) == "buffer" else None
            if buffer is not None:
                key = self._number(buffer.memory)
                names.setdefault(key, []).append(name)
                buffers.setdefault(key, buffer)
        for context in [thing for thing in self.driver.names.values() if role(thing) == "context"]:
            for node, location in context.buffers.items():
                key = self._number(location.pool.buffer.memory)
                labels = names.setdefault(key, [])
                labels += [] if node.label in labels else [node.label]
                buffers.setdefault(key, location.pool.buffer)
        for key, buffer in sorted(buffers.items()):
            count, exclusive, exported = buffer.claims
            device = buffer.memory.device
            moment.memories[key] = Held(
                tuple(names[key]), buffer.memory.nbytes, device.name, count, exclusive, exported, buffer.dead,
                _is_pending(buffer.memory), buffer.access.value == "read",
            )  # fmt: skip

    def _others(self, moment: Moment) -> None:
        units: dict[int, tuple[Any, list[str], Any]] = {}
        for name, thing in self.driver.names.items():
            kind = role(thing)
            if kind == "device" and thing.submitted:
                moment.devices[f"{name} ({thing.name})"] = (thing.submitted, thing.reached)
            elif kind == "context":
                units.setdefault(self._number(thing.unit), (thing.unit, [], thing))[1].append(name)
        for key, (unit, values, context) in sorted(units.items()):
            parent = None if unit.parent is None else self._number(unit.parent)
            last = context.lineage[-1:] if unit.parent is not None and not unit.is_fork else ()
            moment.units[key] = Unit(
                key, parent, tuple(values), tuple(entry.name for entry in last),
                tuple(str(fragment) for entry in last for fragment in entry.owned), unit.is_fork, unit.released,
                context.backend_name,
            )  # fmt: skip

    def _touched(self, command: Command) -> dict[int, str]:
        """The memories that a command names: read or written."""
        written = {name for key in _WRITES.get(command.do, ()) for name in references(command.args.get(key))}
        found: dict[int, str] = {}
        for name in references(command.args):
            thing = self.driver.names.get(name)
            if hasattr(thing, "execution_deps") and command.do == "run":
                found |= self._run(thing)
            buffer: Any = thing.buffer if role(thing) == "array" else thing  # type: ignore[union-attr]
            if thing is not None and hasattr(buffer, "memory"):
                key = self._number(buffer.memory)
                found[key] = "written" if name in written or found.get(key) == "written" else "read"
        return found

    def _run(self, routine: Any) -> dict[int, str]:
        """The memories of a routine that a step ran."""
        buffers = routine.context.buffers
        found: dict[int, str] = {}
        for word, nodes in (("read", routine.inputs), ("written", routine.outputs)):
            for node in nodes:
                if node in buffers:
                    found[self._number(buffers[node].pool.buffer.memory)] = word
        return found


def recorded(trace: Trace, reference: Any) -> Recording:
    """A trace run on the reference, and looked at after each step; of its last refusals, what was allowed instead."""
    with Driver(reference) as driver:
        recorder = Recorder(driver)
        moments = [recorder.step(step.command, step.outcome) for step in trace.steps]
    commands = [step.command for step in trace.steps]
    refused = [at for at, moment in enumerate(moments) if moment.rule is not None]
    for at in refused[-_MOST_ASKED:]:
        moments[at].allowed = [each.words for each in allowed(commands[:at], commands[at], reference)]
    return Recording(trace.header.title or "a trace", list(trace.header.rules), moments)


def _is_pending(memory: Any) -> bool:
    return any(timeline.reached < number for timeline, number in memory.stamps.uses.items())
