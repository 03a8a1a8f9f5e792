"""What numpy, isl, ml_dtypes and mpmath say of both halves' answers (``counterfoil opinions``)."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from counterfoil_oracles.opinions import codes, isl_, numpy_, table
from counterfoil_oracles.opinions.bounds import bound, last_place, rounded, value_of
from counterfoil_oracles.opinions.opinion import MOST_UNKNOWN, Tally, Topic, Undecided, put
from counterfoil_oracles.opinions.places import Places
from counterfoil_spec.dtypes import Dtype, Kind, bfloat16, float4_e2m1fn, float32, float64
from counterfoil_spec.rules import registry

YES_OR_NO = [topic for topic in table.TOPICS if topic.name in ("overlap", "distinct", "contiguous")]
FLOATS = [dtype for dtype in Dtype.all if dtype.kind is Kind.FLOAT]


HALVES = [importlib.import_module(name) for name in table.HALVES]


@pytest.mark.parametrize("topic", table.TOPICS, ids=str)
def test_an_oracle_agrees_with_both_halves(topic: Topic) -> None:
    """No disagreement, the committed floor of agreements, at most 5 % unknown; of yes and no, neither is rare."""
    tally = put(topic, HALVES, table.SEED)
    assert tally.faults(topic.floor) == [], "\n".join(tally.words)
    if topic in YES_OR_NO:
        assert min(tally.yes, tally.no) * 20 >= tally.asked - tally.unknown == tally.yes + tally.no


@pytest.mark.parametrize("topic", table.TOPICS, ids=str)
def test_a_topic_names_rules_of_the_registry_and_a_floor_worth_the_name(topic: Topic) -> None:
    """Each topic is about rules there are, and its floor leaves at most the unknowns allowed."""
    asked = len(list(topic.draw(Random(f"{table.SEED} {topic}"))))
    assert topic.rules and set(topic.rules) <= set(registry())
    assert asked * (1 - MOST_UNKNOWN) <= topic.floor <= asked


@pytest.mark.long
@pytest.mark.parametrize("topic", table.TOPICS, ids=str)
def test_a_wrong_half_is_contradicted(topic: Topic) -> None:
    """A half that is wrong about every question agrees with the oracle about none: an opinion is no echo."""
    lying = replace(topic, draw=lambda rng: itertools.islice(topic.draw(rng), 200), answer=lie(topic))
    tally = put(lying, HALVES, table.SEED)
    assert tally.agree == 0 and tally.disagree > 0


def lie(topic: Topic) -> Callable[[Any, Any], Any]:
    """What a half would answer if it were wrong: never the topic's answer, nor one as good."""
    return lambda half, question: wrong(topic.answer(half, question), question)


def wrong(answer: Any, question: Any) -> Any:
    """A neighbour of an answer that is never right: far off for functions, off by one or negated elsewhere."""
    if isinstance(question, codes.Element):
        return far_off(answer, question) if question.batch.kernel != "cast" else answer ^ 1
    if isinstance(answer, bool):
        return not answer
    return None if answer is not None else ((1,), (0,))


def far_off(answer: int, question: codes.Element) -> int:
    """A code of another sign and magnitude than the answer's."""
    bits = question.batch.result.bits
    return answer ^ (1 << bits - 1 | 1 << bits - 3)


def test_the_tally_names_what_is_wrong() -> None:
    """A disagreement, too few agreements and too many unknowns are each a fault."""
    assert Tally(agree=95, unknown=5).faults(95) == []
    assert len(Tally(agree=94, unknown=6).faults(95)) == 2
    assert Tally(agree=100, disagree=1).faults(100) == ["1 disagreements"]


def test_isl_gives_up_in_time() -> None:
    """A question that would take isl too long ends as unknown, not as an answer and not in a minute."""
    strides = tuple(Random(1).sample(range(10**7, 10**8), 8))
    with pytest.raises(Undecided):
        isl_.opinion_distinct(Places((5,) * 8, strides, 0))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounding_to_a_format_finds_its_own_values_and_the_ties_between(dtype: Dtype) -> None:
    """A value of the format rounds to itself; halfway between neighbours it rounds to the one of even code."""
    form = dtype.float_format
    assert form is not None
    rng = Random(dtype.name)
    for code in {0, 1, form.last_finite_code - 1, *(rng.randrange(form.last_finite_code) for _ in range(200))}:
        low, high = value_of(form, code), value_of(form, code + 1)
        assert isinstance(low, Fraction) and isinstance(high, Fraction)
        assert rounded(form, low) == low and rounded(form, -high) == -high
        assert rounded(form, (low + high) / 2) == (high if code % 2 else low)
        assert last_place(form, low) == high - low


def test_the_bound_is_as_wide_as_the_units_it_is_given() -> None:
    """Two units around 1 in float32 hold the two codes on either side and no third; one more rounding in bfloat16."""
    one = 0x3F800000
    around = bound(float32, Fraction(1), (2, 0))
    held = [code for code in range(one - 9, one + 9) if around.holds(code)]
    assert held == list(range(one - 4, one + 3))
    assert [code for code in range(0x3F00, 0x4000) if bound(bfloat16, Fraction(1), (2, 0)).holds(code)] == [0x3F80]


def test_the_bound_past_the_greatest_value() -> None:
    """Past the format only the infinity is right, or the greatest value where stores saturate."""
    huge = Fraction(2) ** 4096
    assert bound(float64, huge, (2, 2)).holds(0x7FF0000000000000)
    assert not bound(float64, huge, (2, 2)).holds(0x7FEFFFFFFFFFFFFF)
    assert bound(float4_e2m1fn, huge, (2, 2)).holds(7)


def test_numpy_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair whose overlap needs more work than numpy may do ends as unknown."""
    (topic,) = [topic for topic in table.TOPICS if str(topic) == "numpy overlap"]
    monkeypatch.setattr(numpy_, "_MAX_WORK", 1)
    few = replace(topic, draw=lambda rng: itertools.islice(topic.draw(rng), 300))
    assert put(few, HALVES, table.SEED).unknown > 0
