"""Exact numbers and the store rule, against the formats' definition, exact breakpoints and numpy."""

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.raw import ALL_INTEGERS, NARROW_FLOATS, array, code, exact, nearest_code, result

from counterfoil_reference.numbers import (
    FORMATS,
    code_of_value,
    decode,
    encode_exact,
    encode_ratio,
    is_nan_code,
    of_float,
    value_of_code,
)
from counterfoil_spec import dtypes
from counterfoil_spec.dtypes import Dtype, Kind, bit, bool_, complex64, float32, float64
from counterfoil_spec.refusals import Refusal


def floating(bits: int) -> float:
    """The Python float of binary64 bits."""
    found: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return found


def bits_of(value: float) -> int:
    """The binary64 bits of a Python float."""
    return int.from_bytes(struct.pack("<d", value), "little")


def named(name: str) -> Dtype:
    """The dtype of a name, bool included."""
    return Dtype.of_name(name)


# --- decoding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NARROW_FLOATS, ids=str)
def test_every_finite_code_has_the_value_of_its_definition(dtype: Dtype) -> None:
    """Sign, exponent and fraction bits stand for the value that the format's table defines."""
    layout = dtype.float_format
    assert layout is not None
    fraction_bits, bias = layout.fraction_bits, layout.bias
    for bits in range(layout.last_finite_code + 1):
        scale, tail = bits >> fraction_bits, bits & ((1 << fraction_bits) - 1)
        if scale == 0:
            value = tail * Fraction(2) ** (1 - bias - fraction_bits)
        else:
            value = (2**fraction_bits + tail) * Fraction(2) ** (scale - bias - fraction_bits)
        assert value_of_code(dtype, bits) == value
        assert value_of_code(dtype, bits | 1 << (dtype.bits - 1)) == -value


@pytest.mark.parametrize("dtype", [*NARROW_FLOATS, *(d for d in ALL_INTEGERS if d.bits <= 16), bit], ids=str)
def test_every_narrow_code_reads_and_stores_back(dtype: Dtype) -> None:
    """Storing what a code reads as gives the code again; NaN comes back quiet, float8_e5m2's infinities saturate."""
    for bits in range(1 << dtype.bits):
        back = code_of_value(dtype, value_of_code(dtype, bits))
        form = FORMATS.get(dtype)
        if form is not None and is_nan_code(form, bits):
            assert is_nan_code(form, back) and back & form.sign_bit == bits & form.sign_bit
        elif dtype is dtypes.float8_e5m2 and bits & 0x7F == 0x7C:
            assert back == bits - 1
        else:
            assert back == bits


def test_float4_has_eight_magnitudes() -> None:
    """The positive float4 codes read 0, 0.5, 1, 1.5, 2, 3, 4, 6, and code 8 is -0."""
    assert [value_of_code(dtypes.float4_e2m1fn, bits) for bits in range(8)] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert math.copysign(1, float(value_of_code(dtypes.float4_e2m1fn, 8).real)) == -1


def test_any_non_zero_bool_byte_is_true() -> None:
    """A bool reads true iff its byte is not zero."""
    assert [value_of_code(bool_, byte) for byte in (0, 1, 2, 255)] == [False, True, True, True]


@given(st.integers(0, 2**32 - 1))
def test_float32_reads_as_the_machine_widens_it(bits: int) -> None:
    """A float32's value, NaN payload included, is what conversion to binary64 gives."""
    with np.errstate(invalid="ignore"):
        widened = np.array([bits], np.uint32).view(np.float32).astype(np.float64).view(np.uint64)[0]
    assert bits_of(float(value_of_code(float32, bits).real)) == int(widened)


@given(st.integers(0, 2**64 - 1))
def test_binary64_keeps_its_very_bits(bits: int) -> None:
    """Reading a float64 and storing it back changes no bit, signalling NaN included."""
    assert code_of_value(float64, value_of_code(float64, bits)) == bits


# --- storing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NARROW_FLOATS, ids=str)
def test_a_store_turns_exactly_at_the_midpoints(dtype: Dtype) -> None:
    """Between two neighbours, up to the midpoint the lower is stored, past it the upper, at it the even one."""
    form = FORMATS[dtype]
    for bits in range(form.last_finite):
        low, high = float(exact(dtype, bits)), float(exact(dtype, bits + 1))
        middle = (low + high) / 2
        assert code_of_value(dtype, middle) == bits + (bits & 1)
        assert code_of_value(dtype, math.nextafter(middle, 0)) == bits
        assert code_of_value(dtype, math.nextafter(middle, math.inf)) == bits + 1
        assert code_of_value(dtype, -middle) == (bits + (bits & 1)) | form.sign_bit


