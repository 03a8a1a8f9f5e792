"""Values as text: the shortest decimal that reads back (``arrays.md`` 1.5)."""

from __future__ import annotations

from typing import Final

from counterfoil_reference.numbers import (
    FORMATS,
    INFINITE,
    NOT_A_NUMBER,
    Format,
    Number,
    code_of_value,
    decode,
    integer_of_code,
    ratio_number,
    rounded_code,
    split_complex,
)
from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype, Kind

_MAX_DIGITS: Final = 17  # enough for any binary64


def format_value(dtype: Dtype, value: object) -> str:
    """The text of ``value`` stored at ``dtype``.

    Finite floats print as the shortest decimal that rounds, in the dtype's precision with the exponent unbounded
    above, back to the value; among those the nearest to it (of two equally near the one with an even last digit).
    Positional where the decimal lies in [1e-4, 1e16), else ``d.ddde+XX``. NaN prints without a sign. Complex values
    print as ``re+imi``, booleans as true and false, unsigned integers unsigned. Refuses dtypes/value-type and
    dtypes/value-range as a store does.
    """
    instance("dtype", dtype, Dtype)
    code = code_of_value(dtype, value)
    match dtype.kind:
        case Kind.FLOAT:
            return _float_text(FORMATS[dtype], code)
        case Kind.COMPLEX:
            real, imaginary = (_float_text(FORMATS[dtype], part) for part in split_complex(dtype, code))
            return f"{real}{imaginary}i" if imaginary.startswith("-") else f"{real}+{imaginary}i"
        case Kind.BOOLEAN:
            return "true" if code else "false"
    return str(integer_of_code(dtype, code))


def _float_text(form: Format, code: int) -> str:
    number = decode(form, code)
    if number.mantissa == NOT_A_NUMBER:
        return "nan"
    sign = "-" if number.sign else ""
    if number.mantissa == INFINITE:
        return sign + "inf"
    if number.mantissa == 0:
        return sign + "0"
    digits, exponent = shortest(form, number)
    return sign + _laid_out(digits, exponent)


def shortest(form: Format, number: Number) -> tuple[str, int]:
    """Digits (no trailing zero) and the decimal exponent of the first, of a finite number other than zero."""
    numerator, denominator = number.mantissa << max(number.exponent, 0), 1 << max(-number.exponent, 0)
    code = rounded_code(form, number.mantissa, number.exponent)
    first = _decimal_exponent(numerator, denominator)
    for count in range(1, _MAX_DIGITS + 1):
        power = first - count + 1  # of the unit of the last digit
        nearest = _nearest_multiple(numerator, denominator, power)
        # At the bottom of a binade the rounding interval is narrower below, and can miss the nearest decimal.
        for decimal in (nearest, nearest + 1, nearest - 1):
            if decimal > 0 and _rounded_decimal(form, decimal, power) == code:
                text = str(decimal)
                return text.rstrip("0"), power + len(text) - 1
    raise AssertionError("17 digits tell any two binary64 numbers apart")


def _decimal_exponent(numerator: int, denominator: int) -> int:
    """The power of ten with ``10**p <= numerator / denominator < 10**(p + 1)``."""
    power = (numerator.bit_length() - denominator.bit_length()) * 30103 // 100000 - 1
    while _scaled(numerator, denominator, power + 1)[0] >= _scaled(numerator, denominator, power + 1)[1]:
        power += 1
    return power


def _scaled(numerator: int, denominator: int, power: int) -> tuple[int, int]:
    """``numerator / denominator / 10**power`` as a ratio."""
    return (numerator, denominator * 10**power) if power >= 0 else (numerator * 10**-power, denominator)


def _nearest_multiple(numerator: int, denominator: int, power: int) -> int:
    """The integer nearest to ``numerator / denominator / 10**power``, the even one of two."""
    numerator, denominator = _scaled(numerator, denominator, power)
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole & 1))


def _rounded_decimal(form: Format, decimal: int, power: int) -> int:
    """The code of ``decimal * 10**power``, the exponent unbounded above."""
    if power >= 0:
        return rounded_code(form, decimal * 10**power, 0)
    ratio = ratio_number(form, decimal, 10**-power)
    return rounded_code(form, ratio.mantissa, ratio.exponent)


def _laid_out(digits: str, exponent: int) -> str:
    if not -4 <= exponent < 16:
        tail = "." + digits[1:] if len(digits) > 1 else ""
        return f"{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole, tail = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{tail}" if tail else whole
