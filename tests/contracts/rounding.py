"""Contracts of the reference's numbers: rounding to a format, saturation, and the codes of integers."""

from __future__ import annotations

from counterfoil_reference.numbers import (
    FORMATS,
    decode,
    fraction,
    integer_of_code,
    ordered,
    rounded_code,
    saturated_code,
)
from counterfoil_reference.numbers import int_range as integer_range
from counterfoil_spec.dtypes import float4_e2m1fn, float8_e4m3fn, int4, int8, uint4, uint8

INTEGERS = (int4, uint4, int8, uint8)

# The reference remembers what it decoded: known beforehand, no path of a search leaves its symbols to another.
for _dtype in (float4_e2m1fn, float8_e4m3fn):
    for _code in range(1 << _dtype.bits):
        decode(FORMATS[_dtype], _code)


VALUES = [int(2 * fraction(decode(FORMATS[float4_e2m1fn], code))) for code in range(16)]
"""The values of float4's codes, in halves."""


def rounding_goes_to_the_nearest(eighths: int) -> None:
    """No code of float4 lies nearer to a number than the one it is rounded to; of two as near, it is the even one."""
    assert 0 <= eighths <= 48
    code = rounded_code(FORMATS[float4_e2m1fn], eighths, -3)
    assert 0 <= code <= 7
    off = abs(4 * VALUES[code] - eighths)
    for other in (code - 1, code + 1):
        if 0 <= other <= 7:
            away = abs(4 * VALUES[other] - eighths)
            assert off < away or (off == away and code % 2 == 0)


def rounding_is_monotone(mantissa: int, more: int) -> None:
    """A greater number is never rounded to a smaller code."""
    assert 0 <= mantissa <= 500 and 0 <= more <= 50
    form = FORMATS[float8_e4m3fn]
    assert rounded_code(form, mantissa, -6) <= rounded_code(form, mantissa + more, -6)


def codes_round_to_themselves(code: int) -> None:
    """A finite value of float8_e4m3fn is its own rounding."""
    assert 0 <= code <= 0x7E
    form = FORMATS[float8_e4m3fn]
    number = decode(form, code)
    assert rounded_code(form, number.mantissa, number.exponent) == code


def codes_are_ordered_as_their_values(one: int, more: int) -> None:
    """Of two codes of float4 of one sign, the one further from zero has the greater magnitude; signs mirror."""
    assert 0 <= one <= 6 and 1 <= more <= 7 - one
    form, two = FORMATS[float4_e2m1fn], one + more
    assert (ordered(form, one) < ordered(form, two)) == (VALUES[one] < VALUES[two])
    assert (ordered(form, 8 + one) > ordered(form, 8 + two)) == (VALUES[8 + one] > VALUES[8 + two])
    assert (ordered(form, 8 + two) < ordered(form, one)) == (VALUES[8 + two] < VALUES[one])


def integers_saturate(which: int, number: int) -> None:
    """An integer outside the range is stored as the nearer end, any other as itself."""
    assert 0 <= which <= 3
    dtype = INTEGERS[which]
    low, high = integer_range(dtype)
    stored = integer_of_code(dtype, saturated_code(dtype, number))
    assert stored == max(low, min(number, high))


def not_a_number_is_stored_as_zero(which: int) -> None:
    """NaN has no integer: it is stored as 0."""
    assert 0 <= which <= 3
    assert saturated_code(INTEGERS[which], None) == 0
