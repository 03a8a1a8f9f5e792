"""The shortest decimal that reads back as a value in its dtype (dtypes/shortest-text)."""

from __future__ import annotations

import math

from counterfoil.numbers import Value, from_bits, value_bits
from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype, FloatFormat, Kind

_MOST_DIGITS = 17


def format_value(dtype: Dtype, value: Value) -> str:
    """The value, stored at the dtype, as text.

    Floats print the shortest decimal that rounds back to them with the exponent unbounded above, among those the
    nearest; positional from 1e-4 up to 1e16. Refuses arguments/wrong-type, dtypes/value-type and dtypes/value-range.
    """
    instance("dtype", dtype, Dtype)
    return text_of(dtype, from_bits(dtype, value_bits(dtype, value)))


def text_of(dtype: Dtype, value: Value) -> str:
    """The text of a value read from an element of the dtype."""
    if dtype.kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if dtype.float_format is None:
        return str(value)
    if isinstance(value, complex):
        real, imaginary = (_float_text(dtype.float_format, part) for part in (value.real, value.imag))
        return f"{real}{imaginary}i" if imaginary.startswith("-") else f"{real}+{imaginary}i"
    return _float_text(dtype.float_format, value)


def _float_text(form: FloatFormat, x: float) -> str:
    if math.isnan(x):
        return "nan"
    sign = "-" if math.copysign(1.0, x) < 0 else ""
    if math.isinf(x):
        return sign + "inf"
    if x == 0:
        return sign + "0"
    return sign + _layout(*_shortest(form, abs(x)))


def _shortest(form: FloatFormat, x: float) -> tuple[int, int]:
    """The fewest decimal digits D and their exponent E with D * 10^E in the rounding interval of x, nearest to x.

    Everything is a multiple of a quarter of the spacing below x: x is ``middle`` of them, its interval reaches from
    ``low`` to ``high``, ends included where the fraction is even.
    """
    mantissa, exponent = _decompose(form, x)
    closer_below = mantissa == 1 << form.fraction_bits and exponent > 1 - form.bias - form.fraction_bits
    middle, low, high = 4 * mantissa, 4 * mantissa - (1 if closer_below else 2), 4 * mantissa + 2
    power = exponent - 2
    scale, unit = (1 << power, 1) if power >= 0 else (1, 1 << -power)
    middle, low, high = middle * scale, low * scale, high * scale
    even = mantissa % 2 == 0
    leading = _decimal_exponent(middle, unit)
    for digits in range(1, _MOST_DIGITS + 1):
        step = leading - digits + 1
        up, down = (10**step * unit, 1) if step >= 0 else (unit, 10**-step)
        for candidate in _candidates(middle * down, up):
            place = candidate * up
            inside = low * down <= place <= high * down if even else low * down < place < high * down
            if inside:
                return candidate, step
    raise AssertionError("17 digits tell every float64 apart")


def _decompose(form: FloatFormat, x: float) -> tuple[int, int]:
    """``(m, e)`` with x = m * 2^e and e the exponent of x's spacing in the format."""
    fraction, power = math.frexp(x)
    spacing = max(power - 1, 1 - form.bias) - form.fraction_bits
    return int(math.ldexp(fraction, power - max(spacing, -1000)) * (2.0 ** max(0, -1000 - spacing))), spacing


def _decimal_exponent(numerator: int, denominator: int) -> int:
    """The exponent of the leading decimal digit of a positive ratio."""
    guess = math.floor((numerator.bit_length() - denominator.bit_length()) * math.log10(2))
    while 10 ** max(guess, 0) * denominator > numerator * 10 ** max(-guess, 0):
        guess -= 1
    while 10 ** max(guess + 1, 0) * denominator <= numerator * 10 ** max(-guess - 1, 0):
        guess += 1
    return guess


def _candidates(value: int, step: int) -> tuple[int, int, int]:
    """The multiple of ``step`` nearest to ``value`` (of two alike the even one), then one more and one less."""
    nearest, rest = divmod(value, step)
    nearest += 2 * rest > step or (2 * rest == step and nearest % 2)
    return nearest, nearest + 1, nearest - 1


def _layout(digits: int, exponent: int) -> str:
    """The decimal ``digits * 10^exponent``: positional from 1e-4 up to 1e16, else scientific."""
    text = str(digits)
    stripped = text.rstrip("0")
    exponent += len(text) - len(stripped)
    leading = exponent + len(stripped) - 1
    if not -4 <= leading < 16:
        point = f".{stripped[1:]}" if len(stripped) > 1 else ""
        return f"{stripped[0]}{point}e{'-' if leading < 0 else '+'}{abs(leading):02d}"
    if exponent >= 0:
        return stripped + "0" * exponent
    if leading >= 0:
        return f"{stripped[: leading + 1]}.{stripped[leading + 1 :]}"
    return "0." + "0" * (-leading - 1) + stripped
