"""Values of programs: a number where the rules say which, a Span where they leave room (N2, N3).

A number is a Python float that the dtype holds exactly, or an int of the dtype's range.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from counterfoil_reference.intervals import ANY_NAN, ANYTHING, Accept, AnyOf, Between
from counterfoil_reference.numbers import FORMATS, Format, encode, float_of_code, int_range, number_of_float
from counterfoil_spec.dtypes import Dtype


class Span(NamedTuple):
    """Any value of the dtype from ``low`` to ``high``, a zero of either sign; with ``nan``, NaN too.

    ``value`` is the reference's own, the exact result rounded once.
    """

    low: float
    high: float
    value: float
    nan: bool = False


Value = float | Span
"""Ints are among the floats, as Python's numeric tower has it."""

_SET_LIMIT: Final = 4096
"""Most integers a span lists for a watcher."""


def everything(dtype: Dtype, value: float) -> Span:
    """No value of the dtype is wrong."""
    if dtype.float_format is None:
        low, high = int_range(dtype)
        return Span(low, high, value)
    return Span(-math.inf, math.inf, value, True)


def between(low: float, high: float, value: float, nan: bool = False) -> Value:
    """The span, or its value where there is no room."""
    if low == high == value and not nan and value != 0:
        return value
    return Span(low, high, value, nan)


def center(value: Value) -> float:
    """The reference's own number."""
    return value.value if isinstance(value, Span) else value


def ends(value: Value) -> tuple[float, float, bool]:
    """The least and greatest number a value may be, and whether it may be NaN; of NaN, that alone."""
    if isinstance(value, Span):
        return value.low, value.high, value.nan
    return value, value, value != value


def accept(dtype: Dtype, value: Value) -> Accept | None:
    """What a watcher is told of an element: None for exactly its bits."""
    if not isinstance(value, Span):
        return ANY_NAN if value != value else None
    if dtype.float_format is None:
        return _integers(dtype, int(value.low), int(value.high))
    form = FORMATS[dtype]
    return Between(code_of(form, value.low), code_of(form, value.high), value.nan)


def _integers(dtype: Dtype, low: int, high: int) -> Accept:
    if high - low >= _SET_LIMIT:
        return ANYTHING
    return AnyOf(frozenset(each & ((1 << dtype.bits) - 1) for each in range(low, high + 1)))


def code_of(form: Format, value: float) -> int:
    """The code of a number the format holds, or of the nearest one."""
    return encode(form, number_of_float(value))


def rounded(form: Format, value: float) -> float:
    """A binary64 number rounded once to the format."""
    if form.bits == 64 or (value.is_integer() and abs(value) <= 1 << form.precision):
        return value
    return float_of_code(form, encode(form, number_of_float(value)))
