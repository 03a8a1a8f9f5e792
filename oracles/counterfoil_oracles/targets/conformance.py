"""One target, checked a rule or a program at a time: what test runners stand on."""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles import subjects
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.machines.arrays import PLANS
from counterfoil_oracles.shrink import shrunk, within
from counterfoil_oracles.targets import inprocess
from counterfoil_oracles.targets.campaign import Found
from counterfoil_oracles.targets.known import Known
from counterfoil_oracles.targets.machines import machines
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.nearing import nearer
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.pair import Late, TargetPair
from counterfoil_oracles.targets.program import Parted, Recording, first_finding
from counterfoil_oracles.targets.reports.text import finding_lines
from counterfoil_oracles.targets.saving import save
from counterfoil_oracles.targets.smaller import smaller
from counterfoil_oracles.targets.target import Bounds, HarnessBroken, Target, harmless
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Command, Header, Outcome, Step, Trace
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import registry

_SHRINKING_SECONDS: Final = 3.0
_MOST_SHRINKING: Final = 10.0
"""Seconds of the clock: what a slow target takes is no time of this process."""
REFERENCE: Final = "counterfoil_reference"


class Divergence(AssertionError):
    """The target parted from the rules; the text explains where, with the program and how to run it again."""


class NeverMet(AssertionError):
    """Known differences that were looked for and not met."""


class NothingRan(Exception):
    """The target does none of it."""


class KnownDifference(Exception):
    """The target parts from the rules as the file of known differences says; the text is the reason given there."""


def opening(target: Any) -> Callable[[], Target]:
    """What opens a target: a name of the command line, a program as a list of words, or a factory of Python objects."""
    if isinstance(target, str):
        return opener(target, (), Bounds(), in_process=False)
    if callable(target):
        return lambda: inprocess.made(target)
    return opener(None, [str(word) for word in target], Bounds(), in_process=False)


