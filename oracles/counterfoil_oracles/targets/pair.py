"""The reference and a target in step: outcomes compared, and what every written array holds afterwards.

A command that the target does not do is run by nobody: both sides stay in step, and it is counted as skipped. The
target answers first, so that what it turns out not to do leaves the reference as it was.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.numeric import STORES
from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.contents import ContextContents
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.operands import operands
from counterfoil_oracles.targets.profiles import outside
from counterfoil_oracles.targets.taking import take_over
from counterfoil_oracles.targets.target import Target
from counterfoil_oracles.targets.verdicts import DECLINED, Finding, Kind, judged
from counterfoil_spec.commands import Command, Outcome, Returned, references
from counterfoil_spec.protocol import Profile, Refusal, Skipped, TargetOutcome, Value

READ: Final = "array.to_values"
"""The command by which a target shows what an array holds."""

WRITTEN: Final = {"kernel": "dst", "array.set": "array", "transfer": "dst", "array.writing": "array"}
"""The argument that a command writes to."""

FILL: Final = "submit_fill"
"""The command that stores a byte everywhere: fresh memory holds anything until then."""

WAIT: Final = "buffer.wait"
"""The command that performs what a device has to do to it."""

_FRESH: Final = frozenset({"buffer", "empty", "host_array"})
_DTYPES: Final = frozenset({"dtype", "cast"})
READS: Final = frozenset(
    {"array.to_values", "array.get", "array.reading", "array.export", "buffer.bytes", "buffer.export"}
)
"""Commands whose value is what memory holds."""


MOST_READ: Final = 1 << 20
"""Elements of an array that is looked at."""


class Skip(Exception):
    """Nobody ran the command; ``args[0]`` says why."""


class Late(Exception):
    """The time given to a program is over; the command was not run."""


class TargetPair:
    """``step`` runs one command on both, ``finding`` tells how they part; ``skipped`` counts what nobody ran, ``asked``
    is what the target was asked to do; past ``deadline``, of the monotonic clock, no command is run."""

    def __init__(self, reference: Any, target: Target, profile: Profile, mapper: Mapper | None = None) -> None:
        self.reference = Driver(reference)
        self.target = target
        self.profile = profile
        self.skipped: Counter[str] = Counter()
        self.asked: list[Command] = []
        self.deadline: float | None = None
        self._mapper = mapper or Mapper()
        self._commands = frozenset(target.identity.commands)
        self._dtypes = frozenset(target.identity.dtypes)
        self._fresh = True
        self._unspecified: dict[int, Any] = {}
        self._contexts = ContextContents(self.reference, self._asked, self._judged)

    def step(self, command: Command) -> tuple[Outcome, Finding | None]:
        """The reference's outcome, and how the target parts from it.

        Raises Skip where nobody ran it, Late past the deadline.
        """
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Late
        self._check_done(command)
        outcome, finding = self._stepped(command)
        if finding is not None:
            finding = replace(finding, operands=operands(command, self.reference.names))
        return outcome, finding

    def _stepped(self, command: Command) -> tuple[Outcome, Finding | None]:
        self.asked.append(command)
        late = self._contexts.before(command)
        if late is not None:
            return Returned(), late
        [actual] = self._ask(command)
        if isinstance(actual, Skipped):
            self.skipped[command.do] += 1
            raise Skip(actual.reason)
        with self.reference.half.intervals.watching() as records:
            expected = self.reference.execute(command)
        if isinstance(expected, Returned) and isinstance(actual, Value) and self._reads_anything(command):
            return expected, None
        actual = self._contexts.settled(command, expected, actual, records)
        finding = self._judged(command, expected, actual)
        if finding is None and isinstance(expected, Returned) and self._is_left_to_it(command, expected, actual):
            finding = self._left(command)
        elif finding is None and isinstance(expected, Returned):
            self._fill(command)
            finding = self._content(command, expected, records) or self._contexts.after(command, records)
        records.clear()
        return expected, finding

    @property
    def fills(self) -> bool:
        """Whether the target can be told what fresh memory holds."""
        return FILL in self._commands

    def _fill(self, command: Command) -> None:
        """Say what fresh memory holds, right after it was made."""
        if self.reference.names.get(command.bind or "") is None or not self.fills:
            return
        for step in filling(command):
            if step.do in self._commands:
                self._ask(step)
                self.reference.execute(step)

    def _is_left_to_it(self, command: Command, expected: Returned, actual: TargetOutcome) -> bool:
        """Whether one side declined what the other did, where the profile leaves that free."""
        declined = [rule_of_outcome(command, expected) == DECLINED, _declines(command, actual)]
        return self.profile.declines == "free" and sum(declined) == 1

    def _left(self, command: Command) -> Finding | None:
        """What a call that one side alone did leaves in its destination becomes the reference's."""
        thing = self.reference.names.get(command.args.get("dst", {}).get("ref", ""))
        if command.do != "kernel" or thing is None or not is_readable(thing):
            return None
        anything = self.reference.half.intervals.ANYTHING
        record = self.reference.half.intervals.Record(thing, [anything] * thing.layout.size)
        return self._taken_over(command, thing, record, command.args["dst"]["ref"])

    def _reads_anything(self, command: Command) -> bool:
        """Whether a command looks at fresh memory, of which nobody said what it holds."""
        if command.do not in READS:
            return False
        things = [self.reference.names.get(name) for name in references(command.args)]
        return any(id(_memory(thing)) in self._unspecified for thing in things if thing is not None)

    def look(self) -> Finding | None:
        """The first live array of the host that holds other elements than the reference's; None if none does.

        Nothing is asked of a target that does not list the command. Then the contexts, in the same way.
        """
        for name, thing in self.reference.names.items() if READ in self._commands else ():
            if is_readable(thing):
                asked = Command(do=READ, args={"array": {"ref": name}})
                found = self._compared(asked, name)
                if found is not None:
                    return replace(found, operands=operands(asked, self.reference.names))
        return self._contexts.look()

    def close(self) -> None:
        """Forget the program. The target stays, for the next one."""
        self.reference.close()

    def _check_done(self, command: Command) -> None:
        why = None
        if command.do not in self._commands:
            why = f"the target has no {command.do}"
        elif is_harness(command):
            why = "no target is told what memory holds that it makes later"
        elif any(value not in self._dtypes for value in dtypes_of(command.args)):
            why = "the target lacks a dtype of it"
        elif any(name not in self.reference.names for name in references(command.args)):
            why = "it names what was never made"
        elif "odd" not in self._commands and is_odd(command.args):
            why = "it takes arguments of its own types only"
        else:
            why = outside(command, self.profile, self.reference.names)
        if why is not None:
            self.skipped[command.do] += 1
            raise Skip(why)

    def _ask(self, *commands: Command) -> list[TargetOutcome]:
        fresh, self._fresh = self._fresh, False
        outcomes = self.target.run([wire.step_of(command) for command in commands], fresh)
        for command, outcome in zip(commands, outcomes, strict=True):
            wire.check_bits(command.do, outcome)
        return outcomes

    def _asked(self, command: Command) -> TargetOutcome:
        """What the target says to a question beside the program."""
        return self._ask(command)[0] if command.do in self._commands else Skipped(f"the target has no {command.do}")

    def _judged(self, command: Command, expected: Outcome, actual: TargetOutcome) -> Finding | None:
        return judged(command, expected, actual, self.profile, self._mapper)

    def _content(self, command: Command, expected: Returned, records: list[Any]) -> Finding | None:
        """Compare what the command wrote or made."""
        written = command.args[WRITTEN[command.do]]["ref"] if command.do in WRITTEN else command.bind
        thing = self.reference.names.get(written) if written is not None else None
        if thing is not None and command.do in _FRESH and not self.fills:
            memory = _memory(thing)
            self._unspecified[id(memory)] = memory
        if thing is None or READ not in self._commands or not is_readable(thing):
            return None
        if command.do in _FRESH and self.fills:
            return None
        if command.bind is not None and id(thing.buffer.memory) in self._unspecified:
            return self._adopted(command, thing)
        room = [record for record in records if any(accept is not None for accept in record.accepts)]
        if room and command.do in STORES:
            return self._taken_over(command, thing, room[-1], str(written))
        return self._compared(command, str(written))

    def _adopted(self, command: Command, thing: Any) -> Finding | None:
        """An array over memory that nobody wrote: the target's elements become the reference's."""
        anything = self.reference.half.intervals.ANYTHING
        record = self.reference.half.intervals.Record(thing, [anything] * thing.layout.size)
        found = self._taken_over(command, thing, record, command.bind or "")
        if thing.layout.is_contiguous and thing.dtype.nbytes(thing.layout.size) == thing.buffer.memory.nbytes:
            del self._unspecified[id(thing.buffer.memory)]
        return found

    def _compared(self, command: Command, name: str) -> Finding | None:
        asked = Command(do=READ, args={"array": {"ref": name}})
        [actual] = self._ask(asked)
        if isinstance(actual, Skipped):
            return None
        found = self._judged(asked, self.reference.execute(asked), actual)
        if found is None:
            return None
        kind = Kind.CONTENT if found.kind is Kind.VALUE else found.kind
        return Finding(kind, command, found.rule, f"{name}: {found.words}", asked, actual)

    def _taken_over(self, command: Command, ours: Any, record: Any, name: str) -> Finding | None:
        """Where the rules leave room (N1 to N3): the target's bits, if they lie in it, become the reference's (N5)."""
        asked = Command(do=READ, args={"array": {"ref": name}})
        [actual] = self._ask(asked)
        codes = wire.codes_shown(asked.do, actual, ours.dtype.name)
        if codes is None or len(codes) != len(record.accepts):
            return None if isinstance(actual, Skipped | Refusal) else Finding(
                Kind.CONTENT, command, None, f"{name}: {actual} holds no {len(record.accepts)} elements", asked, actual
            )  # fmt: skip
        wrong = take_over(self.reference.half, ours, record.accepts, codes)
        return None if wrong is None else Finding(Kind.CONTENT, command, None, f"{name}: {wrong}", asked, actual)


