"""The elementary functions of N2, enclosed to any precision by integer fixed-point series.

``enclose`` gives two Numbers with the exact value between them; ``nearest`` rounds correctly, by raising the precision
until both ends round alike. That ends because a value lies on a rounding boundary only where it is rational, and those
cases are exact here: powers of two for exp2 and log2, dyadic powers for pow. Special values are in ``domains``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Final, NamedTuple

from counterfoil_reference.domains import is_odd
from counterfoil_reference.numbers import INFINITE, ONE, ZERO, Format, Number, encode
from counterfoil_reference.series import (
    UNITS,
    arctan_series,
    artanh_series,
    erf_series,
    exp_series,
    ln2,
    pi,
    sine_and_cosine_series,
)

FIRST_BITS: Final = 80
"""The relative precision ``nearest`` starts with."""

_SLACK: Final = 24
_HUGE: Final = 14  # exponentials of arguments of 2**14 and more are past every format


class Approx(NamedTuple):
    """A value within ``error * 2**exponent`` of ``value * 2**exponent``."""

    value: int
    error: int
    exponent: int


Enclosure = tuple[Number, Number]


def nearest(name: str, arguments: tuple[Number, ...], form: Format) -> tuple[int, Enclosure]:
    """The code of the correctly rounded result and the exact one's enclosure; for arguments without special case."""
    bits = FIRST_BITS
    while True:
        low, high = enclosure = enclose(name, arguments, bits)
        code = encode(form, low)
        if low == high or code == encode(form, high):
            return code, enclosure
        bits *= 2


def enclose(name: str, arguments: tuple[Number, ...], bits: int = FIRST_BITS) -> Enclosure:
    """Numbers ``(low, high)`` around the exact result, apart by at most ``2**(1 - bits)`` of it, or past every format.

    A result of magnitude over ``2**16384`` has a high end that is merely larger; under ``2**-16384``, a low end of 0.
    """
    x = arguments[0]
    if name in _EXPONENTIALS and size(x) > _HUGE and not (name == "expm1" and x.sign):
        return _beyond(bool(x.sign) and name != "sinh" and name != "cosh", x.sign if name == "sinh" else 0, size(x))
    if name == "pow":
        return _power(arguments[0], arguments[1], bits)
    if name in _NEAR_IDENTITY and _NEAR_IDENTITY[name] * size(x) <= -bits - 2:
        return _beside(x, _grows(name, x.sign), bits)
    if name in _NEAR_ONE and size(x) <= -bits - 2:
        return _beside(ONE, name == "cosh" or (name != "cos" and not x.sign), bits)
    return _ends(_relative(lambda w: _CORES[name](arguments, w, bits), bits + _headroom(name, arguments), bits))


def size(x: Number) -> int:
    """The power of two just above a finite non-zero number's magnitude."""
    return x.mantissa.bit_length() + x.exponent


def _beyond(vanishes: bool, sign: int, power: int) -> Enclosure:
    """The enclosure of ``e**t`` (or ``2**t``), ``2**14 <= |t| < 2**power``, with a sign."""
    low, high = (ZERO, Number(0, 1, -16384)) if vanishes else (Number(0, 1, 16384), Number(0, 1, 1 << power + 1))
    return _signed((low, high), sign)


def _grows(name: str, sign: int) -> bool:
    """Whether a function near the identity is larger in magnitude than its argument of that sign."""
    return {"expm1": sign == 0, "log1p": sign == 1}.get(name, name in ("tan", "asin", "sinh"))


def _beside(x: Number, grows: bool, bits: int) -> Enclosure:
    """From a number to it times ``1 + 2**-bits``, or (not ``grows``) times ``1 - 2**-bits``; strictly inside."""
    far = Number(0, (x.mantissa << bits) + (x.mantissa if grows else -x.mantissa), x.exponent - bits)
    near = x._replace(sign=0)
    return _signed((near, far) if grows else (far, near), x.sign)


