"""The kernels against numpy where numpy is right, and against their definitions where it is not."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.raw import (
    ALL_FLOATS,
    ALL_INTEGERS,
    array,
    code,
    codes_of,
    exact,
    float_codes,
    on_codes,
    result,
    root_of,
    zeros,
)

import counterfoil_reference as cf
from counterfoil_reference import elements
from counterfoil_reference.numbers import (
    FORMATS,
    code_of_value,
    encode_exact,
    int_range,
    integer_of_code,
    is_nan_code,
    value_of_code,
)
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import (
    Dtype,
    Kind,
    bit,
    bool_,
    complex64,
    complex128,
    float4_e2m1fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
)
from counterfoil_spec.expressions import Input
from counterfoil_spec.kernels import KERNELS, Family
from counterfoil_spec.refusals import Refusal

NUMPY_FLOATS = [float64, float32, float16]
UNSIGNED = {64: np.uint64, 32: np.uint32, 16: np.uint16, 8: np.uint8}


def as_numpy(dtype: Dtype, *codes: int) -> Any:
    """Codes as a numpy array of the dtype."""
    return np.array(codes, UNSIGNED[dtype.bits]).view(dtype.name)


def same(dtype: Dtype, found: int, expected: Any) -> bool:
    """Whether a code is a numpy scalar's, NaN of any bits for NaN."""
    if is_nan_code(FORMATS[dtype], found):
        return bool(np.isnan(expected))
    return found == int(np.array([expected], dtype.name).view(UNSIGNED[dtype.bits])[0])


# --- floats ----------------------------------------------------------------------------------------------------------

FLOAT_NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "fdiv": np.divide, "mod": np.fmod, "sqrt": np.sqrt,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "neg": np.negative, "abs": np.abs, "sign": np.sign,
    "recip": np.reciprocal,
}  # fmt: skip


@pytest.mark.parametrize("name", FLOAT_NUMPY)
@given(dtype=st.sampled_from(NUMPY_FLOATS), data=st.data())
def test_float_arithmetic_is_the_machines(name: str, dtype: Dtype, data: st.DataObject) -> None:
    """One rounding, IEEE zeros, infinities and NaN: as numpy's kernels in float64, float32 and float16."""
    arity = 2 if KERNELS[name].family is Family.BINARY else 1
    sources = [data.draw(codes_of(dtype)) for _ in range(arity)]
    with np.errstate(all="ignore"):
        expected = FLOAT_NUMPY[name](*(as_numpy(dtype, source) for source in sources))[0]
    if name == "sign" and sources[0] == FORMATS[dtype].sign_bit:
        expected = -expected  # numpy drops the sign of zero
    assert same(dtype, on_codes(name, dtype, *sources), expected)


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "fdiv": lambda x, y: x / y,
    "fma": lambda x, y, z: x * y + z,
}


@pytest.mark.parametrize("name", EXACT)
@given(dtype=st.sampled_from(ALL_FLOATS), data=st.data())
def test_float_arithmetic_is_the_exact_result_rounded_once(name: str, dtype: Dtype, data: st.DataObject) -> None:
    """add, sub, mul, fdiv and fma of finite floats store what the rational result stores as."""
    sources = [data.draw(float_codes(dtype, finite=True)) for _ in range(3 if name == "fma" else 2)]
    values = [exact(dtype, source) for source in sources]
    if name == "fdiv" and values[1] == 0:
        return
    expected = encode_exact(dtype, EXACT[name](*values))
    found = on_codes(name, dtype, *sources)
    assert found == expected or expected == 0 == found & ~FORMATS[dtype].sign_bit


