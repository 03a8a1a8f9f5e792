"""Elementary series in integer fixed point, each with a proven error bound.

A fixed-point number with ``w`` fractional bits is an integer ``X`` that stands for ``X / 2**w``; a *unit* is
``2**-w``. Every function here computes with 40 guard bits: at ``W = w + 40`` each shift or floor division loses less
than a unit of ``2**-W``, a series runs at most ``W`` terms (each is at most half of the one before), and ``W`` stays
under ``2**14``, so even errors magnified by ``2**20`` end below a unit of ``2**-w``. The last shift loses less than
one more: every result is within 2 units, which is what ``UNITS`` says.
"""

from __future__ import annotations

from math import isqrt
from typing import Final

UNITS: Final = 2
"""The bound of every function's error, in units of the last fractional bit."""

_GUARD: Final = 40
_HALVINGS: Final = 8


def exp_series(x: int, w: int) -> int:
    """``e**x`` for ``|x| <= 1``.

    The series runs at ``x / 2**8``, where a term is below ``2**-8`` of the one before, so ``N`` terms err by at most
    ``3 N + 2`` units of ``2**-W``; each of the 8 squarings doubles that and adds 1: under ``2**8 * e * (3 N + 3)``.
    """
    wide = w + _GUARD
    r = x << _GUARD - _HALVINGS
    term = total = 1 << wide
    n = 0
    while term > 1 or term < -1:
        n += 1
        term = (term * r >> wide) // n
        total += term
    for _ in range(_HALVINGS):
        total = total * total >> wide
    return total >> _GUARD


def sine_and_cosine_series(x: int, w: int) -> tuple[int, int]:
    """``sin x`` and ``cos x`` for ``|x| <= 1``: alternating series of terms under 2 units' error each."""
    wide = w + _GUARD
    r = x << _GUARD
    sums = [1 << wide, 0, 0, 0]  # the sums of the terms whose power is 0, 1, 2, 3 modulo 4
    term, n = 1 << wide, 0
    while term > 1 or term < -1:
        n += 1
        term = (term * r >> wide) // n
        sums[n & 3] += term
    return (sums[1] - sums[3]) >> _GUARD, (sums[0] - sums[2]) >> _GUARD


def artanh_series(numerator: int, denominator: int, w: int) -> int:
    """``artanh(numerator / denominator)`` for an argument of magnitude at most 1/3 (``denominator > 0``)."""
    wide = w + _GUARD
    power = (numerator << wide) // denominator
    square = power * power >> wide
    total, n = power, 1
    while power > 1 or power < -1:
        power = power * square >> wide
        n += 2
        total += power // n
    return total >> _GUARD


def arctan_series(numerator: int, denominator: int, w: int) -> int:
    """``arctan(numerator / denominator)`` for an argument in [0, 1].

    Three times ``arctan t = 2 arctan(t / (1 + sqrt(1 + t*t)))``: each step at most halves the error it is given and
    adds 2 units of ``2**-W``, and the series at ``t <= 0.1`` adds 2 per term; doubling back makes 8 times the sum.
    """
    wide = w + _GUARD
    one = 1 << wide
    t = (numerator << wide) // denominator
    for _ in range(3):
        t = (t << wide) // (one + isqrt((one << wide) + t * t))
    square = t * t >> wide
    total, power, n = t, t, 1
    while power > 1:
        power = power * square >> wide
        n += 2
        total += power // n if n & 2 == 0 else -(power // n)
    return total << 3 >> _GUARD


def erf_series(numerator: int, denominator: int, w: int) -> int:
    """``erf(x)`` for ``x = numerator / denominator > 0``.

    The alternating series has terms up to ``e**(x*x)``, and an error made early grows by as much; ``3 x*x`` more
    guard bits hold both (``2 * 1.45 < 3``).
    """
    margin = 3 * (numerator * numerator // (denominator * denominator) + 1)
    wide = w + _GUARD + margin
    x = (numerator << wide) // denominator
    square = x * x >> wide
    total, power, n = x, x, 0
    while power > 1:
        n += 1
        power = (power * square >> wide) // n
        total += -(power // (2 * n + 1)) if n & 1 else power // (2 * n + 1)
    return ((total << wide + 1) // isqrt(pi(2 * wide))) >> _GUARD + margin


_constants: dict[str, tuple[int, int]] = {}  # name: (fractional bits, value) of the widest computed so far


def pi(w: int) -> int:
    """Pi, by Machin's formula."""
    return _constant("pi", w)


def ln2(w: int) -> int:
    """The natural logarithm of 2."""
    return _constant("ln2", w)


def _constant(name: str, w: int) -> int:
    known, value = _constants.get(name, (-1, 0))
    if known < w:
        known = max(w + 64, 256)
        value = _machin(known) if name == "pi" else artanh_series(1, 3, known + 1)
        _constants[name] = known, value
    return value >> known - w


def _machin(w: int) -> int:
    """``16 arctan(1/5) - 4 arctan(1/239)``: errors of 2 units are made 4 times smaller than a unit by the shift."""
    return (_inverse_arctan(5, w + 8) * 16 - _inverse_arctan(239, w + 8) * 4) >> 8


def _inverse_arctan(n: int, w: int) -> int:
    """``arctan(1 / n)`` for an integer ``n > 1``, within 2 units."""
    power = (1 << w + _GUARD) // n
    total, k = power, 1
    while power:
        power //= n * n
        k += 2
        total += -(power // k) if k & 2 else power // k
    return total >> _GUARD
