"""The opinions on gradients: differences that are exact, and code that is carried out exactly."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil_oracles.opinions import differences_
from counterfoil_oracles.opinions.differences_ import Partial, derivative, opinion, program_of, questions
from counterfoil_oracles.opinions.graphs import MOST_DEGREE, Graph, Leaf, Step, graphs
from counterfoil_oracles.opinions.opinion import Undecided, put
from counterfoil_oracles.opinions.written import operations
from counterfoil_spec.dtypes import float32, float64
from counterfoil_spec.tensors import rules

BACKPROP = differences_.TOPICS[0]

numbers = st.fractions(-100, 100, max_denominator=64)


@given(st.lists(numbers, min_size=2, max_size=MOST_DEGREE + 1))
def test_central_differences_of_a_polynomial_are_its_derivative(coefficients: list[Fraction]) -> None:
    """Exactly, with as many points as its degree asks for; one pair of points alone is off by the cubic term."""

    def polynomial(x: Fraction) -> Fraction:
        return sum((factor * x**power for power, factor in enumerate(coefficients)), Fraction(0))

    assert derivative(polynomial, len(coefficients) - 1) == coefficients[1]
    if len(coefficients) == 4:
        assert (derivative(polynomial, 1) == coefficients[1]) == (coefficients[3] == 0)


def test_points_beyond_a_turn_are_not_used() -> None:
    """Where a comparison turns between two points, nearer ones are taken; where it turns at once, there is none."""
    near = Fraction(1, 1 << 20)
    assert derivative(lambda x: 3 * x if abs(x) < near else None, 3) == 3
    with pytest.raises(Undecided):
        derivative(lambda x: x if x >= 0 else None, 1)


def graph(operation: str, values: tuple[int, ...], *detail: object) -> Graph:
    """The sum of one operation of a vector, in float32."""
    steps = (Step(operation, (0,), detail), Step("sum", (1,), (None, False)))
    return Graph(float32, (Leaf((len(values),), values, True),), steps, 1)


def test_no_opinion_at_a_kink() -> None:
    """At 0, relu has two slopes; where two elements are greatest, so has the greatest."""
    relu = graph("relu", (0, 2), 0)
    assert opinion(Partial(graph("relu", (1, 2), 0), 0, 0)) == ((3.0).hex(), (1.0).hex())
    greatest = graph("max", (2, 2), (0,), True)
    for kinked in (relu, greatest):
        with pytest.raises(Undecided):
            opinion(Partial(kinked, 0, 1))
    assert opinion(Partial(graph("max", (1, 2), (0,), True), 0, 0)) == ((2.0).hex(), (0.0).hex())


def test_no_opinion_where_a_float_may_round() -> None:
    """The sum of 2^24 and 1 needs 25 bits: float64 has them, float32 has not."""
    wide = graph("scale", (1 << 23, 1), 2)
    with pytest.raises(Undecided):
        opinion(Partial(replace(wide, leaves=(replace(wide.leaves[0], values=(1 << 24, 1)),)), 0, 0))
    assert opinion(Partial(replace(wide, dtype=float64), 0, 0)) == (float((1 << 24) + 2).hex(), (2.0).hex())


def test_the_graphs_hold_every_operation_and_shared_operands() -> None:
    """Each kind of step occurs, as do tensors that several steps read, both dtypes and both kinds of leaves."""
    drawn = list(graphs(Random(0), 200))
    counted = Counter(step.operation for each in drawn for step in each.steps)
    assert set(counted) == set(operations()) and min(counted.values()) >= 5
    assert {each.dtype for each in drawn} == {float32, float64}
    assert {leaf.is_param for each in drawn for leaf in each.leaves} == {True, False}
    reads = (Counter(operand for step in each.steps for operand in step.operands) for each in drawn)
    assert sum(max(read.values()) > 1 for read in reads) > 100


def test_most_derivatives_are_not_zero() -> None:
    """At least half of those asked for differ from 0: an empty gradient would not pass."""
    found = []
    for question in questions(Random(0), graphs(Random(0), 30)):
        if not program_of(question.graph).is_cut_off:
            found.append(differences_.by_backprop(None, question)[1])
    assert sum(float.fromhex(each) != 0 for each in found) * 2 > len(found) > 60


@pytest.mark.parametrize("half", ["counterfoil_reference", "counterfoil"])
def test_reductions_within_reductions(half: str) -> None:
    """A matrix product that is inlined into another one and into a sum: what short loops declare is declared anew."""
    leaves = (Leaf((3, 3), (-3, -2, -3, 5, -2, -5, 5, 4, 1), True), Leaf((3, 2), (-1, -5, 2, -5, 2, 5), True))
    steps = (Step("matmul", (0, 1)), Step("einsum", (2, 1), ("ij,kj->ik",)), Step("sum", (3,), (None, False)))
    question = Partial(Graph(float32, leaves, steps, 3), 1, 3)
    assert differences_.by_half(importlib.import_module(half), question) == opinion(question)


WRONG = {
    "add": {0: ("add", ("identity", "g")), 1: ("sub", ("identity", "g"))},
    "mul": {0: ("add", ("mul", "g", 0)), 1: ("add", ("mul", 1, "g"))},
    "relu": {0: ("add", ("identity", "g"))},
    "where": {1: ("add", ("where", 0, "g", 0.0))},
    "max": {0: ("add", ("where", ("cmplt", 0, 1), "g", 0.0)), 1: ("add", ("where", ("cmplt", 0, 1), 0.0, "g"))},
    "identity": {0: ("add", ("mul", "g", 2.0))},
}
"""Local rules, each with a mistake: a sign, operands exchanged, a gate or a branch forgotten, a factor."""


IN_STEPS = {"max": "maximum", "where": "choose", "identity": "sum"}
"""Where the steps have another name for an operator."""


@pytest.mark.parametrize("operator", WRONG)
def test_a_wrong_local_rule_is_contradicted(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backprop with one mistake in it disagrees with the differences, on graphs that hold the operator."""
    monkeypatch.setitem(rules.RULES, operator, WRONG[operator])
    name = IN_STEPS.get(operator, operator)

    def draw(rng: Random) -> Iterator[Partial]:
        held = (each for each in graphs(rng, 100) if any(step.operation == name for step in each.steps))
        return islice(questions(rng, held), 60)

    differences_._program.cache_clear()
    tally = put(replace(BACKPROP, draw=draw), [differences_], 0)
    differences_._program.cache_clear()
    assert tally.disagree > 0
