"""The reference and a target in step: outcomes compared, and what every written array holds afterwards.

A command that the target does not do is run by nobody: both sides stay in step, and it is counted as skipped. The
target answers first, so that what it turns out not to do leaves the reference as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.numeric import STORES, places
from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.profiles import outside
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



class Skip(Exception):
    """Nobody ran the command; ``args[0]`` says why."""


class TargetPair:
    """``step`` runs one command on both, ``finding`` tells how they part; ``skipped`` counts what nobody ran, ``asked``
    is what the target was asked to do."""

    def __init__(self, reference: Any, target: Target, profile: Profile, mapper: Mapper | None = None) -> None:
        self.reference = Driver(reference)
        self.target = target
        self.profile = profile
        self.skipped: Counter[str] = Counter()
        self.asked: list[Command] = []
        self._mapper = mapper or Mapper()
        self._commands = frozenset(target.identity.commands)
        self._dtypes = frozenset(target.identity.dtypes)
        self._fresh = True
        self._unspecified: dict[int, Any] = {}

    def step(self, command: Command) -> tuple[Outcome, Finding | None]:
        """The reference's outcome, and how the target parts from it. Raises Skip where nobody ran it."""
        self._check_done(command)
        self.asked.append(command)
        [actual] = self._ask(command)
        if isinstance(actual, Skipped):
            self.skipped[command.do] += 1
            raise Skip(actual.reason)
        with self.reference.half.intervals.watching() as records:
            expected = self.reference.execute(command)
        if isinstance(expected, Returned) and isinstance(actual, Value) and self._reads_anything(command):
            return expected, None
        finding = judged(command, expected, actual, self.profile, self._mapper)
        if finding is None and isinstance(expected, Returned) and self._is_left_to_it(command, expected, actual):
            finding = self._left(command)
        elif finding is None and isinstance(expected, Returned):
            self._fill(command)
            finding = self._content(command, expected, records)
        records.clear()
        return expected, finding

    @property
    def fills(self) -> bool:
        """Whether the target can be told what fresh memory holds."""
        return FILL in self._commands

    def _fill(self, command: Command) -> None:
        """Say what fresh memory holds, right after it was made."""
        thing = self.reference.names.get(command.bind or "")
        if command.do not in _FRESH or thing is None or not self.fills:
            return
        args = {"buffer": {"ref": command.bind}}
        for step in (
            Command(do=FILL, args={**args, "byte": 0}),
            Command(do=WAIT, args={**args, "access": "read_write"}),
        ):
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

        Nothing is asked of a target that does not list the command.
        """
        if READ not in self._commands:
            return None
        for name, thing in self.reference.names.items():
            if is_readable(thing):
                found = self._compared(Command(do=READ, args={"array": {"ref": name}}), name)
                if found is not None:
                    return found
        return None

    def close(self) -> None:
        """Forget the program. The target stays, for the next one."""
        self.reference.close()

    def _check_done(self, command: Command) -> None:
        why = None
        if command.do not in self._commands:
            why = f"the target has no {command.do}"
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
        return self.target.run([wire.step_of(command) for command in commands], fresh)

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
        found = judged(asked, self.reference.execute(asked), actual, self.profile, self._mapper)
        if found is None:
            return None
        kind = Kind.CONTENT if found.kind is Kind.VALUE else found.kind
        return Finding(kind, command, found.rule, f"{name}: {found.words}", asked, actual)

    def _taken_over(self, command: Command, ours: Any, record: Any, name: str) -> Finding | None:
        """Where the rules leave room (N1 to N3): the target's bits, if they lie in it, become the reference's (N5)."""
        asked = Command(do=READ, args={"array": {"ref": name}})
        [actual] = self._ask(asked)
        codes = wire.codes_of(actual.value) if isinstance(actual, Value) else None
        if codes is None or len(codes) != len(record.accepts):
            return None if isinstance(actual, Skipped | Refusal) else Finding(
                Kind.CONTENT, command, None, f"{name}: {actual} holds no {len(record.accepts)} elements", asked, actual
            )  # fmt: skip
        inspection, dtype = self.reference.half.inspection, ours.dtype
        held = int.from_bytes(inspection.memory_bytes(ours.buffer), "little")
        mask = (1 << dtype.bits) - 1
        for (index, position), accept, code in zip(places(ours.layout), record.accepts, codes, strict=True):
            at = position * dtype.bits
            right = held >> at & mask
            fits = code == right if accept is None else accept.accepts(dtype, code)
            if not fits:
                room = "" if accept is None else f": outside {accept}"
                words = f"{name}: element {list(index)} is {dtype.name} code {code:#x}, not {right:#x}{room}"
                return Finding(Kind.CONTENT, command, None, words, asked, actual)
            held ^= (code ^ right) << at
        inspection.poke(ours.buffer, held.to_bytes(ours.buffer.nbytes, "little"))
        return None


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


def is_odd(data: Any) -> bool:
    """Whether arguments hold one that no caller should pass."""
    if isinstance(data, dict):
        return data.keys() == {"odd"} or any(is_odd(value) for value in data.values())
    return isinstance(data, list) and any(is_odd(entry) for entry in data)


def is_readable(thing: Any) -> bool:
    """Whether an array can be read without a refusal: live, not exclusive, addressed by the host, nothing pending."""
    if not hasattr(thing, "layout"):
        return False
    buffer = thing.buffer
    if buffer.dead is not None or buffer.claims[1] or not buffer.memory.on_host:
        return False
    written = buffer.memory.stamps.last_write
    is_there = written is None or written[0].reached >= written[1]
    return is_there and all(owner.lost is None for owner in (buffer.device, buffer.memory.device))
