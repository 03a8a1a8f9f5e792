"""A check of a target: vectors first, then random programs, until the time or the steps are used up."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.machines.arrays import PLANS
from counterfoil_oracles.machines.plans import memory
from counterfoil_oracles.shrink import shrunk
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import Parted, Plans, first_finding, run_program
from counterfoil_oracles.targets.saving import keep, save
from counterfoil_oracles.targets.target import HarnessBroken, Target
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Command, Header, Outcome, Step, Trace
from counterfoil_spec.protocol import Identity, Profile
from counterfoil_spec.rules import registry

PROGRAM_STEPS: Final = 120
SHRINKING_SECONDS: Final = 5.0
_MOST_SHRINKING: Final = 15.0
"""Seconds of the clock: what a slow target takes is no time of this process."""

_ROOMS: Final = {
    "kernels": {"door", "kernels", "dtypes"}, "arrays": {"arrays", "layouts", "moves"}, "sharing": {"memory", "door"},
    "memory": {"memory", "claims"}, "corners": {"dtypes", "kernels", "door", "layouts"},
    "words": {"dtypes", "layouts", "moves"},
}  # fmt: skip
"""The chapters that each room of plans is about."""


@dataclass(frozen=True)
class Selection:
    """What to check: chapters and rules (empty: all), for how long, from which seed, until how many differences."""

    chapters: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()
    seconds: float = 40.0
    steps: int | None = None
    seed: int = 0
    differences: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether no rule and no chapter is chosen."""
        return not self.rules and not self.chapters

    def takes(self, rule: str | None) -> bool:
        """Whether a finding or a vector about that rule is wanted."""
        if rule is None:
            return not self.rules
        return (not self.rules or rule in self.rules) and (
            not self.chapters or rule.partition("/")[0] in self.chapters or rule in self.rules
        )

    def plans(self) -> Plans:
        """The machine's plans about the chapters chosen."""
        chapters = self.chapters | {rule.partition("/")[0] for rule in self.rules}
        chosen = [entry for entry in PLANS if chapters & _ROOMS.get(entry[1].__module__.rpartition(".")[2], chapters)]
        return chosen if chapters and chosen else PLANS


@dataclass(frozen=True)
class Found:
    """A finding, the shortest program that shows it, where that is kept, and after how many seconds it was met.

    ``snippet``: a program beside the trace that shows the same and needs nothing of ours.
    """

    finding: Finding
    trace: Trace
    path: Path | None
    after: float
    snippet: Path | None = None


@dataclass
class Report:
    """What a check of a target did and found. ``broken``: how the harness broke, if it did. ``unwritten``: files that
    could not be written."""

    identity: Identity
    steps: int = 0
    programs: int = 0
    vectors: int = 0
    seconds: float = 0.0
    rules: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    found: dict[tuple[str, str | None], Found] = field(default_factory=dict)
    met: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    broken: str | None = None
    unwritten: list[str] = field(default_factory=list)

    def observe(self, command: Command, outcome: Outcome) -> None:
        """Count a command that ran, and the rule that refused it."""
        self.steps += 1
        rule = rule_of_outcome(command, outcome)
        if rule is not None:
            self.rules[rule] += 1

    @property
    def untouched(self) -> list[str]:
        """Chapters the target says it has, of which no rule refused anything."""
        touched = {rule.partition("/")[0] for rule in self.rules}
        refusing = {rule.chapter for rule in registry().values() if rule.kind == "refusal" and rule.status == "active"}
        return sorted(set(self.identity.chapters) & refusing - touched)


