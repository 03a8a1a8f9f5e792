"""A check of a target: vectors first, then random programs, until the time or the steps are used up."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.machines.arrays import PLANS
from counterfoil_oracles.shrink import shrunk, within
from counterfoil_oracles.targets.machines import Machine, machines
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.nearing import nearer
from counterfoil_oracles.targets.pair import Late, TargetPair, is_harness
from counterfoil_oracles.targets.program import Parted, Plans, Recording, first_finding
from counterfoil_oracles.targets.saving import keep, save
from counterfoil_oracles.targets.smaller import smaller
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
            return not self.rules or bool(self.laws)
        return (not self.rules or rule in self.rules) and (
            not self.chapters or rule.partition("/")[0] in self.chapters or rule in self.rules
        )

    def wants(self, rule: str | None, about: Iterable[str]) -> bool:
        """Whether a finding is wanted that a program about those rules showed: of a law that is chosen, any."""
        return self.takes(rule) or not self.laws.isdisjoint(about)

    def expects(self, rule: str | None) -> bool:
        """Whether a check of this selection looks for what is known of a rule."""
        return self.is_whole if rule is None else self.takes(rule)

    @property
    def laws(self) -> frozenset[str]:
        """The chosen rules that refuse nothing themselves."""
        return frozenset(rule for rule in self.rules if registry()[rule].kind == "law")

    def machines(self, commands: frozenset[str]) -> list[Machine]:
        """The machines that draw programs about what is chosen, for a target of those commands."""
        return machines(commands, self._about(), self.plans())

    def _about(self) -> frozenset[str]:
        """The chapters chosen, and those of the rules chosen."""
        return self.chapters | {rule.partition("/")[0] for rule in self.rules}

    def plans(self) -> Plans:
        """The array machine's plans about the chapters chosen."""
        chapters = self._about()
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
    """What a check of a target did and found. ``broken``: how the harness broke, if it did, and ``broken_by`` the trace
    under which; ``named``: the target for the lines that replay; ``unwritten``: files that could not be written;
    ``about``: the rules of the vectors that the target ran whole; ``operands``: what each case was met with;
    ``is_repeatable``: the same arguments do the same work again, since no clock ended it; ``missed``: required parts
    that were skipped; ``known_file``: of known differences."""

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
    broken_by: Path | None = None
    named: Named | None = None
    unwritten: list[str] = field(default_factory=list)
    about: Counter[str] = field(default_factory=Counter)
    operands: dict[tuple[str, str | None], set[str]] = field(default_factory=dict)
    is_repeatable: bool = False
    missed: list[str] = field(default_factory=list)
    known_file: Path | None = None

    def missing(self, selection: Selection) -> list[str]:
        """What was chosen and not met: chapters and rules that refused nothing, laws of which no vector ran whole."""
        chapters = {rule.partition("/")[0] for rule in self.rules}
        met = set(self.rules) | (set(self.about) & selection.laws)
        return [*sorted(selection.chapters - chapters), *sorted(selection.rules - met)]

    def observe(self, command: Command, outcome: Outcome) -> None:
        """Count a command that ran, and the rule that refused it."""
        self.steps += 1
        rule = rule_of_outcome(command, outcome)
        if rule is not None:
            self.rules[rule] += 1

    def replay(self, path: Path | None) -> str | None:
        """The line that runs a trace again; None where there is no trace, or nobody knows how the target is named."""
        return self.named.line(path) if self.named is not None and path is not None else None

    @property
    def untouched(self) -> list[str]:
        """Chapters the target says it has, of which no rule refused anything."""
        touched = {rule.partition("/")[0] for rule in self.rules}
        refusing = {rule.chapter for rule in registry().values() if rule.kind == "refusal" and rule.status == "active"}
        return sorted(set(self.identity.chapters) & refusing - touched)