def _signed(enclosure: Enclosure, sign: int) -> Enclosure:
    low, high = enclosure
    return (high._replace(sign=1 - high.sign), low._replace(sign=1 - low.sign)) if sign else (low, high)


def _ends(approx: Approx, sign: int = 0) -> Enclosure:
    value, error, exponent = approx
    low, high = value - error, value + error
    return _signed((Number(int(low < 0), abs(low), exponent), Number(int(high < 0), abs(high), exponent)), sign)


def _relative(core: Callable[[int], Approx], width: int, bits: int) -> Approx:
    """The core's value with an error of at most ``2**-bits`` of it, by as many fractional bits as that takes."""
    while True:
        approx = core(width)
        if approx.error << bits <= abs(approx.value):
            return approx
        width += bits + 5 + approx.error.bit_length() - abs(approx.value).bit_length()


def _headroom(name: str, arguments: tuple[Number, ...]) -> int:
    """Fractional bits beyond the relative precision that the result is likely to need, being small."""
    if name == "atan2":
        y, x = arguments
        ordinary = y.mantissa > 0 and x.mantissa > 0 and not x.sign
        return _SLACK + (max(size(x) - size(y), 0) if ordinary else 0)
    x = arguments[0]
    if name in ("log", "log2"):
        numerator, denominator, power = _around_one(x)
        near = denominator.bit_length() - abs(numerator - denominator).bit_length() if power == 0 else 0
        return _SLACK + near
    return _SLACK + (max(-size(x), 0) if name in _NEAR_IDENTITY or name == "erf" else 0)


# --- arithmetic of approximations ------------------------------------------------------------------------------------


def _shifted(value: int, by: int) -> int:
    return value << by if by >= 0 else value >> -by


def _sum(a: Approx, b: Approx) -> Approx:
    exponent = min(a.exponent, b.exponent)
    left, right = a.exponent - exponent, b.exponent - exponent
    return Approx((a.value << left) + (b.value << right), (a.error << left) + (b.error << right), exponent)


def _difference(a: Approx, b: Approx) -> Approx:
    return _sum(a, b._replace(value=-b.value))


def _quotient(a: Approx, b: Approx, w: int) -> Approx:
    """``a / b`` with about ``w`` significant bits; ``b`` must exceed twice its error, else the error is infinite-like.

    ``|A/B - (A+da)/(B+db)| <= (|A| eb + |B| ea) / (|B| (|B| - eb))`` for ``|da| <= ea``, ``|db| <= eb < |B|``.
    """
    shift = max(w + abs(b.value).bit_length() - abs(a.value).bit_length(), 0)
    divisor = abs(b.value)
    if divisor <= 2 * b.error:
        return Approx(0, 1 << w, 0)  # nothing is known yet: more bits will be asked for
    value = (a.value << shift) // b.value
    error = ((abs(a.value) * b.error + divisor * a.error) << shift) // (divisor * (divisor - b.error)) + 2
    return Approx(value, error, a.exponent - b.exponent - shift)


# --- cores: (arguments, fractional bits, relative bits) -> Approx ----------------------------------------------------


def _signed_mantissa(x: Number) -> int:
    return -x.mantissa if x.sign else x.mantissa


def _exact(x: Number) -> Approx:
    return Approx(_signed_mantissa(x), 0, x.exponent)


def _exponential(t: Approx, w: int) -> Approx:
    """``e**t`` for ``|t| < 2**15``: ``t = k ln 2 + r`` with ``|r| <= 0.35``, reduced with 32 bits more."""
    wide = w + 32
    x = _shifted(t.value, t.exponent + wide)
    lost = _shifted(t.error, t.exponent + wide) + 2
    step = ln2(wide)
    k = (2 * x + step) // (2 * step)
    lost += UNITS * abs(k)
    return Approx(exp_series(x - k * step >> 32, w), UNITS + 2 * (2 + (lost >> 32)), k - w)