@given(dtype=st.sampled_from(ALL_FLOATS), data=st.data())
def test_a_root_is_rounded_once(dtype: Dtype, data: st.DataObject) -> None:
    """sqrt stores what a root cut after 1400 bits stores as (no root lies on a rounding boundary)."""
    source = data.draw(float_codes(dtype, finite=True)) & ~FORMATS[dtype].sign_bit
    root = root_of(exact(dtype, source), 1400)
    exactly = root * root == exact(dtype, source)
    nudged = root if exactly else root + Fraction(1, 2**1401)
    assert on_codes("sqrt", dtype, source) == encode_exact(dtype, nudged)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("round", [0.5], 1.0), ("round", [-2.5], -3.0), ("round", [-0.3], -0.0), ("round", [2.4], 2.0),
        ("ceil", [-0.5], -0.0), ("floor", [-0.5], -1.0), ("trunc", [-0.9], -0.0), ("round", [-math.inf], -math.inf),
        ("sign", [-0.0], -0.0), ("sign", [-7.0], -1.0), ("maximum", [-0.0, 0.0], 0.0), ("maximum", [0.0, -0.0], 0.0),
        ("minimum", [0.0, -0.0], -0.0), ("maximum", [-math.inf, -1.0], -1.0), ("fdiv", [1.0, -0.0], -math.inf),
        ("recip", [-math.inf], -0.0), ("sqrt", [-0.0], -0.0), ("add", [-0.0, -0.0], -0.0), ("add", [1.0, -1.0], 0.0),
        ("mod", [-6.0, 3.0], -0.0), ("mod", [5.0, -math.inf], 5.0), ("fma", [-1.0, 0.0, -0.0], -0.0),
        ("fma", [1.0, 0.0, -0.0], 0.0), ("pow", [math.nan, 0.0], 1.0), ("pow", [1.0, math.nan], 1.0),
        ("log", [0.0], -math.inf), ("atan2", [-0.0, 1.0], -0.0), ("exp", [-math.inf], 0.0), ("acos", [1.0], 0.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [float64, float32, float16])
def test_float_vectors(name: str, values: list[float], expected: float, dtype: Dtype) -> None:
    """Signs of zero, halves away from zero, and special values, bit for bit."""
    assert on_codes(name, dtype, *(code(dtype, value) for value in values)) == code(dtype, expected)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("maximum", [math.nan, 1.0]), ("minimum", [1.0, -math.nan]), ("log", [-1.0]), ("sqrt", [-1.0]),
        ("sub", [math.inf, math.inf]), ("mul", [0.0, math.inf]), ("mod", [1.0, 0.0]), ("fdiv", [0.0, 0.0]),
        ("sin", [math.inf]), ("fma", [0.0, math.inf, 1.0]), ("pow", [-8.0, 0.5]), ("sign", [math.nan]),
    ],
)  # fmt: skip
def test_nan_comes_of_nan_and_of_no_value(name: str, values: list[float]) -> None:
    """NaN propagates and is given outside a domain."""
    assert is_nan_code(FORMATS[float32], on_codes(name, float32, *(code(float32, value) for value in values)))


@given(dtype=st.sampled_from(ALL_FLOATS), data=st.data())
def test_neg_and_abs_touch_only_the_sign_bit(dtype: Dtype, data: st.DataObject) -> None:
    """neg flips and abs clears the sign bit of any code, NaN payloads and raw infinities included."""
    source, sign = data.draw(codes_of(dtype)), FORMATS[dtype].sign_bit
    assert on_codes("neg", dtype, source) == source ^ sign
    assert on_codes("abs", dtype, source) == source & ~sign


def test_float8_e5m2_infinities_come_from_bytes_only() -> None:
    """Arithmetic on a raw infinity stores the largest finite value; what picks an operand keeps its bits."""
    infinity, largest, one = 0x7C, 0x7B, code(float8_e5m2, 1.0)
    assert on_codes("add", float8_e5m2, infinity, one) == largest
    assert on_codes("floor", float8_e5m2, infinity) == largest
    assert on_codes("maximum", float8_e5m2, infinity, one) == infinity
    assert on_codes("minimum", float8_e5m2, infinity | 0x80, one) == infinity | 0x80


def test_float4_stores_nan_as_zero_and_saturates() -> None:
    """0/0 is +0 and 1/0 is 6 in float4, which has neither NaN nor infinity."""
    one, zero = code(float4_e2m1fn, 1.0), code(float4_e2m1fn, 0.0)
    assert on_codes("fdiv", float4_e2m1fn, zero, zero) == 0
    assert value_of_code(float4_e2m1fn, on_codes("fdiv", float4_e2m1fn, one, zero)) == 6.0


# --- integers and booleans -------------------------------------------------------------------------------------------

