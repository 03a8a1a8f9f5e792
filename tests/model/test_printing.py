"""Values as text: the shortest decimal that reads back in the value's own format."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.raw import NARROW_FLOATS, exact

from counterfoil_reference.numbers import FORMATS, of_float, rounded_code, value_of_code
from counterfoil_reference.printing import format_value
from counterfoil_spec import dtypes
from counterfoil_spec.dtypes import Dtype, float16, float32, float64
from counterfoil_spec.refusals import Refusal


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("float32", 0.1, "0.1"), ("float16", float.fromhex("0x1.998p-4"), "0.1"), ("float16", 65504.0, "65500"),
        ("float8_e4m3fn", 448.0, "450"), ("float8_e4m3fn", -448.0, "-450"), ("float8_e5m2", 57344.0, "60000"),
        ("float16", 2**-6, "0.01563"), ("float8_e4m3fn", 0.125, "0.13"), ("float8_e4m3fn", 2**-9, "0.002"),
        ("float8_e5m2", 2**-16, "2e-05"), ("bfloat16", 2.0**97, "1.59e+29"),
        ("float64", 2.0**-1017, "7.120236347223045e-307"), ("float64", 1e15, "1000000000000000"),
        ("float64", 1e16, "1e+16"), ("float32", 1e-4, "0.0001"), ("float32", 1e-5, "1e-05"),
        ("complex64", 1 + 2j, "1+2i"), ("complex128", 1 - 2j, "1-2i"), ("complex128", 0.5 - 2j, "0.5-2i"),
        ("uint32", 2**32 - 1, "4294967295"), ("uint64", 2**64 - 1, "18446744073709551615"), ("int4", -8, "-8"),
        ("float64", -0.0, "-0"), ("float64", 0.0, "0"), ("float32", math.nan, "nan"), ("float32", -math.nan, "nan"),
        ("float64", math.inf, "inf"), ("float64", -math.inf, "-inf"), ("float8_e5m2", math.inf, "60000"),
        ("float4_e2m1fn", math.nan, "0"), ("complex128", complex(math.nan, -math.inf), "nan-infi"),
        ("complex64", complex(0.0, -0.0), "0-0i"), ("bool", True, "true"), ("bit", False, "false"),
        ("float64", 5e-324, "5e-324"), ("float64", 123456789012345680.0, "1.2345678901234568e+17"),
        ("float32", 7, "7"), ("float16", 2**70, "inf"),
    ],
)  # fmt: skip
def test_text_vectors(name: str, value: object, text: str) -> None:
    """The stored value's text, positional from 1e-4 up to 1e16 and scientific outside."""
    assert format_value(Dtype.of_name(name), value) == text


def test_float4_values_are_their_plain_decimals() -> None:
    """The eight magnitudes of float4 print 0 0.5 1 1.5 2 3 4 6."""
    texts = [format_value(dtypes.float4_e2m1fn, value_of_code(dtypes.float4_e2m1fn, bits)) for bits in range(8)]
    assert texts == ["0", "0.5", "1", "1.5", "2", "3", "4", "6"]


def digits_of(text: str) -> int:
    """How many significant digits a decimal text has, trailing zeros dropped."""
    return len(text.lstrip("-").split("e")[0].replace(".", "").strip("0"))


def reads_as(dtype: Dtype, decimal: Fraction) -> int:
    """The code a positive decimal rounds to with the exponent unbounded above, by trying neighbours exactly."""
    form = FORMATS[dtype]
    scaled = decimal / Fraction(2) ** form.least
    power = max(0, math.floor(scaled).bit_length() - form.precision)
    return rounded_code(form, round(scaled / 2**power), form.least + power)


@pytest.mark.parametrize("dtype", NARROW_FLOATS[2:], ids=str)
def test_every_small_text_is_the_shortest_and_nearest(dtype: Dtype) -> None:
    """Each 8-bit and 4-bit value's text reads back; no decimal of fewer digits does, nor a nearer one of as many."""
    for bits in range(1, FORMATS[dtype].last_finite + 1):
        value = exact(dtype, bits)
        text = format_value(dtype, float(value))
        printed = Fraction(text)
        assert reads_as(dtype, printed) == bits
        for count in range(1, digits_of(text) + 1):
            unit = Fraction(10) ** (math.floor(math.log10(value)) - count + 1)
            for multiple in range(math.floor(value / unit) - 1, math.floor(value / unit) + 3):
                other = multiple * unit
                if multiple > 0 and reads_as(dtype, other) == bits:
                    assert count == digits_of(text)
                    assert abs(other - value) >= abs(printed - value)


@given(st.floats(min_value=5e-324, allow_infinity=False))
def test_binary64_prints_as_short_as_python(x: float) -> None:
    """A float64's text reads back and has the digits of Python's shortest repr."""
    text = format_value(float64, x)
    assert float(text) == x
    assert digits_of(text) == digits_of(repr(x)) and abs(Fraction(text) - Fraction(x)) <= abs(
        Fraction(repr(x)) - Fraction(x)
    )


@given(st.sampled_from([float16, float32]), st.floats(min_value=1e-7, max_value=60000))
def test_narrower_floats_print_as_short_as_numpy(dtype: Dtype, x: float) -> None:
    """A float16's or float32's text has the digits of numpy's shortest unique text."""
    stored = of_float(dtype, x)
    if stored:
        own = np.dtype(dtype.name).type(stored)
        assert digits_of(format_value(dtype, x)) == digits_of(np.format_float_scientific(own, unique=True))


@pytest.mark.parametrize("value", ["1", None, True, 1j])
def test_a_text_is_given_only_for_a_value_of_the_dtype(value: object) -> None:
    """format_value checks its value as a store does."""
    with pytest.raises(Refusal) as refused:
        format_value(float32, value)
    assert refused.value.rule == "dtypes/value-type"
