"""What the reference accepts beside its own bits: as much as the rules leave, and no more."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.model.raw import array, code, codes_of, exact, float_codes, is_finite

import counterfoil_reference as cf
from counterfoil_reference import elements
from counterfoil_reference.intervals import AnyOf, Anything, Between, Record, watched, watching
from counterfoil_reference.numbers import BINARY32, FORMATS, encode_ratio, ordered
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import (
    Dtype,
    bfloat16,
    bool_,
    complex64,
    float4_e2m1fn,
    float8_e4m3fn,
    float16,
    float32,
    float64,
    int32,
)
from counterfoil_spec.expressions import Apply, Cast, Constant, Input, Node
from counterfoil_spec.kernels import KERNELS

FUNCTIONS = [name for name, row in KERNELS.items() if row.ulps and name not in ("pow", "atan2")]


def watch(kernel: str, dtype: Dtype, shape: Sequence[int], *sources: Any) -> Record:
    """The record of one call that is Done."""
    with watching() as log:
        assert getattr(cf.kernels, kernel)(cf.host_array(dtype, shape), *sources) is Answer.DONE
    (record,) = log
    return record


def room(kernel: str, dtype: Dtype, *codes: int) -> Any:
    """What a pointwise kernel accepts for one code per source."""
    return watch(kernel, dtype, [1], *(array(dtype, [each]) for each in codes)).accepts[0]


def truth(name: str, x: Fraction) -> Fraction:
    """The function's value to 600 bits, from mpmath."""
    named = {"exp2": lambda v: mpmath.power(2, v), "log2": lambda v: mpmath.log(v) / mpmath.log(2)}
    with mpmath.workprec(700):
        value = named.get(name, getattr(mpmath, name, None))(mpmath.mpf(x.numerator) / x.denominator)
        scaled = int(mpmath.nint(mpmath.ldexp(mpmath.re(value), 650)))
    return Fraction(scaled, 2**650)


def unit(dtype: Dtype, value: Fraction) -> Fraction:
    """A unit in the last place of a value's binade, the smallest subnormal at least."""
    form = FORMATS[dtype]
    power = value.numerator.bit_length() - value.denominator.bit_length()
    power -= abs(value) < Fraction(2) ** power
    return Fraction(2) ** max(power - form.fraction_bits, form.least)


# --- functions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
@given(dtype=st.sampled_from([float32, float64]), size=st.floats(1e-5, 20), sign=st.sampled_from([1, -1]))
def test_a_function_has_exactly_its_units(name: str, dtype: Dtype, size: float, sign: int) -> None:
    """A neighbour of the result is accepted iff it is within the bound of the exact value (told to 75 bits)."""
    x = size * (1 if name in ("log", "log2") else sign) / (20.5 if name in ("asin", "acos", "log1p") else 1)
    form, source = FORMATS[dtype], code(dtype, x)
    accept = room(name, dtype, source)
    assume(isinstance(accept, Between))
    value = truth(name, exact(dtype, source))
    bound = KERNELS[name].ulps[dtype is float64] * unit(dtype, value)  # type: ignore[index]
    assume(value != 0 and abs(value) < Fraction(2) ** 100)
    middle = ordered(form, encode_ratio(form, value.numerator, value.denominator))
    for place in range(middle - 6, middle + 7):
        neighbour = place if place >= 0 else form.sign_bit - place
        beyond = abs(exact(dtype, neighbour) - value) - bound
        if abs(beyond) > abs(value) / 2**75:
            assert accept.accepts(dtype, neighbour) == (beyond < 0)