INTEGER: dict[str, Callable[..., int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "idiv": lambda x, y: math.trunc(Fraction(x, y)) if y else 0,
    "mod": lambda x, y: x - y * math.trunc(Fraction(x, y)) if y else x,
    "maximum": max,
    "minimum": min,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "fma": lambda x, y, z: x * y + z,
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "recip": lambda x: x if x in (1, -1) else 0,
}


@pytest.mark.parametrize("name", INTEGER)
@given(dtype=st.sampled_from(ALL_INTEGERS), data=st.data())
def test_integer_arithmetic_wraps(name: str, dtype: Dtype, data: st.DataObject) -> None:
    """The exact integer result modulo the width; division truncates, by zero it gives 0 and the remainder x."""
    arity = {Family.UNARY: 1, Family.BINARY: 2, Family.FMA: 3}[KERNELS[name].family]
    sources = [data.draw(codes_of(dtype)) for _ in range(arity)]
    expected = INTEGER[name](*(integer_of_code(dtype, source) for source in sources))
    assert on_codes(name, dtype, *sources) == expected & ((1 << dtype.bits) - 1)


@pytest.mark.parametrize("dtype", ALL_INTEGERS, ids=str)
def test_the_least_value_over_minus_one_is_itself(dtype: Dtype) -> None:
    """min / -1 wraps to min for signed dtypes; an unsigned all-ones divisor is its greatest value."""
    low, high = int_range(dtype)
    mask = (1 << dtype.bits) - 1
    quotient = on_codes("idiv", dtype, low & mask, mask)
    assert quotient == (low & mask if dtype.kind is Kind.SIGNED else 0)
    assert on_codes("idiv", dtype, high, mask) == (-high & mask if dtype.kind is Kind.SIGNED else 1)


@given(dtype=st.sampled_from(ALL_INTEGERS), data=st.data())
def test_integer_powers_wrap(dtype: Dtype, data: st.DataObject) -> None:
    """x**y modulo the width for y >= 0; negative exponents give 0 but for the bases 1 and -1."""
    base, power = data.draw(codes_of(dtype)), data.draw(codes_of(dtype))
    x, y = integer_of_code(dtype, base), integer_of_code(dtype, power)
    if y >= 0:
        expected = pow(x, y, 2**dtype.bits)
    else:
        expected = x**-y if x == 1 else (-1) ** (-y % 2) if x == -1 else 0
    assert on_codes("pow", dtype, base, power) == expected & ((1 << dtype.bits) - 1)


def test_booleans_are_read_by_truth_and_written_one_or_zero() -> None:
    """Bitwise kernels, extremes and comparisons of bool look at any non-zero byte as true."""
    for x, y in [(0, 0), (0, 2), (3, 0), (2, 255)]:
        assert on_codes("bitwise_and", bool_, x, y) == on_codes("minimum", bool_, x, y) == int(bool(x) and bool(y))
        assert on_codes("bitwise_or", bool_, x, y) == on_codes("maximum", bool_, x, y) == int(bool(x) or bool(y))
        assert on_codes("bitwise_xor", bool_, x, y) == on_codes("not_equal", bool_, x, y) == int(bool(x) != bool(y))
        assert on_codes("less", bool_, x, y) == int(not x and y > 0)
        assert on_codes("copy", bool_, x) == x


# --- comparisons, where, complex -------------------------------------------------------------------------------------

NUMPY_COMPARISONS = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY_COMPARISONS)
@given(dtype=st.sampled_from([*NUMPY_FLOATS, int64, int8, uint8]), data=st.data())
def test_comparisons_are_the_machines(name: str, dtype: Dtype, data: st.DataObject) -> None:
    """IEEE comparison of floats, true values of integers."""
    x, y = data.draw(codes_of(dtype)), data.draw(codes_of(dtype))
    expected = NUMPY_COMPARISONS[name](as_numpy(dtype, x), as_numpy(dtype, y))[0]
    assert result(name, bool_, array(dtype, [x]), array(dtype, [y])) == [int(expected)]