@given(st.floats())
def test_float32_stores_as_the_machine_narrows(x: float) -> None:
    """A float32 store of any binary64, NaN included, is the machine's conversion."""
    with np.errstate(over="ignore", invalid="ignore"):
        assert code_of_value(float32, x) == int(np.array([x]).astype(np.float32).view(np.uint32)[0])


@given(st.sampled_from(NARROW_FLOATS[2:]), st.fractions(-500, 500))
def test_a_fraction_is_stored_as_the_nearest_code(dtype: Dtype, value: Fraction) -> None:
    """An exact rational, tie or not, is stored as the nearest of all codes, even at a tie."""
    assert encode_ratio(FORMATS[dtype], value.numerator, value.denominator) == nearest_code(dtype, value)
    assert encode_exact(dtype, value) == nearest_code(dtype, value)


@pytest.mark.parametrize(
    ("name", "x", "stored"),
    [
        ("float16", 65519.0, 65504.0), ("float16", 65520.0, math.inf), ("float16", -65520.0, -math.inf),
        ("float16", 0.1, float.fromhex("0x1.998p-4")), ("float16", 1 + 2**-11, 1.0),
        ("float16", 1 + 2**-11 + 2**-40, 1 + 2**-10), ("float16", 2**-25, 0.0), ("float16", 1.0001 * 2**-25, 2**-24),
        ("bfloat16", 1 + 2**-8, 1.0), ("bfloat16", 1 + 3 * 2**-8, 1.015625),
        ("float8_e5m2", math.inf, 57344.0), ("float8_e5m2", 61440.0, 57344.0), ("float8_e5m2", 2**-17, 0.0),
        ("float8_e5m2", 3 * 2**-17, 2**-15), ("float8_e5m2", -1e300, -57344.0),
        ("float8_e4m3fn", 464.0, 448.0), ("float8_e4m3fn", 1e300, 448.0), ("float8_e4m3fn", math.inf, 448.0),
        ("float8_e4m3fn", 2**-10, 0.0), ("float8_e4m3fn", math.nextafter(2**-10, 1), 2**-9),
        ("float8_e4m3fn", 3 * 2**-10, 2**-8),
        ("float4_e2m1fn", 7.0, 6.0), ("float4_e2m1fn", math.inf, 6.0), ("float4_e2m1fn", math.nan, 0.0),
        ("float4_e2m1fn", 0.25, 0.0), ("float4_e2m1fn", 0.2500001, 0.5), ("float4_e2m1fn", 0.75, 1.0),
        ("float4_e2m1fn", 2.5, 2.0), ("float4_e2m1fn", 3.5, 4.0), ("float4_e2m1fn", 5.0, 4.0),
        ("float32", float.fromhex("0x1.ffffffp127"), math.inf), ("float32", 0.1, float.fromhex("0x1.99999ap-4")),
        ("int8", 300.0, 127), ("int8", -300.0, -128), ("int8", -2.7, -2), ("int32", 3e9, 2**31 - 1),
        ("int64", 1e19, 2**63 - 1), ("int64", 2.0**63, 2**63 - 1), ("int64", -1e19, -(2**63)), ("uint8", math.nan, 0),
        ("uint8", -1.0, 0), ("uint32", 4294967295.0, 2**32 - 1), ("uint64", 1e20, 2**64 - 1),
        ("uint64", 2.0**63, 2**63), ("int4", 8.0, 7), ("uint4", 16.0, 15), ("int32", -math.inf, -(2**31)),
        ("complex64", 0.1, complex(float.fromhex("0x1.99999ap-4"), 0)),
        ("bool", -0.0, False), ("bool", math.nan, True), ("bit", -2.0, True),
    ],
)  # fmt: skip
def test_store_vectors(name: str, x: float, stored: complex) -> None:
    """The vectors of the store rule: of_float gives exactly the stored value, of the value's own class."""
    found = of_float(named(name), x)
    assert found == stored and type(found) is type(stored)