@pytest.mark.parametrize("name", ["exp", "tanh", "log", "sin"])
@given(dtype=st.sampled_from([float16, bfloat16, float8_e4m3fn, float4_e2m1fn]), data=st.data())
def test_narrow_functions_round_what_float32_may_give(name: str, dtype: Dtype, data: st.DataObject) -> None:
    """The accepted codes are those that the float32 results within the bound round to."""
    source = data.draw(float_codes(dtype, finite=True))
    source &= ~FORMATS[dtype].sign_bit if name == "log" else source
    accept = room(name, dtype, source)
    assume(isinstance(accept, Between))
    value = truth(name, exact(dtype, source))
    assume(value != 0 and abs(value) < Fraction(2) ** 100)
    bound = KERNELS[name].ulps[0] * unit(float32, value)  # type: ignore[index]
    middle = ordered(BINARY32, encode_ratio(BINARY32, value.numerator, value.denominator))
    wide = [place if place >= 0 else BINARY32.sign_bit - place for place in range(middle - 6, middle + 7)]
    values = [exact(float32, each) for each in wide]
    rounded = {round_to(dtype, each) for each in values if abs(each - value) <= bound}
    if rounded & {0, FORMATS[dtype].sign_bit}:  # a zero may have either sign
        rounded |= {0, FORMATS[dtype].sign_bit}
    codes = range(1 << dtype.bits) if dtype.bits <= 8 else around(dtype, next(iter(rounded)))
    for each in codes:
        if is_finite(dtype, each):
            assert accept.accepts(dtype, each) == (each in rounded)


def round_to(dtype: Dtype, value: Fraction) -> int:
    """The code a value rounds to."""
    return encode_ratio(FORMATS[dtype], value.numerator, value.denominator)


def around(dtype: Dtype, each: int) -> list[int]:
    """Codes near one, of its sign."""
    sign = each & FORMATS[dtype].sign_bit
    magnitude = each ^ sign
    return [place | sign for place in range(max(magnitude - 4, 0), magnitude + 5)]


def test_an_interval_past_the_largest_number_holds_infinity() -> None:
    """2**128 in float32 may be infinity or the largest number; e**1000 only infinity, e**88 only numbers."""
    infinity, largest = FORMATS[float32].infinity, FORMATS[float32].last_finite
    accept = room("exp2", float32, code(float32, 128.0))
    assert accept.accepts(float32, infinity) and accept.accepts(float32, largest)
    accept = room("exp", float32, code(float32, 1000.0))
    assert accept.accepts(float32, infinity) and not accept.accepts(float32, largest)
    assert not room("exp", float32, code(float32, 88.0)).accepts(float32, infinity)


@pytest.mark.parametrize(
    ("name", "values"),
    [("exp", [0.0]), ("exp", [-math.inf]), ("pow", [7.0, 0.0]), ("log", [1.0]), ("tanh", [math.inf]), ("sin", [-0.0]),
     ("atan2", [0.0, 3.0]), ("sqrt", [2.0]), ("fdiv", [1.0, 3.0]), ("mod", [7.5, 2.0]), ("neg", [math.nan])],
)  # fmt: skip
def test_exact_results_have_no_room(name: str, values: list[float]) -> None:
    """Special values, operations rounded once, and sign flips of NaN are right in one way only."""
    assert room(name, float32, *(code(float32, value) for value in values)) is None


# --- NaN -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"), [("log", [-1.0]), ("add", [math.nan, 1.0]), ("maximum", [1.0, math.nan]), ("floor", [math.nan])]
)
def test_an_arithmetic_nan_is_any_nan(name: str, values: list[float]) -> None:
    """Every sign and payload, and nothing that is a number or infinite."""
    accept = room(name, float32, *(code(float32, value) for value in values))
    assert all(accept.accepts(float32, bits) for bits in (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF))
    assert not any(accept.accepts(float32, bits) for bits in (0, 0x7F800000, 0xFF800000, 0x3F800000))


def test_a_complex_nan_frees_its_part_alone() -> None:
    """Of (inf, 1) - (inf, 0) the real part is any NaN, the imaginary part exactly 1."""
    accept = room("sub", complex64, code(complex64, complex(math.inf, 1)), code(complex64, complex(math.inf, 0)))
    one, two = code(float32, 1.0), code(float32, 2.0)
    assert accept.accepts(complex64, 0xFFC00001 | one << 32)
    assert not accept.accepts(complex64, 0xFFC00001 | two << 32) and not accept.accepts(complex64, one | one << 32)