@pytest.mark.parametrize(
    ("x", "y", "less", "less_equal", "equal"),
    [
        (1 + 2j, 1 + 3j, 1, 1, 0), (1 + 3j, 2 + 0j, 1, 1, 0), (2 + 0j, 1 + 9j, 0, 0, 0), (1 + 1j, 1 + 1j, 0, 1, 1),
        (complex(0.0, 1), complex(-0.0, 1), 0, 1, 1), (complex(1, math.nan), 2 + 0j, 0, 0, 0),
        (complex(math.nan, 1), complex(math.nan, 1), 0, 0, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [complex64, complex128])
def test_complex_values_are_ordered_by_parts(
    x: complex, y: complex, less: int, less_equal: int, equal: int, dtype: Dtype
) -> None:
    """By (re, im); with a NaN part only not_equal is true."""
    operands = array(dtype, [code(dtype, x)]), array(dtype, [code(dtype, y)])
    found = [result(name, bool_, *operands)[0] for name in ("less", "less_equal", "equal", "not_equal")]
    assert found == [less, less_equal, equal, 1 - equal]


@given(st.lists(float_codes(float32, finite=True), min_size=4, max_size=4))
def test_a_complex_product_rounds_each_part_once(parts: list[int]) -> None:
    """ac - bd and ad + bc exactly, then rounded: no cancellation is lost."""
    a, b, c, d = (exact(float32, part) for part in parts)
    found = on_codes("mul", complex64, parts[0] | parts[1] << 32, parts[2] | parts[3] << 32)
    sign = FORMATS[float32].sign_bit
    for bits, value in ((found & 0xFFFFFFFF, a * c - b * d), (found >> 32, a * d + b * c)):
        expected = encode_exact(float32, value)
        assert bits == expected or expected == 0 == bits & ~sign


def test_a_complex_product_with_an_infinity_is_taken_naively() -> None:
    """Each part by binary64's own rules: (inf + 1i)(1 + 1i) has infinite parts, (inf + 1i)(0 + 1i) a NaN."""
    product = on_codes("mul", complex128, code(complex128, complex(math.inf, 1)), code(complex128, 1 + 1j))
    assert value_of_code(complex128, product) == complex(math.inf, math.inf)
    product = on_codes("mul", complex128, code(complex128, complex(math.inf, 1)), code(complex128, 1j))
    value = complex(value_of_code(complex128, product))
    assert math.isnan(value.real) and value.imag == math.inf


@given(st.data())
def test_where_picks_bits(data: st.DataObject) -> None:
    """where copies the chosen element bit for bit; any non-zero condition byte chooses x."""
    dtype = data.draw(st.sampled_from(Dtype.all))
    x, y = (data.draw(st.integers(0, 2**dtype.bits - 1)) for _ in range(2))
    condition = data.draw(st.sampled_from([bool_, bit]))
    chosen = data.draw(st.integers(0, 2**condition.bits - 1))
    found = result("where", dtype, array(condition, [chosen]), array(dtype, [x]), array(dtype, [y]))
    assert found == [x if chosen else y]


# --- casts, fill, iota -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", Dtype.all, ids=str)
def test_every_pair_of_dtypes_converts_small_values(source: Dtype) -> None:
    """0 and 1 are 0 and 1 in every dtype, from every dtype: all 441 pairs."""
    for target in Dtype.all:
        values = [False, True] if source.kind is Kind.BOOLEAN else [0, 1]
        found = result("cast", target, cf.from_values(source, [2], values))
        assert [value_of_code(target, bits) for bits in found] == [0, 1]


@given(st.sampled_from(ALL_INTEGERS), st.sampled_from(ALL_INTEGERS), st.data())
def test_integers_convert_modulo_the_width(source: Dtype, target: Dtype, data: st.DataObject) -> None:
    """An integer's value is kept modulo 2^bits of the target."""
    bits = data.draw(codes_of(source))
    expected = integer_of_code(source, bits) & ((1 << target.bits) - 1)
    assert result("cast", target, array(source, [bits])) == [expected]


@given(st.sampled_from(ALL_INTEGERS), st.sampled_from(ALL_FLOATS), st.data())
def test_integers_round_once_into_floats(source: Dtype, target: Dtype, data: st.DataObject) -> None:
    """The exact integer is rounded once."""
    bits = data.draw(codes_of(source))
    assert result("cast", target, array(source, [bits])) == [code_of_value(target, integer_of_code(source, bits))]


@given(st.sampled_from(Dtype.all), st.data())
def test_a_cast_to_the_own_dtype_keeps_bits(dtype: Dtype, data: st.DataObject) -> None:
    """NaN payloads and odd boolean bytes included."""
    bits = data.draw(st.integers(0, 2**dtype.bits - 1))
    assert on_codes("cast", dtype, bits) == on_codes("copy", dtype, bits) == bits


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_float32_and_complex64_parts_keep_their_bits(real: int, imaginary: int) -> None:
    """To complex with +0 as the imaginary part, and back by the real part, bit for bit; true if either part is."""
    whole = real | imaginary << 32
    assert result("cast", complex64, array(float32, [real])) == [real]
    assert result("cast", float32, array(complex64, [whole])) == [real]
    assert result("cast", bool_, array(complex64, [whole])) == [int(whole & 0x7FFFFFFF7FFFFFFF != 0)]


def test_complex128_narrows_part_by_part() -> None:
    """Each component rounds once; to an integer the real part truncates."""
    source = array(complex128, [code(complex128, complex(0.1, 2.0**-150 * 1.5))])
    expected = code_of_value(complex64, complex(0.1, 2.0**-150 * 1.5))
    assert result("cast", complex64, source) == [expected]
    assert result("cast", int8, array(complex128, [code(complex128, complex(-2.7, 9))])) == [0xFE]


@pytest.mark.parametrize("dtype", [d for d in Dtype.all if d in KERNELS["iota"].domain], ids=str)
def test_iota_writes_the_coordinate_as_a_cast_from_int64(dtype: Dtype) -> None:
    """Along each axis, wrapping in int4 and rounding in float8."""
    dst = cf.host_array(dtype, [2, 20])
    assert cf.kernels.iota(dst, 1) is Answer.DONE
    row = result("cast", dtype, cf.from_values(int64, [20], range(20)))
    assert elements.codes(dst) == row + row
    assert cf.kernels.iota(dst, 0) is Answer.DONE
    assert elements.codes(dst) == [row[0]] * 20 + [row[1]] * 20


def test_fill_stores_the_value_everywhere_or_refuses_it() -> None:
    """fill's value is checked as a store's, before the door."""
    dst = cf.host_array(uint8, [2, 3])
    assert cf.kernels.fill(dst, 7) is Answer.DONE and dst.to_values() == [7] * 6
    for value, rule in ((300, "dtypes/value-range"), (True, "dtypes/value-type"), (1.0, "dtypes/value-type")):
        with pytest.raises(Refusal) as refused:
            cf.kernels.fill(dst, value)
        assert refused.value.rule == rule
    assert dst.to_values() == [7] * 6


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "operands", "parameters", "answer"),
    [
        ("add", [(float32, 2), (float32, 3), (float32, 2)], [], Answer.SHAPE_MISMATCH),
        ("add", [(float32, 2), (float32, 1), (float32, 1)], [], Answer.SHAPE_MISMATCH),
        ("add", [(float32, 2), (float32, 3), (float64, 2)], [], Answer.WRONG_DTYPE),
        ("add", [(bool_, 2), (bool_, 2), (bool_, 2)], [], Answer.WRONG_DTYPE),
        ("exp", [(int32, 2), (int32, 2)], [], Answer.WRONG_DTYPE),
        ("equal", [(bit, 2), (int32, 2), (int32, 2)], [], Answer.WRONG_DTYPE),
        ("where", [(int32, 2), (int32, 2), (int32, 2), (int32, 2)], [], Answer.WRONG_DTYPE),
        ("copy", [(int32, 2), (float32, 2)], [], Answer.WRONG_DTYPE),
        ("cast", [(int32, 2), (float32, 3)], [], Answer.SHAPE_MISMATCH),
        ("iota", [(bool_, 2)], [0], Answer.WRONG_DTYPE),
        ("iota", [(int32, 2)], [1], Answer.SHAPE_MISMATCH),
        ("iota", [(int32, 2)], [-1], Answer.SHAPE_MISMATCH),
        ("sum", [(int32,), (int32, 2)], [[1]], Answer.SHAPE_MISMATCH),
        ("sum", [(int32,), (int32, 2, 2)], [[0, 0]], Answer.SHAPE_MISMATCH),
        ("sum", [(int32, 2), (int32, 2, 3)], [[0]], Answer.SHAPE_MISMATCH),
        ("mean", [(int32,), (int32, 2)], [[0]], Answer.WRONG_DTYPE),
        ("argmax", [(int32,), (int32, 2)], [[0]], Answer.WRONG_DTYPE),
        ("max", [(int32,), (int32, 0)], [[0]], Answer.SHAPE_MISMATCH),
        ("argmin", [(int64, 2), (int32, 2, 0)], [[1]], Answer.SHAPE_MISMATCH),
        ("max", [(int32, 0), (int32, 0, 0)], [[1]], Answer.DONE),
        ("cumsum", [(int32, 2), (int32, 2)], [1], Answer.SHAPE_MISMATCH),
        ("softmax", [(int32, 2), (int32, 2)], [0], Answer.WRONG_DTYPE),
        ("matmul", [(int32, 2), (int32, 2, 2), (int32, 2)], [], Answer.SHAPE_MISMATCH),
        ("matmul", [(int32, 2, 2), (int32, 2, 3), (int32, 2, 2)], [], Answer.SHAPE_MISMATCH),
        ("matmul", [(int32, 1, 2, 2), (int32, 2, 2), (int32, 2, 2)], [], Answer.SHAPE_MISMATCH),
        ("matmul", [(int32, 6, 2, 2), (int32, 2, 2, 2), (int32, 3, 2, 2)], [], Answer.SHAPE_MISMATCH),
    ],
)  # fmt: skip
def test_answers(name: str, operands: list[tuple[Any, ...]], parameters: list[Any], answer: Answer) -> None:
    """Dtypes outside the row before shapes and axes that do not fit."""
    arrays = [zeros(dtype, *shape) for dtype, *shape in operands]
    assert getattr(cf.kernels, name)(*arrays, *parameters) is answer


