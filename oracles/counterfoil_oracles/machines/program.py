"""One random program: both halves in step, a world to draw from, and the trace of all that ran."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.coverage import Coverage
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.machines.choices import Chooser
from counterfoil_oracles.machines.histogram import Histogram, situations
from counterfoil_oracles.machines.world import Plan, World
from counterfoil_spec.commands import Command, Header, Outcome, Step, Trace


class Diverged(Exception):
    """The halves parted; ``divergence`` says where, ``trace`` is everything that ran."""

    def __init__(self, divergence: Divergence, trace: Trace) -> None:
        self.divergence = divergence
        self.trace = trace
        super().__init__(f"step {divergence.index}, {divergence.command.do}: {divergence.difference}")


class Program:
    """Runs plans on a pair of halves; ``run`` raises Diverged at the first difference."""

    def __init__(
        self,
        reference: Any,
        subject: Any,
        chooser: Chooser,
        histogram: Histogram,
        coverage: Coverage | None = None,
        world: Callable[[Driver, Chooser], World] = World,
    ) -> None:
        self.pair = Pair(reference, subject)
        self.world = world(self.pair.reference, chooser)
        self.histogram = histogram
        self.coverage = coverage
        self.steps: list[Step] = []
        self.recent: deque[Command] = deque(maxlen=12)
        self.diverged = False

    def run(self, plan: Plan[None]) -> None:
        """Run a plan to its end, each command on both halves."""
        try:
            command = next(plan)
            while True:
                command = plan.send(self._step(command))
        except StopIteration:
            pass

    @property
    def trace(self) -> Trace:
        """What ran so far."""
        return Trace(Header(title="a program of the machine"), list(self.steps))

    def close(self) -> None:
        """Undo what the program left behind in both halves."""
        self.pair.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _step(self, command: Command) -> Outcome:
        met = situations(self.world, command)
        outcome, divergence = self.pair.step(command)
        self.steps.append(Step(command=command, outcome=outcome))
        self.histogram.count(command, outcome, met)
        if divergence is not None:
            self.diverged = True
            raise Diverged(divergence, self.trace)
        if self.coverage is not None:
            self.coverage.observe(command, outcome)
        self.world.learn(command, outcome)
        self.recent.append(command)
        return outcome