class Campaign:
    """Checks one target. ``reopen`` starts the target anew after it broke the harness while a program was shrunk.

    ``known``: the cases of which something is known, and with which operands (None: any).
    """

    def __init__(
        self,
        reference: Any,
        reopen: Callable[[], Target],
        selection: Selection,
        profile: Profile,
        mapper: Mapper,
        directory: Path = DIRECTORY,
        known: Mapping[tuple[str, str | None], frozenset[str] | None] | None = None,
    ) -> None:
        self._reference = reference
        self._reopen = reopen
        self._target = reopen()
        self._selection = selection
        self._profile = profile
        self._mapper = mapper
        self._directory = directory
        self._expected = known or {}
        self._began = time.monotonic()
        self._deadline = self._began + selection.seconds
        self._is_late = False
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
        except Late:
            self._is_late = True
        except HarnessBroken as broken:
            self.report.broken = str(broken) + self._what_ran()
        finally:
            self.report.seconds = self._elapsed()
            self.report.is_repeatable = self._selection.steps is not None and not self._is_late
            self._target.close()
        return self.report

    def _what_ran(self) -> str:
        """Keep the program under which the harness broke; where, in words."""
        if not self._running:
            return ""
        steps = [Step(command=command) for command in self._running]
        trace = Trace(Header(title="the program under which the harness broke"), steps)
        self.report.broken_by = keep("broken", trace, self._directory)
        return f"; the program is kept in {self.report.broken_by}"

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _is_over(self) -> bool:
        report, chosen = self.report, self._selection
        if chosen.differences is not None and len(report.found) >= chosen.differences:
            return True
        if chosen.steps is not None and report.steps >= chosen.steps:
            return True
        self._is_late = time.monotonic() >= self._deadline
        return self._is_late

    def _vectors(self, vectors: Iterable[Trace], progress: Callable[[Report], None] | None) -> None:
        commands = frozenset(self.report.identity.commands)
        for trace in vectors:
            if self._is_over():
                return
            if any(step.command.do not in commands or is_harness(step.command) for step in trace.steps):
                continue
            if trace.header.rules and not any(self._selection.takes(rule) for rule in trace.header.rules):
                continue
            self._vector(trace)
            self._told(progress)

    def _vector(self, trace: Trace) -> None:
        pair = self._pair(self._deadline)
        try:
            finding = first_finding(pair, [step.command for step in trace.steps], self.report.observe)
        finally:
            pair.close()
        self.report.vectors += 1
        if not pair.skipped:
            self.report.about.update(trace.header.rules)
        if finding is not None:
            self._note(finding[0], Trace(trace.header, trace.steps[: finding[1] + 1]))

    def _programs(self, progress: Callable[[Report], None] | None) -> None:
        report, seed = self.report, self._selection.seed
        drawn = self._selection.machines(frozenset(report.identity.commands))
        while not self._is_over():
            for machine in drawn:
                self._program(machine, seed)
                self._told(progress)
                if self._is_over():
                    return
            seed += 1
            if not report.steps and report.programs >= 20:
                return

    def _program(self, machine: Machine, seed: int) -> None:
        """One program, counted; a difference is noted."""
        pairs: list[TargetPair] = []

        def pair() -> TargetPair:
            pairs.append(self._pair(self._deadline))
            return pairs[-1]

        try:
            machine(pair, seed, PROGRAM_STEPS, self.report.observe, self._reference)
        except Parted as parted:
            self._note(parted.finding, parted.trace)
        self.report.programs += 1
        for made in pairs:
            self.report.skipped.update(made.skipped)

    def _told(self, progress: Callable[[Report], None] | None) -> None:
        self.report.seconds = self._elapsed()
        if progress is not None:
            progress(self.report)

    def _pair(self, deadline: float) -> TargetPair:
        pair = TargetPair(self._reference, self._target, self._profile, self._mapper)
        pair.deadline = deadline
        self._running = pair.asked
        return pair

    def _note(self, finding: Finding, trace: Trace) -> None:
        """Count a finding; shrink and keep the first of its case, and the first with operands that nobody knew."""
        key = (finding.case, finding.rule)
        if not self._selection.wants(finding.rule, trace.header.rules):
            return
        self.report.met[key] += 1
        self.report.operands.setdefault(key, set()).add(finding.operands)
        held = self.report.found.get(key)
        if held is None or (self._is_known(held.finding) and not self._is_known(finding)):
            short, last = self._short(trace, finding)
            path = save(short, last, self.report.identity.name, self._directory)
            self.report.found[key] = Found(last, short, path, self._elapsed())

    def _is_known(self, finding: Finding) -> bool:
        known = self._expected.get((finding.case, finding.rule), frozenset())
        return known is None or finding.operands in known

    def _short(self, trace: Trace, finding: Finding) -> tuple[Trace, Finding]:
        """The smallest program found with the same case, rule and operands."""
        commands = [step.command for step in trace.steps]
        deadline = time.monotonic() + _MOST_SHRINKING

        def fails(candidate: Sequence[Command]) -> bool:
            try:
                again = self._replayed(candidate, deadline)
            except Late:
                return False
            except HarnessBroken:
                self._target.close()
                self._target = self._reopen()
                return False
            return again is not None and again[0].shows == finding.shows

        if not fails(commands):
            return trace, finding
        short = shrunk(nearer(commands, fails), fails, SHRINKING_SECONDS)
        short = smaller(short, within(fails, SHRINKING_SECONDS))
        recording = Recording(short)
        found = self._replayed(short, math.inf, recording)
        if found is None:
            return trace, finding
        return Trace(trace.header, recording.steps(found[1] + 1)), found[0]

    def _replayed(
        self, commands: Sequence[Command], deadline: float, observe: Callable[[Command, Outcome], None] | None = None
    ) -> tuple[Finding, int] | None:
        """The first finding that commands show, and at which of them."""
        pair = self._pair(deadline)
        try:
            return first_finding(pair, commands, observe)
        finally:
            pair.close()
