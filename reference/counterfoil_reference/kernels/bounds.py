"""Exact sums and products of floats, and how far from them a result may lie (N3).

The *accumulator* is binary64 for 64-bit floats and binary32 for all narrower ones, with unit roundoff u, smallest
subnormal h and largest finite value M; ``gamma(n) = n u / (1 - n u)``.

- A sum of n terms is right within ``gamma(n) * sum|terms|`` of the exact one, then rounded once to the dtype; a
  product of operands that is summed (matmul) and the division of a mean may underflow, which adds ``n h`` and ``h``.
- A product of n factors is right within ``gamma(n) * |product|``. Where the factors below 1 alone multiply to less than
  the smallest normal number, underflow on the way adds ``n h`` times the product of the factors of 1 or more.
- Where ``sum|terms| * (1 + gamma(n))``, or the product of the factors of 1 or more times ``1 + gamma(n)``, exceeds M,
  an infinity (of a product: of its sign) and NaN are right too; with infinite terms, NaN.
- A zero has either sign, unless there is no term (+0), or the product has a zero factor and cannot overflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from counterfoil_reference.domains import compare_with_one
from counterfoil_reference.intervals import ANYTHING, Accept, AnyOf, Between, free_nan
from counterfoil_reference.numbers import (
    BINARY32,
    BINARY64,
    FORMATS,
    INFINITE,
    INFINITY,
    NAN,
    NEGATIVE_INFINITY,
    NOT_A_NUMBER,
    Format,
    Number,
    encode,
    encode_ratio,
)
from counterfoil_spec.dtypes import Dtype


def accumulator(form: Format) -> Format:
    """The format sums of ``form`` are accumulated in."""
    return BINARY64 if form is BINARY64 else BINARY32


class Terms(NamedTuple):
    """``number`` terms: ``total`` and ``magnitude`` (the sum of magnitudes) of the finite ones, times ``2**exponent``.

    ``special`` is the sum of the others: an infinity, NaN, or None if all are finite.
    """

    number: int
    total: int
    magnitude: int
    exponent: int
    special: Number | None = None


NO_TERMS = Terms(0, 0, 0, 0)


def prefixes(terms: Sequence[Number]) -> Iterator[Terms]:
    """The Terms after each of the numbers."""
    exponent = min((term.exponent for term in terms if term.mantissa > 0), default=0)
    total = magnitude = 0
    special: Number | None = None
    for count, term in enumerate(terms, 1):
        if term.mantissa < 0:
            special = term if special is None or special == term else NAN
        elif term.mantissa:
            size = term.mantissa << term.exponent - exponent
            total += -size if term.sign else size
            magnitude += size
        yield Terms(count, total, magnitude, exponent, special)


def summed(terms: Sequence[Number]) -> Terms:
    """The Terms of all the numbers."""
    return [NO_TERMS, *prefixes(terms)][-1]


def sum_code(form: Format, terms: Terms, divisor: int = 1) -> int:
    """The exact sum, over ``divisor``, rounded once; an exact zero is +0, a sum over 0 is NaN."""
    if divisor == 0 or terms.special is not None:
        return encode(form, NAN if divisor == 0 or terms.special is None else terms.special)
    return encode_ratio(form, terms.total, divisor, terms.exponent)


def sum_room(dtype: Dtype, terms: Terms, stored: int, divisor: int = 1, underflows: int = 0) -> Accept | None:
    """The room of a sum (of one part of a complex one) stored as ``stored``; ``underflows`` times h is added."""
    form = FORMATS[dtype]
    wide = accumulator(form)
    spare = (1 << wide.precision) - terms.number  # gamma(n) is count / spare
    if spare <= 0:
        return ANYTHING
    overflows = _exceeds(terms.magnitude << wide.precision, terms.exponent, wide.largest, spare)
    if terms.special is not None or divisor == 0:
        nan = part_nan(form, stored)
        return nan if nan or not overflows else Between(stored, stored, nan=True)
    if terms.magnitude == 0 and terms.number == 0:
        return None
    exponent = min(terms.exponent, wide.least)
    up = terms.exponent - exponent
    slack = (terms.magnitude * terms.number << up) + (underflows * divisor * spare << wide.least - exponent)
    middle = terms.total * spare << up
    ends = [encode_ratio(form, middle + by, spare * divisor, exponent) for by in (-slack, slack)]
    found = Between(ends[0], ends[1], nan=overflows)
    infinities = frozenset({encode(form, INFINITY), encode(form, NEGATIVE_INFINITY)})
    return AnyOf(infinities, (found,)) if overflows else found


def part_nan(form: Format, code: int) -> Accept | None:
    """Any NaN where a code of the format is one."""
    return free_nan(_OF_FORMAT[form], code)


_OF_FORMAT = {form: dtype for dtype, form in FORMATS.items() if dtype.bits == form.bits}


def _exceeds(value: int, exponent: int, limit: Number, factor: int) -> bool:
    """Whether ``value * 2**exponent > limit * factor``."""
    up = exponent - limit.exponent
    return value << max(up, 0) > limit.mantissa * factor << max(-up, 0)


class Factors(NamedTuple):
    """A product: its sign; the exact mantissas and exponents of the factors of 1 or more, and of those below 1."""

    number: int
    sign: int
    large: tuple[int, int]
    small: tuple[int, int]
    zero: bool
    infinite: bool
    nan: bool


def multiplied(factors: Iterable[Number]) -> Factors:
    """The Factors of some numbers."""
    count = sign = 0
    products = [[1, 0], [1, 0]]  # mantissa and exponent of the large, of the small
    zero = infinite = nan = False
    for factor in factors:
        count += 1
        sign ^= factor.sign
        zero |= factor.mantissa == 0
        infinite |= factor.mantissa == INFINITE
        nan |= factor.mantissa == NOT_A_NUMBER
        if factor.mantissa > 0:
            product = products[compare_with_one(factor) < 0]
            product[0] *= factor.mantissa
            product[1] += factor.exponent
    large, small = products
    return Factors(count, sign, (large[0], large[1]), (small[0], small[1]), zero, infinite, nan)


def product_code(form: Format, factors: Factors) -> int:
    """The exact product rounded once; of no factor, 1."""
    if factors.nan or (factors.zero and factors.infinite):
        return encode(form, NAN)
    if factors.infinite:
        return encode(form, Number(factors.sign, INFINITE, 0))
    if factors.zero:
        return encode(form, Number(factors.sign, 0, 0))
    mantissa, exponent = factors.large[0] * factors.small[0], factors.large[1] + factors.small[1]
    return encode(form, Number(factors.sign, mantissa, exponent))


def product_room(dtype: Dtype, factors: Factors, stored: int) -> Accept | None:
    """The room of a product stored as ``stored``."""
    form = FORMATS[dtype]
    wide = accumulator(form)
    if factors.number == 0:
        return None
    spare = (1 << wide.precision) - factors.number
    if spare <= 0:
        return ANYTHING
    overflows = _exceeds(factors.large[0] << wide.precision, factors.large[1], wide.largest, spare)
    underflows = factors.small[0].bit_length() + factors.small[1] < wide.least + wide.precision
    if factors.nan or factors.infinite or factors.zero:
        nan = part_nan(form, stored)
        risky = underflows if factors.infinite else overflows
        return nan if nan or not risky else Between(stored, stored, nan=True)
    found = _product_ends(form, wide, factors, spare, underflows, overflows)
    return AnyOf(frozenset({encode(form, Number(factors.sign, INFINITE, 0))}), (found,)) if overflows else found


def _product_ends(
    form: Format, wide: Format, factors: Factors, spare: int, underflows: bool, overflows: bool
) -> Between:
    mantissa, exponent = factors.large[0] * factors.small[0], factors.large[1] + factors.small[1]
    lost = factors.large[1] + wide.least  # the exponent of what underflow may add
    lowest = min(exponent, lost)
    slack = mantissa * factors.number << exponent - lowest
    if underflows:
        slack += (factors.number * factors.large[0] << wide.precision) << lost - lowest
    middle = (-mantissa if factors.sign else mantissa) * spare << exponent - lowest
    ends = [encode_ratio(form, middle + by, spare, lowest) for by in (-slack, slack)]
    return Between(ends[0], ends[1], nan=overflows)
