"""Argument facts common to every surface function: integers, sequences of them, instances (A12)."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex, TypeVar, cast

from counterfoil_spec.refusals import refuse, shown

_T = TypeVar("_T")


def integer(argument: str, value: object) -> int:
    """``value`` through ``operator.index``; bool and anything else refuse arguments/not-integer."""
    if type(value) is int:
        return value
    if not isinstance(value, bool):
        try:
            return operator.index(cast(SupportsIndex, value))
        except Exception:
            pass
    raise refuse("arguments/not-integer", argument=argument, value=shown(value))


def integers(argument: str, values: object) -> tuple[int, ...]:
    """A sequence of integers, read once; refuses arguments/wrong-type and arguments/not-integer."""
    if isinstance(values, (str, bytes, bytearray)):
        raise refuse("arguments/wrong-type", argument=argument, expected="a sequence of integers", value=shown(values))
    try:
        entries = tuple(cast(Iterable[object], values))
    except Exception:
        raise refuse(
            "arguments/wrong-type", argument=argument, expected="a sequence of integers", value=shown(values)
        ) from None
    return tuple(integer(argument, entry) for entry in entries)


def within(argument: str, value: int, low: int, high: int) -> int:
    """``value`` if ``low <= value <= high``; refuses arguments/integer-range."""
    if not low <= value <= high:
        raise refuse("arguments/integer-range", argument=argument, value=value, low=low, high=high)
    return value


def instance(argument: str, value: object, cls: type[_T]) -> _T:
    """``value`` if it is a ``cls``, whatever it says of itself; refuses arguments/wrong-type naming the class."""
    if issubclass(type(value), cls):  # an object may claim any class as its ``__class__``
        return cast(_T, value)
    raise refuse("arguments/wrong-type", argument=argument, expected=cls.__name__, value=shown(value))