def _exp(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    return _exponential(_exact(arguments[0]), w)


def _exp2(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    m, e = _signed_mantissa(arguments[0]), arguments[0].exponent
    if e >= 0:
        return Approx(1, 0, m << e)
    k = (m + (1 << -e - 1)) >> -e
    rest = m - (k << -e)
    if rest == 0:
        return Approx(1, 0, k)
    # |rest * 2**e| <= 1/2, so the error of ln 2 adds at most 1 unit and the shift 1 more.
    return Approx(exp_series(rest * ln2(w) >> -e, w), UNITS + 2 * 3, k - w)


def _expm1(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    x = arguments[0]
    if x.sign and size(x) > bits.bit_length():  # e**x < 2**-bits
        return Approx(1 - (1 << bits + 1), 1, -bits - 1)
    return _difference(_exponential(_exact(x), w), Approx(1, 0, 0))


def _hyperbolic_parts(x: Number, w: int) -> tuple[Approx, Approx]:
    t = _exact(x)
    return _exponential(t, w), _exponential(t._replace(value=-t.value), w)


def _sinh(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    up, down = _hyperbolic_parts(arguments[0], w)
    both = _difference(up, down)
    return both._replace(exponent=both.exponent - 1)


def _cosh(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    both = _sum(*_hyperbolic_parts(arguments[0], w))
    return both._replace(exponent=both.exponent - 1)


def _just_below_one(sign: int, bits: int) -> Approx:
    value = (1 << bits + 1) - 1
    return Approx(-value if sign else value, 1, -bits - 1)


def _tanh(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    x = arguments[0]
    if size(x) > bits.bit_length():  # 1 - tanh|x| < 2 e**(-2|x|) < 2**-bits
        return _just_below_one(x.sign, bits)
    up, down = _hyperbolic_parts(x, w)
    return _quotient(_difference(up, down), _sum(up, down), w)


def _erf(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    x = arguments[0]
    numerator, denominator = x.mantissa << max(x.exponent, 0), 1 << max(-x.exponent, 0)
    if numerator * numerator > bits * denominator * denominator:  # 1 - erf|x| < e**(-x*x) < 2**-bits
        return _just_below_one(x.sign, bits)
    value = erf_series(numerator, denominator, w)
    return Approx(-value if x.sign else value, UNITS, -w)


def _around_one(x: Number) -> tuple[int, int, int]:
    """``x > 0`` as ``numerator / denominator * 2**power`` with the quotient between sqrt(1/2) and sqrt(2)."""
    m, bits = x.mantissa, x.mantissa.bit_length()
    if m * m > 1 << 2 * bits - 1:
        return m, 1 << bits, x.exponent + bits
    return m, 1 << bits - 1, x.exponent + bits - 1


def _logarithm(x: Number, w: int) -> Approx:
    """``log x = 2 artanh((f - 1) / (f + 1)) + k ln 2`` for ``x = f * 2**k``; one bit more doubles."""
    numerator, denominator, power = _around_one(x)
    value = artanh_series(numerator - denominator, numerator + denominator, w + 1)
    return Approx(value + power * ln2(w), UNITS * (1 + abs(power)), -w)


def _log(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    return _logarithm(arguments[0], w)


def _log2(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    numerator, denominator, power = _around_one(arguments[0])
    if numerator == denominator:
        return Approx(power, 0, 0)
    return _quotient(_logarithm(arguments[0], w), Approx(ln2(w), UNITS, -w), w)


def _log1p(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    both = _sum(Approx(1, 0, 0), _exact(arguments[0]))
    return _logarithm(Number(0, both.value, both.exponent), w)


def _quadrant(x: Number, w: int) -> tuple[int, int]:
    """``x = k pi/2 + r``: k modulo 4 and r in [-0.79, 0.79] within 2 units.

    ``|k| < 2**s``, where ``|x| < 2**s``; with ``s + 8`` bits more, pi's error times k stays far below a unit.
    """
    more = max(size(x), 0) + 8
    turned = _shifted(_signed_mantissa(x), x.exponent + w + more)
    half_pi = pi(w + more - 1)
    k = (2 * turned + half_pi) // (2 * half_pi)
    return k & 3, turned - k * half_pi >> more


def _sine_and_cosine(x: Number, w: int) -> tuple[Approx, Approx]:
    quadrant, r = _quadrant(x, w)
    sine, cosine = sine_and_cosine_series(r, w)
    for _ in range(quadrant):
        sine, cosine = cosine, -sine
    return Approx(sine, UNITS + 2, -w), Approx(cosine, UNITS + 2, -w)


def _sin(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    return _sine_and_cosine(arguments[0], w)[0]


def _cos(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    return _sine_and_cosine(arguments[0], w)[1]


def _tan(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    return _quotient(*_sine_and_cosine(arguments[0], w), w)


def _arctangent(numerator: int, denominator: int, w: int) -> Approx:
    """The angle in [0, pi/2] of a ratio of integers >= 0, not both 0."""
    if numerator <= denominator:
        return Approx(arctan_series(numerator, denominator, w), UNITS, -w)
    return Approx(pi(w - 1) - arctan_series(denominator, numerator, w), 2 * UNITS, -w)


def _with_sign(approx: Approx, sign: int) -> Approx:
    return approx._replace(value=-approx.value) if sign else approx


def _atan(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    x = arguments[0]
    if x.mantissa == INFINITE:
        return _with_sign(Approx(pi(w - 1), UNITS, -w), x.sign)
    return _with_sign(_arctangent(x.mantissa << max(x.exponent, 0), 1 << max(-x.exponent, 0), w), x.sign)


def _over_power_of_two(x: Number) -> tuple[int, int]:
    """A number as ``m / 2**q`` with ``q >= 0``, m signed."""
    return _signed_mantissa(x) << max(x.exponent, 0), max(-x.exponent, 0)


def _asin(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    """``arctan(x / sqrt(1 - x*x))``; the root's last bit moves the angle by less than a unit."""
    m, q = _over_power_of_two(arguments[0])
    root = isqrt(((1 << 2 * q) - m * m) << 2 * w)
    angle = _arctangent(abs(m) << w, root, w)
    return _with_sign(angle._replace(error=angle.error + 1), arguments[0].sign)


def _acos(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    """``2 arctan(sqrt((1 - x) / (1 + x)))``, the quotient's root as ``sqrt(ab) / b``."""
    m, q = _over_power_of_two(arguments[0])
    a, b = (1 << q) - m, (1 << q) + m
    if b == 0:
        return Approx(pi(w), UNITS, -w)
    angle = _arctangent(isqrt(a * b << 2 * w), b << w, w)
    return Approx(angle.value, angle.error + 1, angle.exponent + 1)


def _atan2(arguments: tuple[Number, ...], w: int, bits: int) -> Approx:
    y, x = arguments
    if y.mantissa <= 0 or x.mantissa <= 0:
        return _with_sign(_eighths(y, x, w), y.sign)
    if not x.sign and 2 * (size(y) - size(x) + 1) <= -bits - 2:  # the angle is the ratio to 2**-bits
        shift = bits + 8 + x.mantissa.bit_length()
        ratio = (y.mantissa << shift) // x.mantissa
        return _with_sign(Approx(ratio, 2 + (ratio >> bits + 2), y.exponent - x.exponent - shift), y.sign)
    apart = y.exponent - x.exponent
    angle = _arctangent(y.mantissa << max(apart, 0), x.mantissa << max(-apart, 0), w)
    if x.sign:
        angle = Approx(pi(w) - angle.value, angle.error + UNITS, -w)
    return _with_sign(angle, y.sign)


def _eighths(y: Number, x: Number, w: int) -> Approx:
    """The angle on an axis, or between two infinities: 1 to 4 eighths of a turn."""
    if y.mantissa == INFINITE and x.mantissa == INFINITE:
        eighths = 3 if x.sign else 1
    else:
        eighths = 2 if x.mantissa == 0 or y.mantissa == INFINITE else 4
    if y.mantissa == 0:
        eighths = 4
    return Approx(pi(w) * eighths, UNITS * 4, -w - 2)


def _power(x: Number, y: Number, bits: int) -> Enclosure:
    sign = x.sign & is_odd(y)
    exact = _dyadic_power(x._replace(sign=0), y)
    if exact is not None:
        if abs(size(exact)) > 1 << _HUGE:
            return _beyond(exact.exponent < 0, sign, abs(exact.exponent).bit_length())
        return _signed((exact, exact), sign)
    magnitude = x._replace(sign=0)
    t = _product(_logarithm(magnitude, 100), y)
    power = t.value.bit_length() + t.exponent
    if power > _HUGE + 1:
        return _beyond(t.value < 0, sign, power + 1)
    if power <= -bits - 2:
        return _signed(_beside(ONE, t.value > 0, bits), sign)
    width = bits + _SLACK
    wide = width + max(size(y), 0) + 40
    return _ends(_relative(lambda w: _exponential(_product(_logarithm(magnitude, wide), y), w), width, bits), sign)


def _product(a: Approx, x: Number) -> Approx:
    return Approx(a.value * _signed_mantissa(x), a.error * x.mantissa, a.exponent + x.exponent)


def _dyadic_power(x: Number, y: Number) -> Number | None:
    """``x**y`` exactly (``x > 0``) where it has few enough bits to lie on a rounding boundary, else None.

    With ``y = p / 2**q`` in lowest terms that takes an x whose 2**q-th root is rational, and unless that root is a
    power of two, a p between 0 and 64 (a boundary of binary64 has at most 54 bits, and ``3**64`` has more).
    """
    zeros = _trailing_zeros(x.mantissa)
    odd, power = x.mantissa >> zeros, x.exponent + zeros
    zeros = _trailing_zeros(y.mantissa)
    p, q = _signed_mantissa(y) >> zeros, -(y.exponent + zeros)
    if q < 0:
        p, q = p << -q, 0
    if power & ((1 << q) - 1):
        return None
    for _ in range(q if odd > 1 else 0):
        root = isqrt(odd)
        if root * root != odd:
            return None
        odd = root
    if odd == 1:
        return Number(0, 1, (power >> q) * p)
    return Number(0, odd**p, (power >> q) * p) if 0 < p <= 64 else None


def _trailing_zeros(n: int) -> int:
    return (n & -n).bit_length() - 1


_Core = Callable[[tuple[Number, ...], int, int], Approx]

_CORES: Final[dict[str, _Core]] = {
    "exp": _exp, "exp2": _exp2, "expm1": _expm1, "log": _log, "log2": _log2, "log1p": _log1p, "sin": _sin,
    "cos": _cos, "tan": _tan, "asin": _asin, "acos": _acos, "atan": _atan, "sinh": _sinh, "cosh": _cosh,
    "tanh": _tanh, "erf": _erf, "atan2": _atan2,
}  # fmt: skip

_NEAR_ONE: Final = frozenset({"exp", "exp2", "cos", "cosh"})

_EXPONENTIALS: Final = frozenset({"exp", "exp2", "expm1", "sinh", "cosh"})

_NEAR_IDENTITY: Final = {
    "sin": 2, "tan": 2, "asin": 2, "atan": 2, "sinh": 2, "tanh": 2, "expm1": 1, "log1p": 1,
}  # fmt: skip
"""Functions within ``x * (1 +- |x|**n)`` for small x, with that n."""