@pytest.mark.parametrize(
    ("name", "bits", "stored"),
    [
        ("float16", 0x7FF0040000000000, 0x7E01), ("float16", 0xFFF0040000000000, 0xFE01),
        ("float16", 0x7FF8080000000000, 0x7E02), ("float16", 0x7FF3FF0000000000, 0x7EFF),
        ("float16", 0x7FF0000000000001, 0x7E00), ("float8_e4m3fn", 0xFFF0000000000001, 0xFF),
        ("float8_e5m2", 0x7FF8000000000000, 0x7F), ("float8_e5m2", 0xFFF8000000000000, 0xFF),
        ("float4_e2m1fn", 0xFFF0000000000001, 0), ("bfloat16", 0x7FF0000020000000, 0x7FC0),
        ("float32", 0xFFF0000000000001, 0xFFC00000), ("float64", 0xFFF0000000000001, 0xFFF0000000000001),
    ],
)  # fmt: skip
def test_nan_keeps_its_sign_and_top_payload(name: str, bits: int, stored: int) -> None:
    """A NaN is stored with its sign and the top bits of its payload, quieted; all ones in 8 bits; +0 in float4."""
    assert code_of_value(named(name), floating(bits)) == stored


@pytest.mark.parametrize("dtype", NARROW_FLOATS, ids=str)
@given(value=st.integers(-(2**70), 2**70))
def test_an_int_rounds_once_into_a_float(dtype: Dtype, value: int) -> None:
    """An int of any size is stored as its exact value is, never through binary64."""
    assert code_of_value(dtype, value) == encode_exact(dtype, Fraction(value))


@pytest.mark.parametrize("value", [33947647, 2**62 + 2**38 + 1])
def test_an_int_past_binary64_is_not_rounded_twice(value: int) -> None:
    """The ties that a detour through binary64 or binary32 would land on."""
    assert value_of_code(dtypes.bfloat16, code_of_value(dtypes.bfloat16, 33947647)) == 33816576
    assert value_of_code(float32, code_of_value(float32, 2**62 + 2**38 + 1)) == 2.0**62 + 2.0**39
    assert code_of_value(float32, -value) == code_of_value(float32, value) | 1 << 31


# --- which values are taken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("int8", 1.0, "value-type"), ("int8", True, "value-type"), ("uint64", None, "value-type"),
        ("float32", True, "value-type"), ("float32", 1j, "value-type"), ("float32", "1", "value-type"),
        ("complex64", False, "value-type"), ("complex64", "1", "value-type"), ("bool", 1, "value-type"),
        ("bit", 0.0, "value-type"), ("int8", 128, "value-range"), ("int8", -129, "value-range"),
        ("uint4", 16, "value-range"), ("uint4", -1, "value-range"), ("int64", 2**63, "value-range"),
        ("uint64", 2**64, "value-range"),
    ],
)  # fmt: skip
def test_values_of_another_kind_or_range_are_refused(name: str, value: object, rule: str) -> None:
    """A12: no bool for a number, no float for an integer, no int for a boolean, and ints only in range."""
    with pytest.raises(Refusal) as refused:
        code_of_value(named(name), value)
    assert refused.value.rule == f"dtypes/{rule}" and refused.value.subjects["dtype"] == name


@pytest.mark.parametrize("x", [True, None, "1", 1j, b"1"])
def test_of_float_takes_real_numbers_only(x: object) -> None:
    """of_float refuses what is no float and no int, a bool included."""
    with pytest.raises(Refusal) as refused:
        of_float(float32, x)  # type: ignore[arg-type]
    assert refused.value.rule == "arguments/wrong-type"


@given(st.complex_numbers(allow_nan=False))
def test_complex_parts_are_stored_each_by_itself(value: complex) -> None:
    """A complex store rounds the real and the imaginary part as the component format does."""
    parts = (code_of_value(float32, value.real), code_of_value(float32, value.imag))
    assert code_of_value(complex64, value) == parts[0] | parts[1] << 32


# --- reported conversions --------------------------------------------------------------------------------------------


def cast(source: Dtype, target: Dtype, *codes: int) -> list[int]:
    """Codes converted by the cast kernel."""
    return result("cast", target, array(source, codes))


@pytest.mark.parametrize(
    ("target", "values", "stored"),
    [
        ("float8_e4m3fn", [448, 464, 465, 500, -500, math.nan, -0.0, math.inf],
         [0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x7F, 0x80, 0x7E]),
        ("float8_e5m2", [57344, 61440, 1e9, -math.inf], [0x7B, 0x7B, 0x7B, 0xFB]),
        ("float4_e2m1fn", [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.0001, 9, -2.5, -0.25, math.nan],
         [0, 2, 2, 4, 4, 6, 6, 7, 7, 12, 8, 0]),
        ("float8_e4m3fn", [1.0625, 1.0625001, 2**-10, 2**-10 * (1 + 2**-12), 3 * 2**-10], [0x38, 0x39, 0, 1, 2]),
        ("float8_e5m2", [1.125, 1.375], [0x3C, 0x3E]),
    ],
)  # fmt: skip
def test_float32_narrows_as_reported(target: str, values: list[float], stored: list[int]) -> None:
    """Overflow saturates, ties go to even, subnormals keep their sticky bits, float4 has no NaN (B27, B31, B32)."""
    assert cast(float32, named(target), *(code(float32, value) for value in values)) == stored


