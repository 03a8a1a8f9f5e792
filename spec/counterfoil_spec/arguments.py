"""Argument facts common to every surface function: integers, sequences of them, instances (A12)."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Final, SupportsIndex, TypeVar, cast

from counterfoil_spec.refusals import refuse, shown

MOST_ENTRIES: Final = 2**16
"""Most entries of an index, a shape, strides or axes that are read; the rule on ranks refuses long before."""

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
    """A sequence of integers, read once; refuses arguments/wrong-type and arguments/not-integer.

    No more than ``MOST_ENTRIES`` are read: an endless iterable is no sequence.
    """
    if not issubclass(type(values), (str, bytes, bytearray)):
        entries = read(values, MOST_ENTRIES + 1)
        if entries is not None and len(entries) <= MOST_ENTRIES:
            return tuple(integer(argument, entry) for entry in entries)
    raise refuse("arguments/wrong-type", argument=argument, expected="a sequence of integers", value=shown(values))


def read(values: object, most: int | None = None) -> tuple[object, ...] | None:
    """What ``values`` yields, read once, at most that many; None where iterating fails.

    The length that an object claims for itself is not believed: memory would be set aside for it.
    """
    if type(values) is tuple or type(values) is list:
        return tuple(values) if most is None else tuple(values[:most])
    try:
        return tuple(entry for entry in itertools.islice(cast(Iterable[object], values), most))
    except Exception:
        return None


def within(argument: str, value: int, low: int, high: int) -> int:
    """``value`` if ``low <= value <= high``; refuses arguments/integer-range."""
    if not low <= value <= high:
        raise refuse("arguments/integer-range", argument=argument, value=value, low=low, high=high)
    return value


def text(argument: str, value: object) -> str:
    """``value`` if it is a string, as an exact one; refuses arguments/wrong-type."""
    return str.__str__(instance(argument, value, str))


def function(argument: str, value: Callable[..., _T]) -> Callable[..., _T]:
    """``value`` if it can be called; refuses arguments/wrong-type."""
    if callable(value):
        return value
    raise refuse("arguments/wrong-type", argument=argument, expected="a function", value=shown(value))


def number(argument: str, value: object) -> float:
    """``value`` if it is an int, a float or a bool; refuses arguments/wrong-type."""
    if issubclass(type(value), (int, float)):
        return cast(float, value)
    raise refuse("arguments/wrong-type", argument=argument, expected="a number", value=shown(value))


def sequence(argument: str, values: object, cls: type[_T]) -> tuple[_T, ...]:
    """The entries of ``values``, read once, each a ``cls``; refuses arguments/wrong-type."""
    found = read(values)
    if found is None:
        expected = f"a sequence of {cls.__name__}"
        raise refuse("arguments/wrong-type", argument=argument, expected=expected, value=shown(values))
    return tuple(instance(argument, entry, cls) for entry in found)


def instance(argument: str, value: object, cls: type[_T]) -> _T:
    """``value`` if it is a ``cls``, whatever it says of itself; refuses arguments/wrong-type naming the class."""
    if issubclass(type(value), cls):  # an object may claim any class as its ``__class__``
        return cast(_T, value)
    raise refuse("arguments/wrong-type", argument=argument, expected=cls.__name__, value=shown(value))
