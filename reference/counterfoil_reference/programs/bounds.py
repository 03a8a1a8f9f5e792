"""Sums and products over the points of an accumulation, and the room N3 gives them.

A sum of n terms lies within ``gamma(n) * sum|terms|`` of the exact one, with ``gamma(n) = n u / (1 - n u)``, before it
is rounded; a term that is itself a product is taken exactly, and may underflow by the smallest subnormal. There is no
room where every partial sum is exact in whatever order (each term a multiple of one unit, their magnitudes together at
most ``2**precision`` units), nor where there is one addition only. Numbers are added up exactly, in units of
``2**-2148``, of which every product of two binary64 numbers is a multiple.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from counterfoil_reference.intervals import ANY_NAN, Between
from counterfoil_reference.kernels.bounds import multiplied, product_code, product_room
from counterfoil_reference.numbers import FORMATS, Format, encode_ratio, float_of_code, number_of_float
from counterfoil_reference.programs.points import point
from counterfoil_reference.programs.ranges import spanned
from counterfoil_reference.programs.spans import Span, Value, between, center, ends, everything, rounded
from counterfoil_spec.dtypes import Dtype

UNIT: Final = -2148


class Product(NamedTuple):
    """A term that is a product of two values, not rounded yet."""

    left: Value
    right: Value


Term = Value | Product


class Part(NamedTuple):
    """A finite term in units: the least, own and greatest value, and whether the dtype holds exactly the own one."""

    low: int
    own: int
    high: int
    held: bool


def operated(dtype: Dtype, operator: str, arguments: tuple[Value, ...]) -> Value:
    """An operator of values of the dtype, with the room that its arguments' and its own rules give."""
    if operator == "mul3" and dtype.float_format is not None:
        return product(dtype, arguments)
    found = point(dtype, operator, tuple(center(argument) for argument in arguments))
    if not any(isinstance(argument, Span) for argument in arguments):
        return found
    return spanned(dtype, operator, arguments, center(found))


def single(dtype: Dtype, term: Term) -> Value:
    """A term rounded by itself."""
    return operated(dtype, "mul", (term.left, term.right)) if isinstance(term, Product) else term


# --- sums ------------------------------------------------------------------------------------------------------------


def total(dtype: Dtype, start: Value, terms: Sequence[Term]) -> Value:
    """``start`` and the terms of a float dtype added up in whatever order; as a start, +0 is no term."""
    form = FORMATS[dtype]
    quick = _sum_of_small_integers(form, start, terms)
    if quick is not None:
        return quick
    if len(terms) == 1:
        return operated(dtype, "add", (start, single(dtype, terms[0])))
    every = list(terms) if _is_plus_zero(start) else [start, *terms]
    if not all(_is_finite(term) for term in every):
        return _special_sum(dtype, [single(dtype, term) for term in every])
    return _finite_sum(dtype, form, [_part(dtype, term) for term in every], all(map(_is_minus_zero, every)))


def _sum_of_small_integers(form: Format, start: Value, terms: Sequence[Term]) -> float | None:
    """The sum where all is integers that add up without rounding and are not all 0, else None."""
    found = magnitude = 0
    for term in (start, *terms):
        if isinstance(term, Product):
            left, right = term
            if not (type(left) is type(right) is float and left.is_integer() and right.is_integer()):
                return None
            whole = int(left) * int(right)
        elif type(term) is float and term.is_integer():
            whole = int(term)
        else:
            return None
        found += whole
        magnitude += abs(whole)
    return float(found) if 0 < magnitude <= 1 << form.precision else None


def _finite_sum(dtype: Dtype, form: Format, parts: Sequence[Part], all_minus_zero: bool) -> Value:
    own, count = sum(part.own for part in parts), len(parts)
    value = _rounded_ratio(form, own, 1)
    magnitude = sum(max(abs(part.low), abs(part.high)) for part in parts)
    if magnitude == 0:
        return Span(0.0, 0.0, 0.0) if all_minus_zero else 0.0
    if _is_exact(form, parts, magnitude) or (count == 2 and all(part.held for part in parts)):
        return value
    spare = (1 << form.precision) - count
    largest = form.largest.mantissa << form.largest.exponent - UNIT
    if spare <= 0 or magnitude << form.precision > largest * spare:
        return everything(dtype, value)
    underflow = sum(not part.held for part in parts) << form.least - UNIT
    slack = magnitude * count + underflow * spare
    low = _rounded_ratio(form, sum(part.low for part in parts) * spare - slack, spare)
    high = _rounded_ratio(form, sum(part.high for part in parts) * spare + slack, spare)
    return between(low, high, value)


def _is_exact(form: Format, parts: Sequence[Part], magnitude: int) -> bool:
    if not all(part.held and part.low == part.high for part in parts):
        return False
    unit = min(part.own & -part.own for part in parts if part.own)
    return magnitude <= unit << form.precision


