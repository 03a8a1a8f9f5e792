"""Examples of a rule: the shortest program it refuses, and the nearest one that is accepted, taken from the vectors.

Both are run on the reference as they are told, so what is shown is what happens.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.shrink import needed
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_oracles.wording import outcome_words, words
from counterfoil_spec.commands import Command, Outcome, Returned, Trace

Program = tuple[Command, ...]


def lines(rule: str, reference: Any) -> Iterator[str]:
    """Both examples in words, with what comes of each step; nothing where the vectors have none."""
    refused, accepted = found(rule)
    for title, program, wanted in (("Refused:", refused, rule), ("Accepted:", accepted, None)):
        if program:
            yield title
            yield from _told(shortened(program, wanted, reference), reference)


def found(rule: str) -> tuple[Program, Program]:
    """The shortest program whose last step the rule refuses, and the one nearest to it that is accepted."""
    refusals = (_cut(trace, at) for trace, at, other in _steps() if other == rule)
    refused = min(refusals, key=lambda program: (program[-1].do == "refused", len(program)), default=())
    if not refused:
        return (), ()
    last = refused[-1]
    candidates = [
        (trace, at) for trace, at, other in _steps() if other is None and trace.steps[at].command.do == last.do
    ]
    near = [(trace, at) for trace, at in candidates if rule in trace.header.rules] or candidates
    same = [(trace, at) for trace, at in near if _is_same_kernel(trace.steps[at].command, last)] or near
    return refused, min((_cut(trace, at) for trace, at in same), key=len, default=())


@functools.cache
def _traces() -> list[Trace]:
    return list(shipped())


def _steps() -> Iterator[tuple[Trace, int, str | None]]:
    """Every step that returned or was refused: its trace, its place, and the rule that refused it."""
    for trace in _traces():
        for at, step in enumerate(trace.steps):
            if step.outcome is not None:
                rule = rule_of_outcome(step.command, step.outcome)
                if rule is not None or _is_done(step.outcome):
                    yield trace, at, rule


def _is_done(outcome: Outcome) -> bool:
    return isinstance(outcome, Returned)


def _is_same_kernel(one: Command, other: Command) -> bool:
    """Whether two commands call one kernel, where they call any."""
    return one.do != "kernel" or one.args.get("name") == other.args.get("name")


def _cut(trace: Trace, at: int) -> Program:
    """A step and all that leads up to it: what it names alone would leave out what changed that."""
    return tuple(step.command for step in trace.steps[: at + 1])


def _told(program: Sequence[Command], reference: Any) -> Iterator[str]:
    with Driver(reference) as driver:
        outcomes = driver.run(program)
    for at, (command, outcome) in enumerate(zip(program, outcomes, strict=True)):
        yield f"  {at + 1:2}. {words(command)} -> {outcome_words(command, outcome)}"


def shortened(program: Program, rule: str | None, reference: Any) -> Program:
    """Without the steps that its last one does not need to come out the same."""
    short = tuple(needed(program, len(program) - 1))
    with Driver(reference) as driver:
        outcome = driver.run(short)[-1]
    return short if rule_of_outcome(short[-1], outcome) == rule and (rule or _is_done(outcome)) else program
