"""``counterfoil check``: random programs on both halves until the time is over or the halves part.

Two machines take turns, by time: that of arrays and that of contexts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.compare import Divergence
from counterfoil_oracles.failures import DIRECTORY, recorded, reproduce, save
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.contexts.machine import context_program
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.program import Diverged
from counterfoil_oracles.shrink import shrink
from counterfoil_spec.commands import Trace
from counterfoil_spec.rules import registry

PROGRAM_STEPS: Final = 120
"""Commands of one program, about."""

MACHINES: Final = ("arrays", "contexts")
"""The machines by name."""


@dataclass(frozen=True)
class Failure:
    """A defect found: where the halves part in the shrunk program, its trace, and the file that keeps it."""

    divergence: Divergence
    trace: Trace
    path: Path
    steps_before: int


@dataclass
class Report:
    """What a check did: the array machine's counts, the context machine's, and what was found."""

    histogram: Histogram = field(default_factory=Histogram)
    tally: Tally = field(default_factory=Tally)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    programs: int = 0

    @property
    def steps(self) -> int:
        """Commands run by both machines."""
        return self.histogram.steps + self.tally.steps

    @property
    def rules(self) -> set[str]:
        """The rules that refused something."""
        return {*self.histogram.rules, *self.tally.rules}

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds if self.seconds else 0.0


def check(
    reference: Any,
    subject: Any,
    seconds: float,
    seed: int = 0,
    most_failures: int = 1,
    directory: Path = DIRECTORY,
    progress: Progress | None = None,
    machines: Sequence[str] = MACHINES,
) -> Report:
    """Programs drawn from seed, seed + 1, ... for about that many seconds, or until ``most_failures`` defects."""
    report = Report()
    spent = dict.fromkeys(machines, 0.0)
    settle_imports()
    started = time.monotonic()
    while time.monotonic() - started < seconds and len(report.failures) < most_failures:
        machine, began = min(spent, key=lambda name: spent[name]), time.monotonic()
        try:
            run_program(machine, reference, subject, seed + report.programs, report)
        except Diverged as found:
            report.seconds = time.monotonic() - started
            report.failures.append(_failure(reference, subject, found, report, directory))
        report.programs += 1
        spent[machine] += time.monotonic() - began
        report.seconds = time.monotonic() - started
        if progress is not None:
            progress.show(report)
    if progress is not None:
        progress.end()
    return report


def run_program(machine: str, reference: Any, subject: Any, seed: int, report: Report) -> None:
    """One program of a machine, counted in the report; raises program.Diverged."""
    if machine == "arrays":
        random_program(reference, subject, seed, PROGRAM_STEPS, report.histogram)
    else:
        context_program(reference, subject, seed, PROGRAM_STEPS, report.tally)


def _failure(reference: Any, subject: Any, found: Diverged, report: Report, directory: Path) -> Failure:
    commands = [step.command for step in found.trace.steps]
    short = shrink(reference, subject, commands, found.divergence, seconds=15)
    trace, divergence = recorded(reference, subject, short)
    if divergence is None:  # it does not fail twice: keep the whole program
        trace, divergence = found.trace, found.divergence
    return Failure(divergence, trace, save(trace, divergence, directory), report.steps)


class Progress:
    """A live line on a terminal, and nothing elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._next = 0.0

    def show(self, report: Report) -> None:
        """Say where the check is, if it is time to."""
        if not self._live or report.seconds < self._next:
            return
        self._next = report.seconds + 0.2
        self._stream.write(f"\r\x1b[K{self._text(report)}")
        self._stream.flush()

    def end(self) -> None:
        """Leave the terminal clean."""
        if self._live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _text(self, report: Report) -> str:
        rules = sum(rule.kind == "refusal" and rule.status == "active" for rule in registry().values())
        return (
            f"{report.seconds:5.1f} s  {report.steps} steps  {report.rate:.0f} steps/s  "
            f"rules hit {len(report.rules)} of {rules}  divergences {len(report.failures)}"
        )


def summary(report: Report) -> list[str]:
    """The report as text: the histogram, then each failure with the line that reproduces it."""
    lines = [f"{report.programs} programs, {report.rate:.0f} steps a second"]
    for name, counts in (("arrays", report.histogram), ("contexts", report.tally)):
        if counts.steps:
            lines += [f"{name}:", *(f"  {line}" for line in counts.lines())]
    for failure in report.failures:
        lines += ["", f"divergence after {failure.steps_before} steps, shrunk to {len(failure.trace.steps)}:"]
        lines += [f"  {failure.divergence.difference}", f"  {reproduce(failure.path)}"]
    return lines