def _rounded_ratio(form: Format, numerator: int, denominator: int) -> float:
    return float_of_code(form, encode_ratio(form, numerator, denominator, UNIT))


def _special_sum(dtype: Dtype, terms: Sequence[Value]) -> Value:
    """A sum with infinite terms or NaN; everything, unless all are numbers far from overflowing on the way."""
    numbers = [center(term) for term in terms]
    if all(map(math.isfinite, numbers)):
        parts = [_part(dtype, number) for number in numbers]
        return everything(dtype, center(_finite_sum(dtype, FORMATS[dtype], parts, False)))
    value = sum(number for number in numbers if not math.isfinite(number))
    if any(isinstance(term, Span) for term in terms):
        return everything(dtype, value)
    safe = all(abs(number) < 2.0**100 / len(numbers) for number in numbers if math.isfinite(number))
    return value if safe or value != value else everything(dtype, value)


def _part(dtype: Dtype, term: Term) -> Part:
    if not isinstance(term, Product):
        low, high, _ = ends(term)
        return Part(_units(low), _units(center(term)), _units(high), not isinstance(term, Span))
    low, high, _ = ends(term.left)
    least, most, _ = ends(term.right)
    corners = [_product_units(x, y) for x in (low, high) for y in (least, most)]
    own = _product_units(center(term.left), center(term.right))
    rounded_own = center(single(dtype, term))
    held = min(corners) == max(corners) and math.isfinite(rounded_own) and own == _units(rounded_own)
    return Part(min(corners), own, max(corners), held)


def _units(number: float) -> int:
    return _product_units(number, 1.0)


def _product_units(x: float, y: float) -> int:
    """The product of two finite numbers in units of ``2**UNIT``."""
    (numerator, denominator), (more, below) = x.as_integer_ratio(), y.as_integer_ratio()
    return numerator * more << -UNIT - (denominator.bit_length() - 1) - (below.bit_length() - 1)


def _is_finite(term: Term) -> bool:
    if isinstance(term, Product):
        return _is_finite(term.left) and _is_finite(term.right)
    low, high, nan = ends(term)
    return not nan and math.isfinite(low) and math.isfinite(high)


def _is_plus_zero(term: Term) -> bool:
    return type(term) is float and term == 0 and math.copysign(1, term) > 0


def _is_minus_zero(term: Term) -> bool:
    """Whether a term is -0; of a product, whether its factors give -0."""
    if isinstance(term, Product):
        return type(term.left) is type(term.right) is float and _is_minus_zero(term.left * term.right)
    return type(term) is float and term == 0 and math.copysign(1, term) < 0


# --- products --------------------------------------------------------------------------------------------------------


def product(dtype: Dtype, factors: Sequence[Term]) -> Value:
    """The factors of a float dtype multiplied in whatever order; 1 is no factor."""
    form, flat = FORMATS[dtype], [each for factor in factors for each in _factors(factor) if each != 1.0]
    if len(flat) <= 2:
        return operated(dtype, "mul", (*flat, *(1.0,) * (2 - len(flat))))
    numbers = [each for each in flat if not isinstance(each, Span)]
    if len(numbers) < len(flat):
        return _product_of_spans(dtype, form, flat)
    if _stays_exact(form, numbers):
        return math.prod(numbers)
    every = multiplied(map(number_of_float, numbers))
    code = product_code(form, every)
    accept, value = product_room(dtype, every, code), float_of_code(form, code)
    if accept is None or accept is ANY_NAN:
        return value
    if not isinstance(accept, Between):
        return everything(dtype, value)
    return between(float_of_code(form, accept.low), float_of_code(form, accept.high), value, accept.nan)


def _factors(factor: Term) -> tuple[Value, ...]:
    return (factor.left, factor.right) if isinstance(factor, Product) else (factor,)


def _stays_exact(form: Format, numbers: Sequence[float]) -> bool:
    """Whether all are integers of which no product of some needs rounding."""
    if not all(number.is_integer() for number in numbers):
        return False
    return math.prod(abs(int(number)) for number in numbers if number) <= 1 << form.precision


def _product_of_spans(dtype: Dtype, form: Format, factors: Sequence[Value]) -> Value:
    """Multiplied one after the other; then a bound for all the roundings, those here included."""
    found = factors[0]
    for factor in factors[1:]:
        found = operated(dtype, "mul", (found, factor))
    low, high, nan = ends(found)
    if nan or math.isinf(low) or math.isinf(high):
        return everything(dtype, center(found))
    slack = 4 * len(factors) * 2.0**-form.precision
    most = math.prod(max(1.0, *map(abs, ends(factor)[:2])) for factor in factors)
    least = 2 * len(factors) * math.ldexp(1.0, form.least) * most  # what underflow on the way may lose, scaled up later
    low, high = low - abs(low) * slack - least, high + abs(high) * slack + least
    return between(rounded(form, low), rounded(form, high), center(found))