@pytest.mark.parametrize(
    ("name", "parameters", "rule", "argument"),
    [
        ("add", [None, None], "arguments/wrong-type", "x"), ("fma", [0, 0, 0], "arguments/wrong-type", "x"),
        ("where", [1, 2, 3], "arguments/wrong-type", "c"), ("iota", [True], "arguments/not-integer", "axis"),
        ("iota", [0.0], "arguments/not-integer", "axis"), ("matmul", [0, 0], "arguments/wrong-type", "x"),
        ("map", [Input(0), 5], "arguments/wrong-type", "inputs"),
        ("map", [Input(0), [5]], "arguments/wrong-type", "inputs"),
    ],
)  # fmt: skip
def test_foreign_arguments_are_refused_by_name(name: str, parameters: list[Any], rule: str, argument: str) -> None:
    """Argument facts come before the door and name the argument of the call form."""
    with pytest.raises(Refusal) as refused:
        getattr(cf.kernels, name)(zeros(int32, 2), *parameters)
    assert (refused.value.rule, refused.value.subjects["argument"]) == (rule, argument)


def test_axes_are_integers_and_destinations_arrays() -> None:
    """A reduction's axes are a sequence of integers; a destination that is no array is named dst."""
    for axes, rule in ((0, "arguments/wrong-type"), ([0.5], "arguments/not-integer")):
        with pytest.raises(Refusal) as refused:
            cf.kernels.sum(zeros(int32), zeros(int32, 2), axes)
        assert (refused.value.rule, refused.value.subjects["argument"]) == (rule, "axes")
    with pytest.raises(Refusal) as refused:
        cf.kernels.neg(3, zeros(int32, 2))
    assert refused.value.subjects["argument"] == "dst"


