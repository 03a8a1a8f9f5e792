"""The bound of N2 in exact rationals: which codes a function's result may have, given its value to a known error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from counterfoil_spec.dtypes import Dtype, FloatFormat, float32, float64

Real = Fraction | str
"""A rational, or ``"inf"``, ``"-inf"``, ``"nan"``."""


def value_of(form: FloatFormat, code: int) -> Real:
    """The value of a code."""
    sign = -1 if code >> form.bits - 1 else 1
    magnitude = code & (1 << form.bits - 1) - 1
    if magnitude > form.last_finite_code:
        infinite = form.has_infinity and magnitude == form.last_finite_code + 1
        return ("inf" if sign > 0 else "-inf") if infinite else "nan"
    exponent, fraction = magnitude >> form.fraction_bits, magnitude & (1 << form.fraction_bits) - 1
    if exponent:
        fraction += 1 << form.fraction_bits
    return sign * fraction * _power(max(exponent, 1) - form.bias - form.fraction_bits)


def last_place(form: FloatFormat, value: Fraction) -> Fraction:
    """The distance between neighbours of the format at a value, its exponent unbounded above."""
    return _power(max(_floor_log2(value), 1 - form.bias) - form.fraction_bits)


def rounded(form: FloatFormat, value: Fraction) -> Real:
    """The value stored (dtypes/store-rule): rounded once, to nearest with ties to even, then infinite or saturated."""
    unit = last_place(form, value)
    result = round(value / unit) * unit
    greatest = value_of(form, form.last_finite_code)
    assert isinstance(greatest, Fraction)
    if abs(result) <= greatest:
        return result
    if form.saturates:
        return greatest if result > 0 else -greatest
    return "inf" if result > 0 else "-inf"


@dataclass(frozen=True)
class Bound:
    """The results right for a function's value: ``ulps`` in the computing format around it, then one rounding."""

    dtype: Dtype
    low: Real
    high: Real

    def holds(self, code: int) -> bool:
        """Whether a code of the dtype lies in the bound; zeros of either sign are one value."""
        assert self.dtype.float_format is not None
        value = value_of(self.dtype.float_format, code)
        if "nan" in (value, self.low):
            return value == self.low
        return _key(self.low) <= _key(value) <= _key(self.high)

    def __str__(self) -> str:
        low, high = (end if isinstance(end, str) else _decimal(end) for end in (self.low, self.high))
        return f"{self.dtype} in [{low}, {high}]"


def bound(dtype: Dtype, value: Fraction, ulps: tuple[int, int]) -> Bound:
    """The bound around an exact value; ``ulps`` as the kernel table gives them.

    In the computing format itself nothing is rounded after the bound: its ends move inward to values of the format.
    """
    computing = float64 if dtype is float64 else float32
    form, result = computing.float_format, dtype.float_format
    assert form is not None and result is not None
    reach = ulps[computing is float64] * last_place(form, value)
    low, high = value - reach, value + reach
    if dtype is computing:
        return Bound(dtype, _inward(form, low, math.ceil), _inward(form, high, math.floor))
    return Bound(dtype, rounded(result, low), rounded(result, high))


def _inward(form: FloatFormat, end: Fraction, whole: Callable[[Fraction], int]) -> Real:
    """The first value of the format from an end inward; the infinity where that is what the end rounds to."""
    if rounded(form, end) == ("-inf" if whole is math.ceil else "inf"):
        return "-inf" if whole is math.ceil else "inf"
    unit = last_place(form, end)
    return whole(end / unit) * unit


def undefined(dtype: Dtype) -> Bound:
    """NaN, stored: any NaN, or +0 in a format that has none."""
    assert dtype.float_format is not None
    return Bound(dtype, "nan", "nan") if dtype.float_format.has_nan else Bound(dtype, Fraction(0), Fraction(0))


def _decimal(value: Fraction) -> str:
    """About the value; the exponent alone past what a float holds."""
    exponent = _floor_log2(value)
    return repr(float(value)) if abs(exponent) < 1000 else f"{'-' if value < 0 else ''}2^{exponent}"


def _key(value: Real) -> tuple[int, Fraction]:
    if isinstance(value, str):
        return (1 if value == "inf" else -1, Fraction(0))
    return 0, value


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _floor_log2(value: Fraction) -> int:
    """The exponent of a value: ``2^e <= |value| < 2^(e + 1)``; very low for 0."""
    if value == 0:
        return -(1 << 30)
    numerator, denominator = abs(value.numerator), value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    return exponent if numerator >= _power(exponent) * denominator else exponent - 1
