"""Integers of programs that are not written in the code: loop iterators, and symbols bound at each run."""

from __future__ import annotations

import itertools
from typing import Final

from counterfoil_spec.arguments import integer, text
from counterfoil_spec.refusals import refuse, shown

_numbers: Final = itertools.count()


class Iterator:
    """A loop's index. Compared by identity; ``label`` is for people."""

    __slots__ = ("label", "number")

    def __init__(self, label: str) -> None:
        self.label = label
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return self.label


class Symbol:
    """A static index: an integer argument of a routine, read from ``value`` when ``run`` is called.

    ``bound`` is its declared range: values 0 to bound - 1, or, for a symbol used as an extent, 0 to bound. None: any
    value of the index width. ``value`` is None until the caller assigns one.
    """

    __slots__ = ("bound", "extent", "label", "number", "value")

    label: str
    bound: int | None
    extent: bool
    number: int
    value: int | None

    def __init__(self, label: str, bound: int | None = None, *, extent: bool = False) -> None:
        """Refuses arguments/wrong-type, arguments/not-integer, programs/bound: below 1, or none for an extent."""
        self.label = text("label", label)
        self.bound = None if bound is None else integer("bound", bound)
        self.extent = bool(extent)
        self.value = None
        self.number = next(_numbers)
        if (self.bound is None and extent) or (self.bound is not None and self.bound < 1):
            raise refuse("programs/bound", symbol=self.label, bound=self.bound)

    def __setattr__(self, name: str, value: object) -> None:
        """Only ``value`` changes: routines are compiled for what a symbol is. Refuses arguments/not-integer."""
        if name == "value":
            value = None if value is None else integer("value", value)
        elif hasattr(self, name):
            raise AttributeError(f"{name} of a symbol does not change")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> str:
        raise TypeError("symbols are not copied or pickled: they are compared by identity")

    def set(self, value: int) -> None:
        """Assign the value that the next runs read; any integer here, checked by run (run/launch-binding)."""
        self.value = integer("value", value)

    @property
    def greatest(self) -> int | None:
        """The greatest admitted value, None if the range is not declared."""
        if self.bound is None:
            return None
        return self.bound if self.extent else self.bound - 1

    def __repr__(self) -> str:
        return f"${self.label}"


def shown_value(value: int | None) -> str:
    """A binding's value as refusals show it."""
    return "none" if value is None else shown(value)