# --- sums: whatever the order ----------------------------------------------------------------------------------------

# Terms of all sizes, so that partial sums overflow and products underflow.
terms = st.lists(
    st.one_of(
        st.floats(-8, 8, width=32), st.floats(width=32, allow_nan=False), st.sampled_from([0.0, -0.0, 3e38, -3e38])
    ),
    min_size=1, max_size=9,
)  # fmt: skip


def folded(operation: Any, values: list[Any], data: st.DataObject) -> Any:
    """Values combined two by two in a drawn order, in the values' own arithmetic."""
    rest = list(values)
    with np.errstate(all="ignore"):
        while len(rest) > 1:
            first = rest.pop(data.draw(st.integers(0, len(rest) - 1)))
            second = rest.pop(data.draw(st.integers(0, len(rest) - 1)))
            rest.append(operation(first, second))
    return rest[0]


def bits_of(value: Any) -> int:
    """The code of a numpy scalar."""
    return int.from_bytes(value.tobytes(), "little")


def assert_accepted(record: Record, dtype: Dtype, found: Sequence[int]) -> None:
    """Every code is what the record stores or accepts."""
    for stored, each, accept in zip(elements.codes(record.dst), found, record.accepts, strict=True):
        assert each == stored if accept is None else accept.accepts(dtype, each)


@given(terms, st.data())
def test_sums_in_any_order_are_accepted(values: list[float], data: st.DataObject) -> None:
    """float32 terms added in any order in float32, and the mean as that sum divided."""
    x = cf.from_values(float32, [len(values)], values)
    total = folded(np.add, [np.float32(0), *map(np.float32, values)], data)
    assert_accepted(watch("sum", float32, [], x, [0]), float32, [bits_of(total)])
    with np.errstate(all="ignore"):
        mean = total / np.float32(len(values))
    assert_accepted(watch("mean", float32, [], x, [0]), float32, [bits_of(mean)])


@given(terms, st.data())
def test_products_in_any_order_are_accepted(values: list[float], data: st.DataObject) -> None:
    """With overflow, underflow and subnormals on the way."""
    x = cf.from_values(float32, [len(values)], values)
    product = folded(np.multiply, [np.float32(1), *map(np.float32, values)], data)
    assert_accepted(watch("prod", float32, [], x, [0]), float32, [bits_of(product)])


@given(terms, terms, st.data())
def test_dot_products_in_any_order_are_accepted(left: list[float], right: list[float], data: st.DataObject) -> None:
    """Products rounded to float32, some of them subnormal, then added in any order."""
    count = min(len(left), len(right))
    x, y = left[:count], right[:count]
    with np.errstate(all="ignore"):
        products = [np.float32(a) * np.float32(b) for a, b in zip(x, y, strict=True)]
    total = folded(np.add, [np.float32(0), *products], data)
    operands = cf.from_values(float32, [1, count], x), cf.from_values(float32, [count, 1], y)
    assert_accepted(watch("matmul", float32, [1, 1], *operands), float32, [bits_of(total)])


