"""What an opinion is: a topic's questions, the oracle's view of each, and the tally against both halves."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from counterfoil_spec.refusals import Refusal

MOST_UNKNOWN: Final = 0.05
"""The largest part of the questions put to a topic that may end as unknown."""

SHOWN: Final = 12
"""How many disagreements a tally keeps in words."""


class Undecided(Exception):
    """The oracle has no opinion of this question: it ran out of the work it may do, or cannot tell at its precision."""


@dataclass(frozen=True)
class Topic:
    """One kind of question that an oracle decides.

    ``rules`` are the ids the question is about. ``draw`` gives the questions of a run; ``opinion`` the oracle's view,
    or raises Undecided; ``answer`` what a half says; ``agrees`` compares the two. ``floor``: the least agreements of
    a run, each question counting once, when every half agrees.
    """

    oracle: str
    name: str
    rules: tuple[str, ...]
    floor: int
    draw: Callable[[random.Random], Iterable[Any]]
    opinion: Callable[[Any], Any]
    answer: Callable[[Any, Any], Any]
    agrees: Callable[[Any, Any], bool] = operator.eq

    def __str__(self) -> str:
        return f"{self.oracle} {self.name}"


@dataclass
class Tally:
    """How many questions ended as what; the opinions that are yes or no, counted; the first disagreements in words."""

    agree: int = 0
    disagree: int = 0
    unknown: int = 0
    yes: int = 0
    no: int = 0
    words: list[str] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """All questions put."""
        return self.agree + self.disagree + self.unknown

    @property
    def part_unknown(self) -> float:
        """The part of the questions that ended as unknown."""
        return self.unknown / max(self.asked, 1)

    def faults(self, floor: int) -> list[str]:
        """What is wrong with the tally, in words: disagreements, too few agreements, too many unknowns."""
        found = [f"{self.disagree} disagreements"] if self.disagree else []
        if self.agree < floor:
            found.append(f"{self.agree} agreements, under the floor of {floor}")
        if self.part_unknown > MOST_UNKNOWN:
            found.append(f"{self.part_unknown:.1%} of the questions unknown, over {MOST_UNKNOWN:.0%}")
        return found


def put(topic: Topic, halves: Sequence[Any], seed: int) -> Tally:
    """Put the topic's questions of that seed to the oracle and to every half."""
    tally = Tally()
    for question in topic.draw(random.Random(f"{seed} {topic}")):
        try:
            opinion = topic.opinion(question)
        except Undecided:
            tally.unknown += 1
            continue
        tally.yes += opinion is True
        tally.no += opinion is False
        answers = [_answer(topic, half, question) for half in halves]
        if all(topic.agrees(opinion, answer) for answer in answers):
            tally.agree += 1
            continue
        tally.disagree += 1
        if len(tally.words) < SHOWN:
            said = "; ".join(f"{half.__name__}: {answer}" for half, answer in zip(halves, answers, strict=True))
            tally.words.append(f"{topic}: {question}: {topic.oracle}: {opinion}; {said}")
    return tally


def _answer(topic: Topic, half: Any, question: Any) -> Any:
    """The half's answer; a refusal is one, and no oracle's opinion equals it."""
    try:
        return topic.answer(half, question)
    except Refusal as refusal:
        return refusal
