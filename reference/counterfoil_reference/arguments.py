"""Sequences of objects as arguments: read once, each entry checked (A12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from counterfoil_spec.arguments import instance, read
from counterfoil_spec.refusals import refuse, shown

_T = TypeVar("_T")


def entries(argument: str, values: object, expected: str, most: int | None = None) -> tuple[object, ...]:
    """What ``values`` yields, read once, at most that many; refuses arguments/wrong-type where it is not iterable."""
    found = read(values, most)
    if found is None:
        raise refuse("arguments/wrong-type", argument=argument, expected=expected, value=shown(values))
    return found


def sequence(argument: str, values: object, cls: type[_T]) -> tuple[_T, ...]:
    """The entries of ``values``, each a ``cls``; refuses arguments/wrong-type."""
    found = entries(argument, values, f"a sequence of {cls.__name__}")
    return tuple(instance(argument, entry, cls) for entry in found)


def function(argument: str, value: Callable[..., object]) -> Callable[..., object]:
    """``value`` if it can be called; refuses arguments/wrong-type."""
    if callable(value):
        return value
    raise refuse("arguments/wrong-type", argument=argument, expected="Callable", value=shown(value))