@given(st.lists(float_codes(float16, finite=True), min_size=1, max_size=9), st.data())
def test_narrow_sums_are_accumulated_in_float32(codes: list[int], data: st.DataObject) -> None:
    """float16 terms added in any order in float32, then rounded to float16; running sums in order."""
    values = [np.float32(exact(float16, each)) for each in codes]
    x = array(float16, codes)
    with np.errstate(all="ignore"):
        total = np.float16(folded(np.add, [np.float32(0), *values], data))
        running = np.add.accumulate(np.array(values)).astype(np.float16)
    assert_accepted(watch("sum", float16, [], x, [0]), float16, [bits_of(total)])
    assert_accepted(watch("cumsum", float16, x.shape, x, 0), float16, list(map(bits_of, running)))


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=8))
def test_a_sum_has_exactly_its_bound(values: list[float]) -> None:
    """Accepted iff between the roundings of the exact sum minus and plus gamma(n) times the sum of magnitudes."""
    accept = watch("sum", float32, [], cf.from_values(float32, [len(values)], values), [0]).accepts[0]
    assert isinstance(accept, Between)
    fractions = list(map(Fraction, values))
    total, n = sum(fractions, Fraction(0)), len(values)
    bound = Fraction(n, 2**24 - n) * sum(map(abs, fractions))
    low, high = (ordered(BINARY32, round_to(float32, end)) for end in (total - bound, total + bound))
    for place in [*range(low - 3, low + 4), *range(high - 3, high + 4)]:
        neighbour = place if place >= 0 else BINARY32.sign_bit - place
        assert accept.accepts(float32, neighbour) == (low <= place <= high)


def test_a_sum_that_may_overflow_may_be_infinite_or_nan() -> None:
    """3e38 + 3e38 - 3e38 - 3e38 is 0, either infinity, or NaN; without the large terms only near 0."""
    accept = watch("sum", float32, [], cf.from_values(float32, [4], [3e38, 3e38, -3e38, -3e38]), [0]).accepts[0]
    infinity, sign = FORMATS[float32].infinity, FORMATS[float32].sign_bit
    assert isinstance(accept, AnyOf)
    assert all(accept.accepts(float32, bits) for bits in (0, infinity, infinity | sign, 0xFFC00000))
    accept = watch("sum", float32, [], cf.from_values(float32, [2], [3e37, -3e37]), [0]).accepts[0]
    assert accept is not None and not any(accept.accepts(float32, bits) for bits in (infinity, 0x7FC00000))


@pytest.mark.parametrize(("kernel", "stored"), [("sum", 0), ("prod", 0x3F800000)])
def test_over_no_term_there_is_no_room(kernel: str, stored: int) -> None:
    """The empty sum is +0 and the empty product 1, bit for bit; the empty mean is any NaN."""
    empty = cf.from_values(float32, [0], [])
    record = watch(kernel, float32, [], empty, [0])
    assert record.accepts[0] is None and elements.codes(record.dst) == [stored]
    assert watch("mean", float32, [], empty, [0]).accepts[0].accepts(float32, 0xFFC00001)  # type: ignore[union-attr]


@given(st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=8))
def test_softmax_as_it_is_written_is_accepted(row: list[float]) -> None:
    """exp(x - max) / sum, each step in float32; and nothing a thousandth off."""
    x = np.array(row, np.float32)
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max())
        found = powers / powers.sum()
    record = watch("softmax", float32, [len(row)], cf.from_values(float32, [len(row)], row), 0)
    assert_accepted(record, float32, list(map(bits_of, found)))
    for value, accept in zip(found, record.accepts, strict=True):
        assert accept is not None
        if value > 1e-30:
            assert not accept.accepts(float32, bits_of(value * np.float32(1.001)))


# --- expressions -----------------------------------------------------------------------------------------------------


def mapped(dtype: Dtype, expression: Node, source: Any) -> Any:
    """What map accepts for a single element."""
    with watching() as log:
        assert cf.kernels.map(cf.host_array(dtype, [1]), expression, [source]) is Answer.DONE
    return log[0].accepts[0]


@given(st.floats(-5, 5, width=32))
def test_an_expression_follows_each_choice_of_its_functions(x: float) -> None:
    """exp(x) + 1 accepts exactly the sums of 1 and what exp accepts."""
    assume(x != 0)
    source = array(float32, [code(float32, x)])
    accept = mapped(float32, Apply("add", Apply("exp", Input(0)), Constant(float32, 1)), source)
    inner = room("exp", float32, code(float32, x))
    reached = {bits_of(np.frombuffer(bits.to_bytes(4, "little"), np.float32)[0] + np.float32(1))
               for bits in range(inner.low, inner.high + 1)}  # fmt: skip
    if accept is None:
        assert len(reached) == 1
    else:
        assert all(accept.accepts(float32, b) == (b in reached) for b in range(min(reached) - 5, max(reached) + 6))


