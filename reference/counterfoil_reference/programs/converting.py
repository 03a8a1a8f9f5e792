"""Values from one dtype to another, as the cast kernel converts them, and numbers written in code."""

from __future__ import annotations

import math

from counterfoil_reference.numbers import FORMATS, Format, encode, float_of_code, int_range, number_of_int
from counterfoil_reference.programs.points import wrapped
from counterfoil_reference.programs.spans import Span, Value, between, everything, rounded
from counterfoil_spec.dtypes import Dtype, float64, int64


def convert(value: Value, source: Dtype, target: Dtype) -> Value:
    """A value of ``source`` in ``target``: rounded once, truncated and saturated with NaN 0, or wrapped."""
    if source is target:
        return value
    if isinstance(value, Span):
        return _span(value, source, target)
    return _number(value, source, target)


def number(value: float, target: Dtype) -> float:
    """A number written in code: a float converts as a float64, an int exactly, wrapping in integer dtypes."""
    return _number(value, float64 if isinstance(value, float) else int64, target)


def _number(value: float, source: Dtype, target: Dtype) -> float:
    form = FORMATS.get(target)
    if source.float_format is not None:
        return _saturated(target, value) if form is None else rounded(form, value)
    return wrapped(target, int(value)) if form is None else _of_integer(form, int(value))


def _of_integer(form: Format, value: int) -> float:
    if abs(value) <= 1 << form.precision:
        return float(value)
    return float_of_code(form, encode(form, number_of_int(value)))


def _saturated(target: Dtype, value: float) -> int:
    low, high = int_range(target)
    if value != value:
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def _span(value: Span, source: Dtype, target: Dtype) -> Value:
    """Conversions keep order, except that integers wrap; a NaN that becomes an integer is 0."""
    low, high = _number(value.low, source, target), _number(value.high, source, target)
    found = _number(value.value, source, target)
    if target.float_format is not None:
        return between(low, high, found, value.nan)
    if source.float_format is None and (low, high) != (value.low, value.high):
        return everything(target, found)
    if value.nan:
        low, high = min(low, 0), max(high, 0)
    return found if low == high else Span(low, high, found)
