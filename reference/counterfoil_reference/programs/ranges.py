"""The operators on values of which some have room: a span that holds every result the arguments allow.

Where an argument may be NaN or infinite, or an operator leaves its plain domain, the span is everything: that is
always right, and such programs are rare.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Final

from counterfoil_reference.numbers import FORMATS
from counterfoil_reference.programs.points import FUNCTIONS, point
from counterfoil_reference.programs.spans import Span, Value, between, center, ends, everything, rounded
from counterfoil_spec.dtypes import Dtype

_CORNERS: Final = frozenset({
    "relu", "satur01", "exp", "log", "exp2", "log2", "sqrt", "trunc", "tanh", "neg", "recip_sqrt", "add", "sub", "mul",
    "max", "min", "fma", "mul3",
})  # fmt: skip
"""Operators monotone in each argument, or of degree one in each: their extremes over a box are at its corners."""

_TRUTHS: Final = frozenset({"not", "or", "and", "cmplt", "cmple", "cmpeq", "cmpne"})


def spanned(dtype: Dtype, operator: str, arguments: tuple[Value, ...], value: float) -> Value:
    """What an operator may give, ``value`` being what it gives for the arguments' own numbers. Not of float mul3."""
    if operator in ("identity", "arg1", "arg2"):
        return arguments[operator == "arg2"]
    if operator in _TRUTHS:
        found = {point(dtype, operator, choice) for choice in itertools.product(*_samples(arguments))}
        return value if len(found) == 1 else Span(0, 1, value)
    if operator in ("where", "relu_gate", "satur01_gate"):
        return hull(_options(dtype, operator, arguments), value)
    picks = operator in ("max", "min") and not any(ends(argument)[2] for argument in arguments)
    if not picks and not all(_is_plain(dtype, argument) for argument in arguments):
        return everything(dtype, value)
    return _plain(dtype, operator, arguments, value)


def hull(values: Iterable[Value], value: float) -> Value:
    """All that the values may be, as one span around ``value``."""
    every = [ends(each) for each in values]
    nan = any(each[2] for each in every)
    numbers = [each for each in every if each[0] == each[0]]
    if not numbers:
        return value
    return between(min(low for low, _, _ in numbers), max(high for _, high, _ in numbers), value, nan)


def _samples(arguments: tuple[Value, ...]) -> list[list[float]]:
    """Numbers of each argument between which no comparison with another, or with 0, changes."""
    marks = [0, *(end for argument in arguments for end in ends(argument)[:2])]
    found = []
    for argument in arguments:
        low, high, nan = ends(argument)
        inside = sorted({mark for mark in marks if low <= mark <= high})
        found.append([*inside, math.nan] if nan else inside)
    return found


def _options(dtype: Dtype, operator: str, arguments: tuple[Value, ...]) -> Iterable[Value]:
    """What a choice may pick, its condition being any of what it may be."""
    low, high, nan = ends(arguments[0])
    chosen, other = arguments[1], arguments[2] if operator == "where" else 0 if dtype.float_format is None else 0.0
    if operator == "where":
        may, may_not = (low, high) != (0, 0) or nan, low <= 0 <= high
    elif operator == "relu_gate":
        may, may_not = high > 0, nan or low <= 0
    else:
        may, may_not = high > 0 and low < 1, nan or low <= 0 or high >= 1
    return [*([chosen] if may else []), *([other] if may_not else [])]


def _is_plain(dtype: Dtype, value: Value) -> bool:
    """Whether all it may be is finite, and, of an integer, small enough that no product of three wraps."""
    low, high, nan = ends(value)
    if dtype.float_format is None:
        return max(abs(low), abs(high)) < 1 << dtype.bits // 3 - 1
    return not nan and math.isfinite(low) and math.isfinite(high)


def _plain(dtype: Dtype, operator: str, arguments: tuple[Value, ...], value: float) -> Value:
    low, high, _ = ends(arguments[-1])
    if operator in ("sin", "cos"):
        reach = 2 * (high - low)
        lowest, highest, _ = ends(point(dtype, operator, (center(arguments[0]),)))
        return _widened(dtype, max(lowest - reach, -1.0), min(highest + reach, 1.0), value)
    if operator == "mod" and not low <= 0 <= high:
        return _remainder(arguments, value)
    if operator in ("div", "recip") and not low <= 0 <= high:
        return _corners(dtype, operator, arguments, value)
    if operator == "to_pow_of" and ends(arguments[0])[0] > 0 and dtype.float_format is not None:
        return _corners(dtype, operator, arguments, value)
    if operator not in _CORNERS or (operator == "recip_sqrt" and low <= 0):
        return everything(dtype, value)
    return _corners(dtype, operator, arguments, value)


def _corners(dtype: Dtype, operator: str, arguments: tuple[Value, ...], value: float) -> Value:
    found = [point(dtype, operator, corner) for corner in itertools.product(*(ends(each)[:2] for each in arguments))]
    if any(ends(each)[2] for each in found):
        return everything(dtype, value)
    spanning = hull(found, value)
    if operator in FUNCTIONS or operator == "recip_sqrt":
        return _widened(dtype, *ends(spanning)[:2], value)
    return spanning


def _widened(dtype: Dtype, low: float, high: float, value: float) -> Value:
    """Four units more at each end: an end may be a special case without room, beside arguments whose results have."""
    form = FORMATS.get(dtype)
    if form is None:
        return between(low, high, value)
    unit = 2.0 ** (3 - form.precision)
    low = low - abs(low) * unit if math.isfinite(low) else low
    high = high + abs(high) * unit if math.isfinite(high) else high
    return between(rounded(form, low), rounded(form, high), value)


def _remainder(arguments: tuple[Value, ...], value: float) -> Value:
    """No further from 0 than either argument, with the sign of the first."""
    (low, high, _), (least, most, _) = ends(arguments[0]), ends(arguments[1])
    size = min(max(abs(low), abs(high)), max(abs(least), abs(most)))
    return between(-size if low < 0 else 0, size if high > 0 else 0, value)
