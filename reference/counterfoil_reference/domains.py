"""Where an elementary function's result is exact by definition: zeros, infinities, NaN, and outside its domain.

The rules are those of C's ``math.h`` (Annex F). Results listed here are exact; everything else has an interval (N2),
also where the exact value happens to be representable (``log2(8)``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil_reference.numbers import (
    INFINITE,
    INFINITY,
    NAN,
    NEGATIVE_INFINITY,
    NOT_A_NUMBER,
    ONE,
    ZERO,
    Number,
)

_MINUS_ONE: Final = Number(1, 1, 0)

_ODD: Final = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "erf", "expm1", "log1p"})
"""The functions that keep a zero, sign included."""

_AT_ZERO: Final = {
    "exp": ONE, "exp2": ONE, "cos": ONE, "cosh": ONE, "log": NEGATIVE_INFINITY, "log2": NEGATIVE_INFINITY,
}  # fmt: skip

_AT_INFINITIES: Final = {
    "exp": (ZERO, INFINITY), "exp2": (ZERO, INFINITY), "expm1": (_MINUS_ONE, INFINITY),
    "log": (NAN, INFINITY), "log2": (NAN, INFINITY), "log1p": (NAN, INFINITY),
    "sin": (NAN, NAN), "cos": (NAN, NAN), "tan": (NAN, NAN), "asin": (NAN, NAN), "acos": (NAN, NAN),
    "sinh": (NEGATIVE_INFINITY, INFINITY), "cosh": (INFINITY, INFINITY),
    "tanh": (_MINUS_ONE, ONE), "erf": (_MINUS_ONE, ONE),
}  # fmt: skip
"""The values at minus and plus infinity; atan's are no exact numbers."""


def special(name: str, arguments: tuple[Number, ...]) -> Number | None:
    """The exact result where one is defined, else None; with None, ``functions.enclose`` encloses the result."""
    if name == "pow":
        return _power(*arguments)
    if name == "atan2":
        return _arctangent(*arguments)
    return _unary(name, arguments[0])


def _unary(name: str, x: Number) -> Number | None:
    if x.mantissa == NOT_A_NUMBER:
        return NAN
    if x.mantissa == INFINITE:
        ends = _AT_INFINITIES.get(name)
        return None if ends is None else ends[1 - x.sign]
    if x.mantissa == 0:
        return x if name in _ODD else _AT_ZERO.get(name)
    inside = _INSIDE.get(name)
    return None if inside is None else inside(x)


def _logarithm(x: Number) -> Number | None:
    if x.sign:
        return NAN
    return ZERO if compare_with_one(x) == 0 else None


def _logarithm_of_one_plus(x: Number) -> Number | None:
    side = compare_with_one(x)
    if not x.sign or side < 0:
        return None
    return NEGATIVE_INFINITY if side == 0 else NAN


def _inverse_sine(x: Number) -> Number | None:
    return NAN if compare_with_one(x) > 0 else None


def _inverse_cosine(x: Number) -> Number | None:
    side = compare_with_one(x)
    return NAN if side > 0 else ZERO if side == 0 and not x.sign else None


_INSIDE: Final[dict[str, Callable[[Number], Number | None]]] = {
    "log": _logarithm, "log2": _logarithm, "log1p": _logarithm_of_one_plus, "asin": _inverse_sine,
    "acos": _inverse_cosine,
}  # fmt: skip


def compare_with_one(x: Number) -> int:
    """The sign of ``|x| - 1`` for a number that is not NaN."""
    if x.mantissa == INFINITE:
        return 1
    size = x.mantissa.bit_length() + x.exponent
    if x.mantissa == 0 or size != 1:
        return -1 if x.mantissa == 0 or size < 1 else 1
    return 0 if x.mantissa & (x.mantissa - 1) == 0 else 1


def is_integer(x: Number) -> bool:
    """Whether a finite number is an integer."""
    return x.exponent >= 0 or x.mantissa & ((1 << -x.exponent) - 1) == 0


def is_odd(x: Number) -> bool:
    """Whether a finite number is an odd integer."""
    return x.exponent <= 0 and is_integer(x) and x.mantissa >> -x.exponent & 1 == 1


def _power(x: Number, y: Number) -> Number | None:
    unit = x.mantissa != NOT_A_NUMBER and compare_with_one(x) == 0
    if y.mantissa == 0 or (unit and not x.sign):
        return ONE
    if NOT_A_NUMBER in (x.mantissa, y.mantissa):
        return NAN
    if y.mantissa == INFINITE:
        grows = compare_with_one(x) > 0
        return ONE if unit else INFINITY if grows != bool(y.sign) else ZERO
    if x.mantissa == 0 or x.mantissa == INFINITE:
        grows = (x.mantissa == INFINITE) != bool(y.sign)
        return Number(x.sign & is_odd(y), INFINITE if grows else 0, 0)
    return NAN if x.sign and not is_integer(y) else None


def _arctangent(y: Number, x: Number) -> Number | None:
    if NOT_A_NUMBER in (x.mantissa, y.mantissa):
        return NAN
    if y.mantissa == 0:
        return None if x.sign else y
    return Number(y.sign, 0, 0) if x == INFINITY and y.mantissa != INFINITE else None
