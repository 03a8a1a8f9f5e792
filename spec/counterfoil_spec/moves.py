"""Movements: how an array's indices are renamed without moving an element.

A move is data. Its entries are integers (``operator.index``; bool and others refuse arguments/not-integer) and are
copied on construction, so a caller's list can change afterwards without changing the move.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from counterfoil_spec.arguments import instance, integer, integers


@dataclass(frozen=True, init=False)
class Reshape:
    """The same elements in C order under another shape."""

    shape: tuple[int, ...]

    def __init__(self, shape: Iterable[int]) -> None:
        object.__setattr__(self, "shape", integers("shape", shape))


@dataclass(frozen=True, init=False)
class Broadcast:
    """Right-aligned repetition: axes of extent 1 are read at every index, new leading axes are ignored."""

    shape: tuple[int, ...]

    def __init__(self, shape: Iterable[int]) -> None:
        object.__setattr__(self, "shape", integers("shape", shape))


@dataclass(frozen=True, init=False)
class Permute:
    """Axis ``i`` of the result is axis ``axes[i]`` of the argument."""

    axes: tuple[int, ...]

    def __init__(self, axes: Iterable[int]) -> None:
        object.__setattr__(self, "axes", integers("axes", axes))


@dataclass(frozen=True, init=False)
class Range:
    """``count`` indices from ``start`` by ``step`` (any non-zero step)."""

    start: int
    count: int
    step: int

    def __init__(self, start: int, count: int, step: int = 1) -> None:
        object.__setattr__(self, "start", integer("start", start))
        object.__setattr__(self, "count", integer("count", count))
        object.__setattr__(self, "step", integer("step", step))


@dataclass(frozen=True, init=False)
class Slice:
    """One Range per axis."""

    ranges: tuple[Range, ...]

    def __init__(self, *ranges: Range) -> None:
        object.__setattr__(self, "ranges", _entries("ranges", ranges, Range))


@dataclass(frozen=True, init=False)
class WindowAxis:
    """Windows of ``size`` along ``axis``, every ``step``, their elements ``dilation`` apart."""

    axis: int
    size: int
    step: int
    dilation: int

    def __init__(self, axis: int, size: int, step: int = 1, dilation: int = 1) -> None:
        object.__setattr__(self, "axis", integer("axis", axis))
        object.__setattr__(self, "size", integer("size", size))
        object.__setattr__(self, "step", integer("step", step))
        object.__setattr__(self, "dilation", integer("dilation", dilation))


@dataclass(frozen=True, init=False)
class Window:
    """Each named axis becomes its number of windows; one trailing axis of its size is appended per window."""

    axes: tuple[WindowAxis, ...]

    def __init__(self, *axes: WindowAxis) -> None:
        object.__setattr__(self, "axes", _entries("axes", axes, WindowAxis))


_T = TypeVar("_T")

Move = Reshape | Broadcast | Permute | Slice | Window


def _entries(argument: str, entries: tuple[_T, ...], cls: type[_T]) -> tuple[_T, ...]:


    return tuple(instance(argument, entry, cls) for entry in entries)
