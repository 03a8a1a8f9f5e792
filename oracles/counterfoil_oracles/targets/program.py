"""One random program of the array machine on the reference and a target."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil_oracles.collecting import between_programs
from counterfoil_oracles.machines.choices import RandomChooser, weighted
from counterfoil_oracles.machines.world import Plan, World
from counterfoil_oracles.targets.pair import Skip, TargetPair
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Command, Fault, Header, Outcome, Step, Trace

Plans = Sequence[tuple[int, Callable[[World], Plan[None]]]]


class Parted(Exception):
    """The target parted from the reference; ``trace`` is all that ran, the last step included."""

    def __init__(self, finding: Finding, trace: Trace) -> None:
        super().__init__(finding.words)
        self.finding = finding
        self.trace = trace


@dataclass
class Ran:
    """What came of a program: commands run, and the rules that refused one of them."""

    steps: int
    rules: set[str]


class TargetProgram:
    """Runs plans on a pair; what nobody runs is answered by a fault, which plans take as nothing made."""

    def __init__(self, pair: TargetPair, world: World, observe: Callable[[Command, Outcome], None]) -> None:
        self.pair = pair
        self.world = world
        self.steps: list[Step] = []
        self.recent: deque[Command] = deque(maxlen=12)
        self._observe = observe

    def run(self, plan: Plan[None]) -> None:
        """Run a plan to its end; raises Parted."""
        try:
            command = next(plan)
            while True:
                command = plan.send(self._step(command))
        except StopIteration:
            pass

    def _step(self, command: Command) -> Outcome:
        try:
            outcome, finding = self.pair.step(command)
        except Skip as skip:
            if self.pair.asked and self.pair.asked[-1] is command:
                self.steps.append(Step(command=command))  # the target was asked: what it skips, it may have begun
            return self.passed_over(command, skip)
        self.steps.append(Step(command=command, outcome=outcome))
        self._observe(command, outcome)
        if finding is not None:
            raise Parted(finding, self.trace)
        self.world.learn(command, outcome)
        self.recent.append(command)
        return outcome

    def passed_over(self, command: Command, skip: Skip) -> Outcome:
        """What a plan is told of a command that nobody ran."""
        return Fault(f"skipped: {skip}")

    @property
    def trace(self) -> Trace:
        """What ran so far."""
        return Trace(Header(title="a program on a target"), list(self.steps))


def run_program(
    make_pair: Callable[[], TargetPair],
    plans: Plans,
    begin: Callable[[World], Plan[None]],
    seed: int,
    length: int,
    observe: Callable[[Command, Outcome], None],
    reference: Any,
) -> int:
    """A program of about ``length`` steps drawn from ``seed``; the steps it took. Raises Parted."""
    chooser = RandomChooser(seed)
    with between_programs(reference):
        pair = make_pair()
        try:
            program = TargetProgram(pair, World(pair.reference, chooser), observe)
            program.run(begin(program.world))
            attempts = 0 if program.world.all("device") else 4 * length  # without a host there is nothing to draw
            while len(program.steps) < length and attempts < 4 * length:
                attempts += 1
                program.run(weighted(chooser, plans)(program.world))
            finding = pair.look()
            if finding is not None:
                raise Parted(finding, program.trace)
            return len(program.steps)
        finally:
            pair.close()


def first_finding(
    pair: TargetPair, commands: Sequence[Command], observe: Callable[[Command, Outcome], None] | None = None
) -> tuple[Finding, int] | None:
    """The first finding that commands show, and at which of them; what nobody runs is passed over."""
    for at, command in enumerate(commands):
        try:
            outcome, finding = pair.step(command)
        except Skip:
            continue
        if observe is not None:
            observe(command, outcome)
        if finding is not None:
            return finding, at
    last = pair.look()
    return None if last is None else (last, len(commands) - 1)


class Recording:
    """The outcomes of a program's commands as they come in, for its trace."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._commands = commands
        self._outcomes: dict[int, Outcome] = {}

    def __call__(self, command: Command, outcome: Outcome) -> None:
        """Note an outcome."""
        self._outcomes[id(command)] = outcome

    def steps(self, end: int | None = None) -> list[Step]:
        """The steps up to ``end``, those that nobody ran without an outcome: what a target skips it may have begun."""
        return [Step(command=each, outcome=self._outcomes.get(id(each))) for each in self._commands[:end]]