class Conformance:
    """Checks of one target, which is started by the first and stays; ``close`` ends it.

    A check raises Divergence where the target parts from the reference, HarnessBroken where it breaks the harness
    (the next check starts it anew, but for one that does not start: every later check fails at once), KnownDifference
    where all that parted is among ``known``, and NothingRan where it does none of what is asked. ``named``: the target
    in the lines that replay a divergence.
    """

    def __init__(
        self,
        reopen: Callable[[], Target],
        profile: Profile | None = None,
        words: Mapper | None = None,
        directory: Path = DIRECTORY,
        named: Named | None = None,
        known: Sequence[Known] = (),
    ) -> None:
        self._known = {entry.key: entry for entry in known}
        self._met: set[tuple[str, str | None]] = set()
        self._checked: set[str | int] = set()
        self._unstartable: str | None = None
        self._reopen = reopen
        self._named = named
        self._profile = profile or Profile()
        self._words = words or Mapper()
        self._directory = directory
        self._target: Target | None = None
        self._seen: dict[int, tuple[int, str | Known | None]] = {}
        self._explained: dict[tuple[str, str | None, str], Divergence] = {}
        self._reference: Any = subjects.half(REFERENCE)

    def check_rule(self, rule: str) -> None:
        """Every vector about a rule."""
        self._checked.add(rule)
        ran, known = 0, dict[Known, None]()
        for trace in by_rule()[rule]:
            count, shown = self._of_vector(trace)
            if isinstance(shown, str):
                raise Divergence(shown)
            if shown is not None:
                known[shown] = None
            ran += count
        if known:
            raise KnownDifference("; ".join(dict.fromkeys(entry.reason for entry in known)))
        if not ran:
            raise NothingRan(f"the target does nothing of what the vectors about {rule} ask")

    def _of_vector(self, trace: Trace) -> tuple[int, str | Known | None]:
        """How many steps of a vector ran, and the finding: explained, or what is known of it. A vector about several
        rules runs once."""
        seen = self._seen.get(id(trace))
        if seen is None:
            commands, ran = [step.command for step in trace.steps], list[Command]()
            found = self._found(commands, lambda command, _: ran.append(command))
            shown: str | Known | None = None
            if found is not None:
                known = self._known_as(found[0])
                shown = str(self._divergence(commands[: found[1] + 1], found[0])) if known is None else known
            seen = self._seen[id(trace)] = len(ran), shown
        return seen

    def _known_as(self, finding: Finding) -> Known | None:
        """The known difference that a finding is, its kind and its operands included."""
        entry = self._known.get((finding.case, finding.rule))
        if entry is None:
            return None
        self._met.add(entry.key)
        return entry if entry.outcome == finding.kind.value and entry.knows(finding.operands) else None

    def check_known(self, checks: Collection[str | int], rules: Collection[str]) -> None:
        """Every known difference was met, after those checks, of rules and of seeds; of those rules, where any were
        chosen."""
        if not self._checked.issuperset(checks):
            raise NothingRan("only a part of the checks ran here: what they did not meet is not known")
        looked_for = [entry for entry in self._known.values() if not rules or entry.rule in rules]
        never = [entry for entry in looked_for if entry.key not in self._met]
        if never:
            raise NeverMet("\n".join(f"known difference never met: {entry.case} ({entry.rule})" for entry in never))

    def check_seed(self, seed: int, length: int = 120) -> None:
        """One random program of each machine that the target speaks to."""
        self._checked.add(seed)
        steps: list[Step] = []

        def observe(command: Command, outcome: Outcome) -> None:
            steps.append(Step(command=command, outcome=outcome))

        try:
            for machine in machines(frozenset(self._opened().identity.commands), frozenset(), PLANS):
                machine(self._pair, seed, length, observe, self._reference)
        except Parted as parted:
            known = self._known_as(parted.finding)
            if known is not None:
                raise KnownDifference(known.reason) from None
            raise self._divergence([step.command for step in parted.trace.steps], parted.finding) from None
        except HarnessBroken:
            self.close()
            raise
        if not steps:
            raise NothingRan("the target does nothing of what programs ask")

    def close(self) -> None:
        """End the target, if it runs."""
        if self._target is not None:
            self._target.close()
            self._target = None

    def _opened(self) -> Target:
        if self._unstartable is not None:
            raise HarnessBroken(self._unstartable)
        if self._target is None:
            try:
                self._target = self._reopen()
                reason = self._target.adopt(self._profile)
                if reason is not None:
                    raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
            except HarnessBroken as broken:
                self._unstartable = str(broken)
                self.close()
                raise
        return self._target

    def _pair(self, deadline: float | None = None) -> TargetPair:
        pair = TargetPair(self._reference, self._opened(), self._profile, self._words)
        pair.deadline = deadline
        return pair

    def _found(
        self,
        commands: Sequence[Command],
        observe: Callable[[Command, Outcome], None] | None = None,
        deadline: float | None = None,
    ) -> tuple[Finding, int] | None:
        pair = self._pair(deadline)
        try:
            return first_finding(pair, commands, observe)
        except HarnessBroken:
            self.close()
            raise
        finally:
            pair.close()

    def _divergence(self, commands: Sequence[Command], finding: Finding) -> Divergence:
        """The finding, shrunk, kept and explained; one of the same case, rule and operands once."""
        key = finding.shows
        if key not in self._explained:
            self._explained[key] = self._shortest(commands, finding)
        return self._explained[key]

    def _shortest(self, commands: Sequence[Command], finding: Finding) -> Divergence:
        deadline = time.monotonic() + _MOST_SHRINKING

        def fails(candidate: Sequence[Command]) -> bool:
            try:
                again = self._found(candidate, deadline=deadline)
            except (HarnessBroken, Late):
                return False
            return again is not None and again[0].shows == finding.shows

        short = list(commands)
        if fails(commands):
            short = shrunk(nearer(commands, fails), fails, _SHRINKING_SECONDS)
            short = smaller(short, within(fails, _SHRINKING_SECONDS))
        recording = Recording(short)
        found = self._found(short, recording)
        last, end = found if found is not None else (finding, len(short) - 1)
        name = self._opened().identity.name
        trace = Trace(Header(), recording.steps(end + 1))
        path = save(trace, last, name, self._directory)
        replay = None if self._named is None else self._named.line(path)
        return Divergence(harmless("\n".join(finding_lines(Found(last, trace, path, 0.0), 1, replay))))


@functools.cache
def by_rule() -> dict[str, list[Trace]]:
    """The vectors by each rule they are about, in the registry's order."""
    found: defaultdict[str, list[Trace]] = defaultdict(list)
    for trace in shipped():
        for rule in trace.header.rules or _rules_of(trace):
            found[rule].append(trace)
    return {rule: found[rule] for rule in registry() if rule in found}


def check_rules(rules: Iterable[str]) -> None:
    """ValueError for a rule that does not exist, and for one that no vector is about: nothing would be checked."""
    for rule in rules:
        found = registry().get(rule)
        if found is None:
            raise ValueError(f"there is no rule {rule}")
        if rule in by_rule():
            continue
        if found.kind == "law":
            raise ValueError(f"no vector is about {rule} alone: it is a law that every program is held to")
        if found.status != "active":
            raise ValueError(f"{rule} is {found.status}: nothing is checked of it yet")


def _rules_of(trace: Trace) -> list[str]:
    steps = ((step.command, step.outcome) for step in trace.steps)
    rules = (rule_of_outcome(command, outcome) for command, outcome in steps if outcome is not None)
    return list(dict.fromkeys(rule for rule in rules if rule is not None))