class Campaign:
    """Checks one target. ``reopen`` starts the target anew after it broke the harness while a program was shrunk."""

    def __init__(
        self,
        reference: Any,
        reopen: Callable[[], Target],
        selection: Selection,
        profile: Profile,
        mapper: Mapper,
        directory: Path = DIRECTORY,
    ) -> None:
        self._reference = reference
        self._reopen = reopen
        self._target = reopen()
        self._selection = selection
        self._profile = profile
        self._mapper = mapper
        self._directory = directory
        self._began = time.monotonic()
        self.report = Report(self._target.identity)
        self._running: list[Command] = []

    def run(self, vectors: Iterable[Trace] = (), progress: Callable[[Report], None] | None = None) -> Report:
        """The whole check; the target is closed at its end."""
        try:
            reason = self._target.adopt(self._profile)
            if reason is not None:
                raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
            self._vectors(vectors, progress)
            self._programs(progress)
        except HarnessBroken as broken:
            self.report.broken = str(broken) + self._what_ran()
        finally:
            self.report.seconds = self._elapsed()
            self._target.close()
        return self.report

    def _what_ran(self) -> str:
        """Keep the program under which the harness broke; where, in words."""
        if not self._running:
            return ""
        steps = [Step(command=command) for command in self._running]
        trace = Trace(Header(title="the program under which the harness broke"), steps)
        return f"; the program is kept in {keep('broken', trace, self._directory)}"

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _is_over(self) -> bool:
        report, chosen = self.report, self._selection
        if chosen.differences is not None and len(report.found) >= chosen.differences:
            return True
        return self._elapsed() >= chosen.seconds or (chosen.steps is not None and report.steps >= chosen.steps)

    def _vectors(self, vectors: Iterable[Trace], progress: Callable[[Report], None] | None) -> None:
        commands = frozenset(self.report.identity.commands)
        for trace in vectors:
            if self._is_over():
                return
            if not all(step.command.do in commands for step in trace.steps):
                continue
            if trace.header.rules and not any(self._selection.takes(rule) for rule in trace.header.rules):
                continue
            finding = self._replayed([step.command for step in trace.steps], self.report.observe)
            self.report.vectors += 1
            if finding is not None:
                self._note(finding[0], Trace(trace.header, trace.steps[: finding[1] + 1]))
            self._told(progress)

    def _programs(self, progress: Callable[[Report], None] | None) -> None:
        plans, report, seed = self._selection.plans(), self.report, self._selection.seed
        while not self._is_over():
            pairs: list[TargetPair] = []

            def pair(pairs: list[TargetPair] = pairs) -> TargetPair:
                pairs.append(self._pair())
                return pairs[-1]

            try:
                run_program(pair, plans, memory.begin, seed, PROGRAM_STEPS, report.observe, self._reference)
            except Parted as parted:
                self._note(parted.finding, parted.trace)
            seed += 1
            report.programs += 1
            for made in pairs:
                report.skipped.update(made.skipped)
            self._told(progress)
            if not report.steps and report.programs >= 20:
                return

    def _told(self, progress: Callable[[Report], None] | None) -> None:
        self.report.seconds = self._elapsed()
        if progress is not None:
            progress(self.report)

    def _pair(self) -> TargetPair:
        pair = TargetPair(self._reference, self._target, self._profile, self._mapper)
        self._running = pair.asked
        return pair

    def _note(self, finding: Finding, trace: Trace) -> None:
        """Count a finding; shrink and keep the first of its case."""
        key = (finding.case, finding.rule)
        if not self._selection.takes(finding.rule):
            return
        self.report.met[key] += 1
        if key not in self.report.found:
            short, last = self._short(trace, finding)
            path = save(short, last, self.report.identity.name, self._directory)
            self.report.found[key] = Found(last, short, path, self._elapsed())

    def _short(self, trace: Trace, finding: Finding) -> tuple[Trace, Finding]:
        """The shortest program found with the same case and rule."""
        commands = [step.command for step in trace.steps]
        deadline = time.monotonic() + _MOST_SHRINKING

        def fails(candidate: Sequence[Command]) -> bool:
            if time.monotonic() > deadline:
                return False
            try:
                again = self._replayed(candidate)
            except HarnessBroken:
                self._target.close()
                self._target = self._reopen()
                return False
            return again is not None and (again[0].case, again[0].rule) == (finding.case, finding.rule)

        if not fails(commands):
            return trace, finding
        short = shrunk(commands, fails, SHRINKING_SECONDS)
        steps: list[Step] = []
        found = self._replayed(short, lambda command, outcome: steps.append(Step(command=command, outcome=outcome)))
        return (Trace(trace.header, steps), found[0]) if found is not None else (trace, finding)

    def _replayed(
        self, commands: Sequence[Command], observe: Callable[[Command, Outcome], None] | None = None
    ) -> tuple[Finding, int] | None:
        """The first finding that commands show, and at which of them."""
        pair = self._pair()
        try:
            return first_finding(pair, commands, observe)
        finally:
            pair.close()
