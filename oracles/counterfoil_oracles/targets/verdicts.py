"""What a target's outcome is beside the reference's: agreement, a divergence of a kind, or no verdict."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any, Final

from counterfoil_oracles.compare import PLANNED_FAULTS, said
from counterfoil_oracles.coverage import rule_of_outcome
from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.operands import NONE
from counterfoil_oracles.targets.target import HarnessBroken, legible
from counterfoil_spec.commands import Command, Fault, Outcome, Refused, Returned
from counterfoil_spec.comparing import NotExact, agree
from counterfoil_spec.protocol import Errored, Profile, Refusal, Skipped, TargetOutcome, Value
from counterfoil_spec.rules import registry

DECLINED: Final = "door/declined"
"""The rule of calls that an implementation may leave to another."""


TEXTS: Final = frozenset({"explain_observability"})
"""Commands whose value is a text in an implementation's own words: only whether there is one is compared."""


class Kind(enum.Enum):
    """How a target parted from the reference."""

    ACCEPTED = "accepted what is refused"
    REFUSED = "refused what is accepted"
    OTHER_RULE = "refused by another rule"
    UNMAPPED = "refused in words that map to no rule"
    VALUE = "answered another value"
    CONTENT = "left other elements"
    ERRORED = "failed"


@dataclass(frozen=True)
class Finding:
    """One difference: its kind, the command, the rule concerned (the reference's, else the target's), and the words.

    ``looked``: the command that showed it, where that is another one; ``seen`` what the target answered there;
    ``operands``: what the command was asked about (``targets.operands``).
    """

    kind: Kind
    command: Command
    rule: str | None
    words: str
    looked: Command | None = None
    seen: TargetOutcome | None = None
    operands: str = NONE

    def __post_init__(self) -> None:
        """Words may hold what the target said."""
        object.__setattr__(self, "words", legible(self.words, 2000))

    @property
    def shows(self) -> tuple[str, str | None, str]:
        """What a shorter program has to show too."""
        return self.case, self.rule, self.operands

    @property
    def case(self) -> str:
        """What known differences name it by: the command, the kernel's name and the kind."""
        what = f"{self.command.do} {self.command.args.get('name')}" if self.command.do == "kernel" else self.command.do
        return f"{what}: {self.kind.name.lower().replace('_', '-')}"


def judged(
    command: Command, expected: Outcome, actual: TargetOutcome, profile: Profile, mapper: Mapper
) -> Finding | None:
    """The finding that two outcomes are, or None where they agree.

    HarnessBroken where the reference fails by itself: a command that it cannot carry out (one operand too many, say, in
    a trace from elsewhere) is a fault of the program or of the reference, and no rule says what a target answers.
    """
    if isinstance(expected, Fault) and expected.error not in PLANNED_FAULTS:
        failed = f"the reference itself fails at {command.do}: {expected.error}"
        raise HarnessBroken(f"{legible(failed)}; no rule says what a target should do there")
    finding = _judged(command, expected, actual, profile, mapper)
    return None if finding is None else replace(finding, seen=actual)


def _judged(
    command: Command, expected: Outcome, actual: TargetOutcome, profile: Profile, mapper: Mapper
) -> Finding | None:
    rule = rule_of_outcome(command, expected)
    if isinstance(actual, Errored):
        if isinstance(expected, Fault):
            return None
        return Finding(Kind.ERRORED, command, rule, f"expected {said(expected)}, and it failed: {actual.message}")
    if isinstance(actual, Refusal):
        return _refusal(command, expected, actual, rule, profile, mapper)
    assert not isinstance(actual, Skipped), "what was skipped is never judged"
    return _value(command, expected, actual, rule, profile)


def _refusal(
    command: Command, expected: Outcome, actual: Refusal, rule: str | None, profile: Profile, mapper: Mapper
) -> Finding | None:
    named, words = _named(command, actual, mapper)
    if rule is None:
        return Finding(Kind.REFUSED, command, named, f"expected {said(expected)}, and it refused: {words}")
    if named is None:
        return Finding(Kind.UNMAPPED, command, rule, f"expected {said(expected)}, and it refused: {words}")
    if named != rule:
        return Finding(Kind.OTHER_RULE, command, rule, f"expected {said(expected)}, and it refused by {named}: {words}")
    if profile.subjects == "compared" and actual.subjects is not None and isinstance(expected, Refused):
        theirs = Refused(rule, wire.received(actual.subjects))
        if expected.subjects is not None and not _alike(expected.subjects, theirs.subjects):
            return Finding(Kind.OTHER_RULE, command, rule, f"expected {said(expected)}, got {said(theirs)}")
    return None


def _named(command: Command, refusal: Refusal, mapper: Mapper) -> tuple[str | None, str]:
    """The rule of a refusal, and its words. An id that no rule has is words too: a mapper may know them."""
    if refusal.rule is not None and refusal.rule in registry():
        return refusal.rule, refusal.message or f"by {refusal.rule}"
    words = " ".join(each for each in (refusal.rule, refusal.message) if each)
    return mapper.rule(command.do, words), words or "without a word"


def _value(command: Command, expected: Outcome, actual: Value, rule: str | None, profile: Profile) -> Finding | None:
    theirs = Returned(wire.received(actual.value))
    own = rule_of_outcome(command, theirs)
    if profile.declines == "free" and DECLINED in (rule, own) and not {rule, own} - {DECLINED, None}:
        return None
    if rule is not None and own == rule:
        return None
    if rule is not None and own is None:
        return Finding(Kind.ACCEPTED, command, rule, f"expected {said(expected)}, got {said(theirs)}")
    if rule is not None or own is not None:
        return Finding(Kind.OTHER_RULE, command, rule or own, f"expected {said(expected)}, got {said(theirs)}")
    if isinstance(expected, Fault):
        return Finding(Kind.ACCEPTED, command, None, f"expected {said(expected)}, got {said(theirs)}")
    if command.do in TEXTS and isinstance(expected, Returned):
        if isinstance(theirs.value, str) == isinstance(expected.value, str):
            return None
    if not isinstance(expected, Returned) or not _alike(expected.value, theirs.value):
        return Finding(Kind.VALUE, command, None, f"expected {said(expected)}, got {said(theirs)}")
    return None


def _alike(expected: Any, actual: Any) -> bool:
    try:
        return agree(expected, actual)
    except NotExact as error:
        raise HarnessBroken(f"the target broke the harness: {legible(str(error))}") from None