def filling(command: Command) -> list[Command]:
    """What says what fresh memory holds, after a command that makes some; nothing after any other."""
    if command.do not in _FRESH or command.bind is None:
        return []
    args = {"buffer": {"ref": command.bind}}
    return [Command(do=FILL, args={**args, "byte": 0}), Command(do=WAIT, args={**args, "access": "read_write"})]


def _memory(thing: Any) -> Any:
    return getattr(thing.buffer if hasattr(thing, "layout") else thing, "memory", None)


def _declines(command: Command, outcome: TargetOutcome) -> bool:
    if isinstance(outcome, Refusal):
        return outcome.rule == DECLINED
    return isinstance(outcome, Value) and rule_of_outcome(command, Returned(outcome.value)) == DECLINED


def dtypes_of(data: Any) -> Iterator[str]:
    """The names of dtypes in arguments, at any depth."""
    if isinstance(data, list):
        for entry in data:
            yield from dtypes_of(entry)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in _DTYPES and isinstance(value, str):
                yield value
            else:
                yield from dtypes_of(value)


def is_harness(command: Command) -> bool:
    """Whether a command is the harness's own, though contexts have one of its name: poison, of memory."""
    return command.do == "poison" and "byte" in command.args


def is_odd(data: Any) -> bool:
    """Whether arguments hold one that no caller should pass."""
    if isinstance(data, dict):
        return data.keys() == {"odd"} or any(is_odd(value) for value in data.values())
    return isinstance(data, list) and any(is_odd(entry) for entry in data)


def is_readable(thing: Any) -> bool:
    """Whether an array can be read without a refusal: live, not exclusive, addressed by the host, nothing pending.

    And within reason: a broadcast view of one element may have more of them than any memory holds values.
    """
    if not hasattr(thing, "layout") or thing.layout.size > MOST_READ:
        return False
    buffer = thing.buffer
    if buffer.dead is not None or buffer.claims[1] or not buffer.memory.on_host:
        return False
    written = buffer.memory.stamps.last_write
    is_there = written is None or written[0].reached >= written[1]
    return is_there and all(owner.lost is None for owner in (buffer.device, buffer.memory.device))
