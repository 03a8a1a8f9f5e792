"""One target, checked a rule or a program at a time: what test runners stand on."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles import subjects
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.failures import DIRECTORY
from counterfoil_oracles.machines.arrays import PLANS
from counterfoil_oracles.machines.plans import memory
from counterfoil_oracles.shrink import shrunk
from counterfoil_oracles.targets import inprocess
from counterfoil_oracles.targets.campaign import Found
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.opening import opener
from counterfoil_oracles.targets.pair import TargetPair
from counterfoil_oracles.targets.program import Parted, first_finding, run_program
from counterfoil_oracles.targets.reports.text import finding_lines
from counterfoil_oracles.targets.saving import save
from counterfoil_oracles.targets.target import Bounds, HarnessBroken, Target
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Command, Header, Outcome, Step, Trace
from counterfoil_spec.protocol import Profile
from counterfoil_spec.rules import registry

_SHRINKING_SECONDS: Final = 3.0
REFERENCE: Final = "counterfoil_reference"


class Divergence(AssertionError):
    """The target parted from the rules; the text explains where, with the program and how to run it again."""


class NothingRan(Exception):
    """The target does none of it."""


def opening(target: Any) -> Callable[[], Target]:
    """What opens a target: a name of the command line, a program as a list of words, or a factory of Python objects."""
    if isinstance(target, str):
        return opener(target, (), Bounds(), in_process=False)
    if callable(target):
        return lambda: inprocess.Direct(target())
    return opener(None, [str(word) for word in target], Bounds(), in_process=False)


class Conformance:
    """Checks of one target, which is started by the first and stays; ``close`` ends it.

    A check raises Divergence where the target parts from the reference, HarnessBroken where it breaks the harness
    (the next check starts it anew), and NothingRan where it does none of what is asked.
    """

    def __init__(
        self,
        reopen: Callable[[], Target],
        profile: Profile | None = None,
        words: Mapper | None = None,
        directory: Path = DIRECTORY,
    ) -> None:
        self._reopen = reopen
        self._profile = profile or Profile()
        self._words = words or Mapper()
        self._directory = directory
        self._target: Target | None = None
        self._seen: dict[int, tuple[int, str | None]] = {}
        self._explained: dict[tuple[str, str | None], Divergence] = {}
        self._reference: Any = subjects.half(REFERENCE)

    def check_rule(self, rule: str) -> None:
        """Every vector about a rule."""
        ran = 0
        for trace in by_rule()[rule]:
            count, explained = self._of_vector(trace)
            if explained is not None:
                raise Divergence(explained)
            ran += count
        if not ran:
            raise NothingRan(f"the target does nothing of what the vectors about {rule} ask")

    def _of_vector(self, trace: Trace) -> tuple[int, str | None]:
        """How many steps of a vector ran, and the finding explained; a vector about several rules runs once."""
        known = self._seen.get(id(trace))
        if known is None:
            commands, steps = [step.command for step in trace.steps], list[Step]()
            found = self._found(commands, steps)
            explained = None if found is None else str(self._divergence(commands[: found[1] + 1], found[0]))
            known = self._seen[id(trace)] = len(steps), explained
        return known

    def check_seed(self, seed: int, length: int = 120) -> None:
        """One random program."""
        steps: list[Step] = []

        def observe(command: Command, outcome: Outcome) -> None:
            steps.append(Step(command=command, outcome=outcome))

        try:
            run_program(self._pair, PLANS, memory.begin, seed, length, observe, self._reference)
        except Parted as parted:
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
        if self._target is None:
            self._target = self._reopen()
            reason = self._target.adopt(self._profile)
            if reason is not None:
                raise HarnessBroken(f"the target cannot keep to the profile: {reason}")
        return self._target

    def _pair(self) -> TargetPair:
        return TargetPair(self._reference, self._opened(), self._profile, self._words)

    def _found(self, commands: Sequence[Command], steps: list[Step]) -> tuple[Finding, int] | None:
        pair = self._pair()
        try:
            return first_finding(
                pair, commands, lambda command, outcome: steps.append(Step(command=command, outcome=outcome))
            )
        except HarnessBroken:
            self.close()
            raise
        finally:
            pair.close()

    def _divergence(self, commands: Sequence[Command], finding: Finding) -> Divergence:
        """The finding, shrunk, kept and explained; one of the same case and rule once."""
        key = (finding.case, finding.rule)
        if key not in self._explained:
            self._explained[key] = self._shortest(commands, finding)
        return self._explained[key]

    def _shortest(self, commands: Sequence[Command], finding: Finding) -> Divergence:
        def fails(candidate: Sequence[Command]) -> bool:
            try:
                again = self._found(candidate, [])
            except HarnessBroken:
                return False
            return again is not None and (again[0].case, again[0].rule) == (finding.case, finding.rule)

        short = shrunk(commands, fails, _SHRINKING_SECONDS) if fails(commands) else list(commands)
        steps: list[Step] = []
        found = self._found(short, steps)
        last = finding if found is None else found[0]
        name = self._opened().identity.name
        trace = Trace(Header(), steps)
        path = save(trace, last, name, self._directory)
        return Divergence("\n".join(finding_lines(Found(last, trace, path, 0.0), 1)))


@functools.cache
def by_rule() -> dict[str, list[Trace]]:
    """The vectors by each rule they are about, in the registry's order."""
    found: defaultdict[str, list[Trace]] = defaultdict(list)
    for trace in shipped():
        for rule in trace.header.rules or _rules_of(trace):
            found[rule].append(trace)
    return {rule: found[rule] for rule in registry() if rule in found}


def _rules_of(trace: Trace) -> list[str]:
    steps = ((step.command, step.outcome) for step in trace.steps)
    rules = (rule_of_outcome(command, outcome) for command, outcome in steps if outcome is not None)
    return list(dict.fromkeys(rule for rule in rules if rule is not None))
