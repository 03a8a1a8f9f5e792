"""What room a result has: none where one rounding says it, N3's for sums and products, N2's for functions."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.programs.building import copy, observed, planned, run, spec, store

from counterfoil_reference.intervals import Between, watching
from counterfoil_reference.programs.bounds import Product, operated, product, total
from counterfoil_reference.programs.cells import Cells
from counterfoil_reference.programs.converting import convert, number
from counterfoil_reference.programs.points import point
from counterfoil_reference.programs.spans import Span, Value, center, ends
from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import ARITY, FLOATS_ONLY

FLOAT32S = st.floats(width=32)
FINITE32S = st.floats(width=32, allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-9, 9).map(float)


def holds(value: Value, number: float) -> bool:
    """Whether a value may be a number; zeros are told apart unless there is room."""
    if not isinstance(value, Span):
        return repr(value) == repr(number) or (value != value and number != number)
    return value.nan if number != number else value.low <= number <= value.high


def single(x: float) -> float:
    """The nearest float32."""
    with np.errstate(all="ignore"):
        return float(np.float32(x))


def neighbours(x: float) -> list[float]:
    """The float32 numbers next to one."""
    with np.errstate(all="ignore"):
        return [float(np.nextafter(np.float32(x), np.float32(end))) for end in (-np.inf, np.inf)]


# --- one operation ---------------------------------------------------------------------------------------------------


@given(FLOAT32S, FLOAT32S)
def test_the_four_operations_round_once(x: float, y: float) -> None:
    """+, -, *, / and sqrt of float32 numbers are numpy's, NaN for NaN."""
    with np.errstate(all="ignore"):
        a, b = np.float32(x), np.float32(y)
        expected = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}
        root = float(np.sqrt(a))
    for name, value in expected.items():
        assert holds(point(float32, name, (x, y)), float(value))
    assert holds(point(float32, "sqrt", (x,)), root)


@given(FINITE32S, FINITE32S, FINITE32S)
def test_fma_rounds_the_exact_value_once(x: float, y: float, z: float) -> None:
    """``fma`` is the float32 nearest to the exact ``x * y + z``: no other is nearer."""
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    found = point(float32, "fma", (x, y, z))
    assert isinstance(found, float)
    assume(math.isfinite(found))
    near = neighbours(found)
    assert all(abs(Fraction(found) - exact) <= abs(Fraction(other) - exact) for other in near if math.isfinite(other))


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_integers_wrap_and_divide_toward_zero(x: int, y: int) -> None:
    """Sums, differences and products wrap; a quotient truncates, by 0 it is 0, and mod is its rest."""
    for name, exact in (("add", x + y), ("sub", x - y), ("mul", x * y), ("neg", -x)):
        found = point(int32, name, (x, y)[: ARITY[name]])
        assert (center(found) - exact) % 2**32 == 0 and -(2**31) <= center(found) < 2**31
    quotient, rest = point(int64, "div", (x, y)), point(int64, "mod", (x, y))
    assert quotient == (math.trunc(Fraction(x, y)) if y else 0) and rest == x - y * center(quotient)


@given(st.floats())
def test_a_float_becomes_an_integer_truncated_and_saturated(x: float) -> None:
    """NaN is 0, a number past the range its end, any other loses its fraction."""
    whole = 0 if x != x else math.trunc(min(max(x, -(2.0**40)), 2.0**40))
    expected = min(max(whole, -(2**31)), 2**31 - 1)
    assert convert(x, float64, int32) == expected


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_becomes_a_float_rounded_once(x: int) -> None:
    """No float32 is nearer to a 64-bit integer than the one it converts to; int32 keeps its low bits."""
    found = number(x, float32)
    near = neighbours(found)
    assert all(abs(Fraction(found) - x) <= abs(Fraction(other) - x) for other in near)
    assert (convert(x, int64, int32) - x) % 2**32 == 0  # type: ignore[operator]


def test_extremes_order_zeros_and_pass_nan() -> None:
    """max and min put -0 below +0, and give NaN where either is NaN."""
    for x, y in itertools.permutations([0.0, -0.0]):
        assert math.copysign(1, center(point(float32, "max", (x, y)))) == 1
        assert math.copysign(1, center(point(float32, "min", (x, y)))) == -1
    for name in ("max", "min"):
        assert all(center(point(float32, name, pair)) != 1.0 for pair in ((math.nan, 1.0), (1.0, math.nan)))


def test_saturation_and_gates_give_zero_for_nan() -> None:
    """relu and satur01 of NaN are 0, as are the gates' values where the gate is NaN."""
    for name in ("relu", "satur01"):
        assert point(float32, name, (math.nan,)) == 0.0
    for name in ("relu_gate", "satur01_gate"):
        assert point(float32, name, (math.nan, 5.0)) == 0.0