def test_a_comparison_of_a_function_may_go_either_way() -> None:
    """exp(1) < its own rounding may be true or false; exp(1) < 3 is true."""
    source = array(float32, [code(float32, 1.0)])
    rounded = Constant(float32, float(np.float32(math.e)))
    accept = mapped(bool_, Apply("less", Apply("exp", Input(0)), rounded), source)
    assert accept.accepts(bool_, 0) and accept.accepts(bool_, 1)
    assert mapped(bool_, Apply("less", Apply("exp", Input(0)), Constant(float32, 3)), source) is None


def test_a_free_nan_stays_free_through_what_keeps_bits() -> None:
    """-(0/0) is any NaN, cast to int it is exactly 0; a NaN that was given keeps its flipped bits."""
    zero = array(float32, [0])
    quotient = Apply("fdiv", Input(0), Input(0))
    accept = mapped(float32, Apply("neg", quotient), zero)
    assert accept.accepts(float32, 0x7FC00000) and accept.accepts(float32, 0xFFC00001)
    assert not accept.accepts(float32, 0)
    assert mapped(int32, Cast(int32, quotient), zero) is None
    assert mapped(float32, Apply("neg", Input(0)), array(float32, [0x7FC00000])) is None


def test_past_many_choices_anything_is_accepted() -> None:
    """A sum of many functions has more results than are followed."""
    node: Node = Apply("sin", Input(0))
    for scale in (3.1, 1e7, 77.0):
        node = Apply("mul", Apply("tan", Apply("mul", node, Constant(float32, scale))), Apply("sin", node))
    assert isinstance(mapped(float32, node, array(float32, [code(float32, 1.3)])), Anything)


# --- watching --------------------------------------------------------------------------------------------------------


@given(st.data())
def test_the_references_own_bits_are_accepted(data: st.DataObject) -> None:
    """Every unary and binary kernel accepts what it stored, in every dtype of its row."""
    names = [name for name, row in KERNELS.items() if row.family.value in ("unary", "binary")]
    name = data.draw(st.sampled_from(names))
    dtype = data.draw(st.sampled_from(sorted(KERNELS[name].domain, key=lambda each: each.code)))
    count = 1 if KERNELS[name].family.value == "unary" else 2
    sources = [array(dtype, [data.draw(codes_of(dtype))]) for _ in range(count)]
    record = watch(name, dtype, [1], *sources)
    assert_accepted(record, dtype, elements.codes(record.dst))


def test_only_calls_that_are_done_are_recorded() -> None:
    """A refused or declined call leaves no record; the innermost watcher has the others."""
    x = cf.from_values(float32, [2], [1.0, 2.0])
    with watching() as outer:
        assert cf.kernels.exp(cf.host_array(float32, [3]), x) is Answer.SHAPE_MISMATCH
        assert cf.kernels.sum(x, x, []) is Answer.DECLINED
        with watching() as inner:
            assert cf.kernels.exp(x, x) is Answer.DONE
        assert cf.kernels.neg(x, x) is Answer.DONE
    assert [record.accepts for record in outer] == [[None, None]] and len(inner) == 1
    assert inner[0].dst is x


def test_nobody_watches_outside() -> None:
    """Without a watcher there is no log, also after one left by an exception."""
    assert watched() is None
    with pytest.raises(RuntimeError), watching():
        raise RuntimeError
    assert watched() is None


def test_zeros_of_either_sign_lie_in_an_interval_around_zero() -> None:
    """A float sum that may be zero may have either zero."""
    accept = watch("sum", float32, [], cf.from_values(float32, [2], [1.0, -1.0]), [0]).accepts[0]
    assert accept is not None and accept.accepts(float32, 0) and accept.accepts(float32, 1 << 31)
