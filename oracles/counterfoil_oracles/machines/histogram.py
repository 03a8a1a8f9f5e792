"""What a run of the machine has met: answers of the door and situations that must not be rare."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from counterfoil_oracles.machines.world import World
from counterfoil_spec.answers import Answer
from counterfoil_spec.commands import Command, Outcome, Refused, Returned, references

SITUATIONS: Final = (
    "crossing spans, no byte shared", "identical alias", "sub-byte edge", "pending work", "lost device", "donated view",
)  # fmt: skip
LEAST_OCCURRENCES: Final = 50
LEAST_DONE: Final = 0.30
LEAST_ANSWER: Final = 0.01

_DOORS: Final = frozenset({"kernel", "door", "transfer"})
_WHEN_DONE: Final = SITUATIONS[:3]


@dataclass
class Histogram:
    """Counts over any number of programs."""

    commands: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)

    @property
    def steps(self) -> int:
        """Commands run."""
        return self.commands.total()

    def count(self, command: Command, outcome: Outcome, met: list[str]) -> None:
        """Count a step whose situations, before it ran, were ``met``."""
        self.commands[command.do] += 1
        if isinstance(outcome, Refused):
            self.rules[outcome.rule] += 1
            self.situations["lost device"] += outcome.rule == "memory/lost"
        done = isinstance(outcome, Returned)
        if command.do in ("kernel", "door") and isinstance(outcome, Returned):
            self.answers[outcome.value] += 1
            done = outcome.value == "DONE"
            if not done:
                self.rules[Answer[outcome.value].rule] += 1
        for situation in met:
            self.situations[situation] += done or situation not in _WHEN_DONE

    def shortfalls(self) -> list[str]:
        """What is too rare for the run to mean much, in words; empty when nothing is."""
        calls = self.answers.total() or 1
        low = [f"{name}: {count} times, fewer than {LEAST_OCCURRENCES}" for name, count in self._rare()]
        if self.answers["DONE"] < LEAST_DONE * calls:
            low.append(f"DONE: {self.answers['DONE']} of {calls} door calls, under {LEAST_DONE:.0%}")
        for answer in Answer:
            count = self.answers[answer.name]
            if count < LEAST_ANSWER * calls:
                low.append(f"{answer.name}: {count} of {calls} door calls, under {LEAST_ANSWER:.0%}")
        return low

    def lines(self) -> list[str]:
        """The histogram as text."""
        calls = self.answers.total() or 1
        answers = [f"{answer.name} {self.answers[answer.name] / calls:.1%}" for answer in Answer]
        situations = [f"{name} {self.situations[name]}" for name in SITUATIONS]
        return [
            f"{self.steps} commands, {len(self.rules)} rules hit, {self.answers.total()} door calls",
            "answers: " + ", ".join(answers),
            "situations: " + ", ".join(situations),
        ]

    def _rare(self) -> list[tuple[str, int]]:
        counts = [(name, self.situations[name]) for name in SITUATIONS]
        return [(name, count) for name, count in counts if count < LEAST_OCCURRENCES]


# --- situations ------------------------------------------------------------------------------------------------------


def situations(world: World, command: Command) -> list[str]:
    """The situations that a command is about to meet."""
    met = []
    if command.do == "claims.enter" and any(_is_view(world, name) for name in references(command.args["donate"])):
        met.append("donated view")
    if command.do in _DOORS:
        met += _door_situations(world, command)
    if command.do != "drop" and any(
        world.pending(name) for name in references(command.args) if name in world.places and name in world.roles
    ):
        met.append("pending work")
    return met


def _is_view(world: World, name: str) -> bool:
    return name in world.places and world.buffer(name).nbytes < world.sizes[world.places[name].memory]


def _door_situations(world: World, command: Command) -> list[str]:
    args = command.args
    keys = {"kernel": ("dst", "sources"), "door": ("written", "read"), "transfer": ("dst", "src")}[command.do]
    written, read = ([name for name in references(args.get(key)) if name in world.places] for key in keys)
    written = [name for name in written if world.roles[name] == "array"]
    read = [name for name in read if world.roles[name] == "array"]
    met = ["sub-byte edge"] if any(_ends_inside_a_byte(world, name) for name in written) else []
    pairs = [(one, other) for one in written for other in [*written, *read] if one is not other or one in read]
    near = [(one, other) for one, other in pairs if world.places[one].memory == world.places[other].memory]
    if any(_identical(world, one, other) for one, other in near):
        met.append("identical alias")
    if any(_cross_apart(world, one, other) for one, other in near):
        met.append("crossing spans, no byte shared")
    return met


def bits(world: World, name: str) -> list[int]:
    """The first bit of each element of an array in its memory, in C order."""
    array, place = world.named(name), world.places[name]
    layout, width = array.layout, array.dtype.bits
    indices = itertools.product(*map(range, layout.shape))
    return [
        place.first * 8 + width * (layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True)))
        for index in indices
    ]


def _bytes(world: World, name: str) -> set[int]:
    width = world.dtype(name).bits
    return {byte for start in bits(world, name) for byte in range(start // 8, (start + width + 7) // 8)}


def _identical(world: World, one: str, other: str) -> bool:
    same = world.shape(one) == world.shape(other) and world.dtype(one).bits == world.dtype(other).bits
    return same and world.size(one) > 0 and bits(world, one) == bits(world, other)


def _cross_apart(world: World, one: str, other: str) -> bool:
    left, right = _bytes(world, one), _bytes(world, other)
    if not left or not right or left & right:
        return False
    return min(left) < max(right) and min(right) < max(left)


def _ends_inside_a_byte(world: World, name: str) -> bool:
    width = world.dtype(name).bits
    if width >= 8:
        return False
    reached = {bit for start in bits(world, name) for bit in range(start, start + width)}
    return any(bit // 8 * 8 + at not in reached for bit in reached for at in range(8))