# --- sums ------------------------------------------------------------------------------------------------------------


@given(st.lists(INTEGERS, max_size=40), INTEGERS)
def test_a_sum_of_small_integers_is_a_number(terms: list[float], start: float) -> None:
    """Where every partial sum is exact in whatever order there is no room."""
    found = total(float32, start, terms or [0.0])
    assert found == start + sum(terms) and not isinstance(found, Span)


@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=20))
def test_a_sum_of_products_of_small_integers_is_a_number(pairs: list[tuple[float, float]]) -> None:
    """So it is with products, but that a sum of nothing but -0 may be either zero."""
    found = total(float32, 0.0, [Product(*pair) for pair in pairs])
    assert center(found) == sum(x * y for x, y in pairs)
    assert not isinstance(found, Span) or (found.low, found.high, found.nan) == (0.0, 0.0, False)


@given(st.lists(FINITE32S, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_a_sum_holds_what_any_order_gives(terms: list[float], random: object) -> None:
    """Adding in float32, in a shuffled order and in two halves, ends within the room; so does the exact sum."""
    found = total(float32, 0.0, terms)
    shuffled = list(terms)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    with np.errstate(all="ignore"):
        for split in range(len(terms) + 1):
            halves = [np.float32(0), np.float32(0)]
            for place, term in enumerate(shuffled):
                halves[place >= split] += np.float32(term)
            assert holds(found, float(halves[0] + halves[1])) or float(halves[0] + halves[1]) == center(found) == 0
    exact = sum(map(Fraction, terms))
    assert abs(exact) > Fraction(2) ** 128 - Fraction(2) ** 103 or holds(found, single_of(exact))


def single_of(exact: Fraction) -> float:
    """The float32 nearest to a fraction, by search around the float64."""
    near = single(float(exact))
    around = [each for each in (near, *neighbours(near)) if math.isfinite(each)]
    odd = {each: int(np.float32(each).view(np.uint32)) & 1 for each in around}
    return min(around, key=lambda each: (abs(Fraction(each) - exact), odd[each])) if exact else 0.0


@given(st.lists(st.tuples(FINITE32S, FINITE32S), min_size=2, max_size=8))
def test_a_sum_of_products_holds_fused_and_unfused(pairs: list[tuple[float, float]]) -> None:
    """Rounding each product first, or fusing each with its addition, both end within the room."""
    found = total(float32, 0.0, [Product(*pair) for pair in pairs])
    fused, plain = 0.0, np.float32(0)
    with np.errstate(all="ignore"):
        for x, y in pairs:
            fused = center(point(float32, "fma", (x, y, fused)))
            plain += np.float32(x) * np.float32(y)
    assert all(holds(found, each) or each == center(found) == 0 for each in (fused, float(plain)))


@given(FINITE32S, FINITE32S)
def test_one_addition_has_no_room(start: float, term: float) -> None:
    """Accumulating a single point is one rounded addition."""
    found = total(float32, start, [term])
    with np.errstate(all="ignore"):
        assert holds(found, float(np.float32(start) + np.float32(term))) and not isinstance(found, Span)


def test_overflow_on_the_way_leaves_everything() -> None:
    """Where partial sums may overflow, infinities and NaN are right; where an infinity is a term, it is the sum."""
    big = 3e38
    found = total(float32, 0.0, [single(big), single(big), single(-big)])
    assert isinstance(found, Span) and found.nan and found.high == math.inf
    assert total(float32, 0.0, [math.inf, 1.0, 2.0]) == math.inf
    assert math.isnan(center(total(float32, 0.0, [math.inf, -math.inf, 2.0])))


def test_sums_that_need_rounding_have_gamma_n() -> None:
    """Three tenths in float32: the room is what N3 says, a few units, and holds the exact sum rounded."""
    terms = [single(0.1)] * 3
    found = total(float32, 0.0, terms)
    assert isinstance(found, Span) and found.low < found.value < found.high
    exact, magnitude = sum(map(Fraction, terms)), sum(abs(Fraction(term)) for term in terms)
    bound = magnitude * 3 / (2**24 - 3)
    unit = Fraction(2) ** -24
    assert abs(Fraction(found.high) - exact) <= bound + unit and abs(Fraction(found.low) - exact) <= bound + unit


# --- products --------------------------------------------------------------------------------------------------------


@given(st.lists(FINITE32S, min_size=1, max_size=8))
def test_a_product_holds_what_any_order_gives(factors: list[float]) -> None:
    """Multiplying in float32 forwards, backwards, or in two halves ends within the room."""
    found = product(float32, factors)
    with np.errstate(all="ignore"):
        for split in range(len(factors) + 1):
            halves = [np.float32(1), np.float32(1)]
            for place, factor in enumerate(factors):
                halves[place >= split] *= np.float32(factor)
            result = float(halves[0] * halves[1])
            assert holds(found, result) or (result == center(found) == 0)


@given(st.lists(st.integers(-4, 4).map(float), max_size=8))
def test_a_product_of_small_integers_is_a_number(factors: list[float]) -> None:
    """There is no room where nothing is rounded, and the sign of a zero is that of its factors."""
    found = product(float32, factors)
    assert repr(found) == repr(float(math.prod(factors)) if factors else 1.0)


# --- spans through operators -----------------------------------------------------------------------------------------


@st.composite
def spans(draw: st.DrawFn, dtype: Dtype) -> tuple[Value, float]:
    """A value of a dtype with room, or none, and a number that it may be."""
    whole = st.integers(-40, 40)
    if dtype.float_format is None:
        ends_, wide = sorted([draw(whole), draw(whole)]), draw(st.booleans())
        inside = draw(st.integers(*ends_))
        return (Span(ends_[0], ends_[1], draw(st.integers(*ends_))), inside) if wide else (inside, inside)
    plain = whole.map(lambda x: x / 8) | st.sampled_from([0.0, 1e30, -1e-30])
    low, middle, high = sorted([single(draw(plain)) for _ in range(3)])
    return (
        (Span(low, high, draw(st.sampled_from([low, middle, high]))), middle)
        if draw(st.booleans())
        else (middle, middle)
    )


@pytest.mark.parametrize("dtype", [float32, int32], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("operator", sorted(set(ARITY) - {"arg1", "arg2"}))
@settings(max_examples=30)
@given(data=st.data())
def test_an_operator_holds_what_any_of_its_arguments_give(operator: str, dtype: Dtype, data: st.DataObject) -> None:
    """Whatever the arguments are within their room, the result is within the result's."""
    if operator in FLOATS_ONLY and dtype is int32:
        return
    drawn = [data.draw(spans(dtype)) for _ in range(ARITY[operator])]
    found = operated(dtype, operator, tuple(value for value, _ in drawn))
    chosen = operated(dtype, operator, tuple(inside for _, inside in drawn))
    low, high, _ = ends(chosen)
    if low != low:
        assert ends(found)[2]
    else:
        assert ends(found)[0] <= low and high <= ends(found)[1]


@given(spans(float32), st.sampled_from([int32, int64, float64, float32]))
def test_a_conversion_holds_what_its_argument_gives(drawn: tuple[Value, float], target: Dtype) -> None:
    """Converting keeps every number a value may be within the result's room."""
    value, inside = drawn
    low, high, _ = ends(convert(value, float32, target))
    assert low <= center(convert(inside, float32, target)) <= high


@given(st.lists(spans(float32), min_size=1, max_size=5))
def test_accumulations_of_spans_hold_their_sums(drawn: Sequence[tuple[Value, float]]) -> None:
    """Adding up values with room holds the sum of any numbers they may be, in order."""
    cells, plain = Cells(float32, [0.0]), np.float32(0)
    with np.errstate(all="ignore"):
        for value, inside in drawn:
            cells.accumulate(0, "add", value)
            plain += np.float32(inside)
    low, high, nan = ends(cells.read(0))
    assert low <= float(plain) <= high or nan


# --- through programs ------------------------------------------------------------------------------------------------


def test_a_stored_result_is_read_as_its_bits() -> None:
    """What a function's room allows is gone once its element was stored: the next run reads a number."""
    x, y, z = Node("x", ()), observed("y"), observed("z")
    first = planned(store(y, "exp", x))
    stored = run(first, first.arguments, {x: [1.0]})[y]
    second = planned(store(z, "add", y, y), decisions=first.decisions)
    assert run(second, second.arguments, {y: stored})[z] == [2 * stored[0]]


def test_an_intermediate_keeps_its_room() -> None:
    """A function's room passes through scratch and inlined nodes into what is recorded of the result."""
    for count in (1, 2):
        x, y, z = Node("x", ()), Node("y", ()), observed("z")
        plan = planned(store(y, "exp", x), store(z, "add", y, y) if count == 2 else copy(z, y))
        with watching() as log:
            run(plan, plan.arguments, {x: [1.0]})
        assert isinstance(log[0].accepts[0], Between)


def test_a_long_sum_of_integers_in_a_program_is_exact() -> None:
    """A reduction over a hundred small integers has no room, in a float32 matrix product."""
    x, w, y = Node("x", (100,)), Node("w", (100,)), observed("y")
    plan = planned(spec("k, k ->", y, x, w))
    with watching() as log:
        found = run(plan, plan.arguments, {x: [float(i % 7 - 3) for i in range(100)], w: [2.0] * 100})
    assert found[y] == [sum((i % 7 - 3) * 2.0 for i in range(100))] and log[0].accepts == [None]
