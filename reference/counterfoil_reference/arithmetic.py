"""IEEE arithmetic on exact Numbers: no result is rounded here, or, where it must be cut off, it says how it rounds.

NaN in, NaN out; infinities and the signs of zeros follow IEEE 754 in round-to-nearest.
"""

from __future__ import annotations

from math import isqrt

from counterfoil_reference.numbers import (
    BINARY64,
    INFINITE,
    NAN,
    NOT_A_NUMBER,
    Format,
    Number,
    decode,
    encode,
    ratio_number,
)


def negative(x: Number) -> Number:
    """``-x``; of NaN, its sign flipped too."""
    return Number(1 - x.sign, x.mantissa, x.exponent)


def add(x: Number, y: Number) -> Number:
    """``x + y`` exactly; an exact zero is +0 unless both are -0."""
    if x.mantissa < 0 or y.mantissa < 0:
        return _add_special(x, y)
    exponent = min(x.exponent, y.exponent)
    left, right = x.mantissa << x.exponent - exponent, y.mantissa << y.exponent - exponent
    total = (-left if x.sign else left) + (-right if y.sign else right)
    if total == 0:
        return Number(x.sign & y.sign, 0, exponent)
    return Number(int(total < 0), abs(total), exponent)


def _add_special(x: Number, y: Number) -> Number:
    if NOT_A_NUMBER in (x.mantissa, y.mantissa):
        return NAN
    if x.mantissa == y.mantissa == INFINITE and x.sign != y.sign:
        return NAN
    return x if x.mantissa == INFINITE else y


def subtract(x: Number, y: Number) -> Number:
    """``x - y`` exactly."""
    return add(x, negative(y))


def multiply(x: Number, y: Number) -> Number:
    """``x * y`` exactly."""
    sign = x.sign ^ y.sign
    if x.mantissa < 0 or y.mantissa < 0:
        if NOT_A_NUMBER in (x.mantissa, y.mantissa) or 0 in (x.mantissa, y.mantissa):
            return NAN
        return Number(sign, INFINITE, 0)
    return Number(sign, x.mantissa * y.mantissa, x.exponent + y.exponent)


def divide(form: Format, x: Number, y: Number) -> Number:
    """A Number that rounds in ``form`` as ``x / y`` does."""
    sign = x.sign ^ y.sign
    if NOT_A_NUMBER in (x.mantissa, y.mantissa) or x.mantissa == y.mantissa == INFINITE:
        return NAN
    if x.mantissa == y.mantissa == 0:
        return NAN
    if x.mantissa == INFINITE or y.mantissa == 0:
        return Number(sign, INFINITE, 0)
    if y.mantissa == INFINITE:
        return Number(sign, 0, 0)
    quotient = ratio_number(form, x.mantissa, y.mantissa, x.exponent - y.exponent)
    return Number(sign, quotient.mantissa, quotient.exponent)


def square_root(form: Format, x: Number) -> Number:
    """A Number that rounds in ``form`` as the root does; -0 stays, other negatives give NaN.

    The root has two bits more than the precision, and one that says whether anything was cut off.
    """
    if x.mantissa == NOT_A_NUMBER or (x.sign and x.mantissa != 0):
        return NAN
    if x.mantissa <= 0:
        return x
    shift = max(2 * form.precision + 4 - x.mantissa.bit_length(), 0)
    shift += (x.exponent - shift) & 1
    square = x.mantissa << shift
    root = isqrt(square)
    return Number(0, root << 1 | (root * root != square), (x.exponent - shift) // 2 - 1)


def remainder(x: Number, y: Number) -> Number:
    """C's ``fmod``: ``x`` minus the truncated quotient's multiple of ``y``, exactly, with the sign of ``x``."""
    if NOT_A_NUMBER in (x.mantissa, y.mantissa) or x.mantissa == INFINITE or y.mantissa == 0:
        return NAN
    if y.mantissa == INFINITE:
        return x
    exponent = min(x.exponent, y.exponent)
    rest = (x.mantissa << x.exponent - exponent) % (y.mantissa << y.exponent - exponent)
    return Number(x.sign, rest, exponent)


def integral(x: Number, mode: str) -> Number:
    """``x`` to an integer: ``floor``, ``ceil``, ``trunc``, or ``round`` (half away from zero); signs are kept."""
    if x.mantissa <= 0 or x.exponent >= 0:
        return NAN if x.mantissa == NOT_A_NUMBER else x
    below = -x.exponent
    whole, rest = x.mantissa >> below, x.mantissa & ((1 << below) - 1)
    if mode == "round":
        whole += rest >> (below - 1)
    elif rest and mode == ("floor" if x.sign else "ceil"):
        whole += 1
    return Number(x.sign, whole, 0)


def signum(x: Number) -> Number:
    """-1, 1, or a zero or NaN as it is."""
    if x.mantissa == NOT_A_NUMBER:
        return NAN
    return x if x.mantissa == 0 else Number(x.sign, 1, 0)


def complex_product(x: tuple[Number, Number], y: tuple[Number, Number]) -> tuple[Number, Number]:
    """Real and imaginary part of a product: exact where all four components are finite.

    Otherwise each part is what IEEE binary64 gives for ``a*c - b*d`` and ``a*d + b*c`` taken naively: the products
    rounded to binary64, then added.
    """
    (a, b), (c, d) = x, y
    products = [multiply(a, c), negative(multiply(b, d)), multiply(a, d), multiply(b, c)]
    if any(part.mantissa < 0 for part in (a, b, c, d)):
        products = [decode(BINARY64, encode(BINARY64, product)) for product in products]
    return add(products[0], products[1]), add(products[2], products[3])