def test_there_is_a_kernel_for_each_row_and_no_other() -> None:
    """Each name of the table is an attribute."""
    assert all(callable(getattr(cf.kernels, name)) for name in KERNELS)
    with pytest.raises(AttributeError):
        cf.kernels.threefry  # noqa: B018


def test_identical_destinations_are_computed_or_declined() -> None:
    """Pointwise kernels, cumsum and softmax compute in place; reductions and matmul decline and write nothing."""
    x = cf.from_values(int32, [2, 2], [1, 2, 3, 4])
    assert cf.kernels.matmul(x, x, zeros(int32, 2, 2)) is Answer.DECLINED
    assert cf.kernels.matmul(x, zeros(int32, 2, 2), x) is Answer.DECLINED
    assert cf.kernels.sum(x, x, []) is Answer.DECLINED and cf.kernels.max(x, x, []) is Answer.DECLINED
    assert x.to_values() == [1, 2, 3, 4]
    assert cf.kernels.add(x, x, x) is Answer.DONE and x.to_values() == [2, 4, 6, 8]
    assert cf.kernels.cumsum(x, x, 1) is Answer.DONE and x.to_values() == [2, 6, 6, 14]
    empty = zeros(int32, 0)
    assert cf.kernels.sum(empty, empty, []) is Answer.DONE