def test_bfloat16_of_nans_and_ties() -> None:
    """A NaN with a small payload stays NaN, all ones does not wrap, and ties go to even (B28, B29)."""
    sources = [0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7F800000, 0x3F80C000, 0x3F808000, 0x3F818000]
    assert cast(float32, dtypes.bfloat16, *sources) == [0x7FC0, 0xFFC0, 0x7FFF, 0x7F80, 0x3F81, 0x3F80, 0x3F82]


@pytest.mark.parametrize(
    ("target", "x", "stored"),
    [
        ("float16", 1 + 2**-11 + 2**-40, 0x3C01), ("bfloat16", 1 + 2**-8 + 2**-40, 0x3F81),
        ("float8_e4m3fn", 1 + 2**-4 + 2**-40, 0x39), ("float4_e2m1fn", 1.25 + 2**-40, 3),
        ("float16", 2**-25 * (1 + 2**-52), 1),
    ],
)  # fmt: skip
def test_binary64_narrows_in_one_step(target: str, x: float, stored: int) -> None:
    """A detour through float32 would land on a tie the value is not on (B30), for either sign."""
    dtype = named(target)
    assert cast(float64, dtype, code(float64, x), code(float64, -x)) == [stored, stored | 1 << (dtype.bits - 1)]


@pytest.mark.parametrize("length", [1, 7, 64, 65])
@pytest.mark.parametrize(
    ("target", "x", "stored"),
    [
        ("uint8", -2.0, 0), ("uint8", 300.0, 255), ("uint16", 70000.0, 65535), ("int32", math.inf, 2**31 - 1),
        ("int32", -math.inf, -(2**31)), ("int32", 2147483600.0, 2147483647), ("int32", math.nan, 0), ("int8", 2.9, 2),
        ("uint8", -0.9, 0),
    ],
)  # fmt: skip
def test_floats_saturate_into_integers_at_every_length(target: str, x: float, stored: int, length: int) -> None:
    """Out of range saturates and NaN is 0, whatever the array's length (B33)."""
    dtype = named(target)
    found = cast(float32, dtype, *[code(float32, x)] * length)
    assert [value_of_code(dtype, bits) for bits in found] == [stored] * length


def test_wide_integers_round_once_into_float32() -> None:
    """33554433, 33554434 (tie), 33554435, 33554438 (tie) and 2^62 + 2^38 + 1 (B34)."""
    values = [33554433, 33554434, 33554435, 33554438, 2**62 + 2**38 + 1]
    found = cast(dtypes.int64, float32, *values)
    expected = [33554432, 33554432, 33554436, 33554440, 2**62 + 2**39]
    assert [value_of_code(float32, bits) for bits in found] == expected


def test_int4_extends_its_sign_and_wraps() -> None:
    """int4 reads -8, -1, 0, 7; uint4 extends with zeros; 9 and -9 wrap to -7 and 7 (B35)."""
    read = cast(dtypes.int4, dtypes.int8, 8, 15, 0, 7)
    assert [value_of_code(dtypes.int8, bits) for bits in read] == [-8, -1, 0, 7]
    assert cast(dtypes.uint4, dtypes.int8, 8, 15) == [8, 15]
    wrapped = cast(dtypes.int8, dtypes.int4, 9, -9 & 0xFF)
    assert [value_of_code(dtypes.int4, bits) for bits in wrapped] == [-7, 7]


def test_sub_byte_elements_fill_a_byte_from_its_low_bits() -> None:
    """int4 [1, 2, 3] is the bytes 21 03, bit [1, 0, 0, 0, 0] the byte 01 (B36)."""
    assert bytes(array(dtypes.int4, [1, 2, 3]).buffer.export()) == b"\x21\x03"
    assert bytes(array(bit, [1, 0, 0, 0, 0]).buffer.export()) == b"\x01"


def test_kinds_are_covered() -> None:
    """decode refuses nothing and every kind of dtype has a value for code 0 that is its zero."""
    zeros = {dtype.kind: value_of_code(dtype, 0) for dtype in Dtype.all}
    assert zeros == {Kind.FLOAT: 0.0, Kind.COMPLEX: 0j, Kind.SIGNED: 0, Kind.UNSIGNED: 0, Kind.BOOLEAN: False}
    assert decode(FORMATS[float64], 1 << 63).sign == 1
