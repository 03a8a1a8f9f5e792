"""Basic indexing: integers, slices, None and ... as views."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from counterfoil import arrays
from counterfoil._native import lib
from counterfoil.moves import encode
from counterfoil_spec.limits import MAX_RANK
from counterfoil_spec.refusals import refuse, shown

_WHOLE = slice(None)


def indexed(array: arrays.Array, key: object) -> arrays.Array:
    """The view of ``array`` at a key.

    Integers drop their axis, slices follow Python's rules, None adds an axis of extent 1, ... stands for the axes
    not named. Refuses arguments/wrong-type (arrays of indices among others), arguments/not-integer,
    arrays/index-rank, arrays/index-range and moves/slice-step.
    """
    shape = array.shape
    entries = _expanded(tuple(key) if issubclass(type(key), tuple) else (key,), len(shape))  # type: ignore[arg-type]
    ranges: list[int] = []
    result: list[int] = []
    for entry in entries:
        axis = len(ranges) // 3
        if entry is None:
            result.append(1)
        elif isinstance(entry, slice):
            start, count, step = _range(entry, axis, shape[axis])
            ranges += (start, count, step)
            result.append(count)
        else:
            ranges += (_place(entry, entries, axis, shape), 1, 1)
    if len(result) > MAX_RANK:
        raise refuse("layouts/rank", rank=len(result), limit=MAX_RANK)
    sliced = _viewed(array, lib.CF_SLICE, len(shape), ranges)
    plain = len(result) == len(shape) and None not in entries
    return sliced if plain else _viewed(sliced, lib.CF_RESHAPE, len(result), result)


def _viewed(array: arrays.Array, kind: int, count: int, params: list[int]) -> arrays.Array:
    """A move known to be expressible: a slice inside its axes, or a reshape that adds and drops axes of extent 1."""
    view = array._view(encode(kind, count, params))
    assert isinstance(view, arrays.Array), "basic indexing is always a view"
    return view


def _expanded(entries: tuple[Any, ...], rank: int) -> list[Any]:
    """The entries with ... spelt out: one per axis, and the Nones."""
    named = sum(entry is not None and entry is not Ellipsis for entry in entries)
    dots = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if named > rank or len(dots) > 1:
        raise refuse("arrays/index-rank", index=[_shown(entry) for entry in entries], rank=rank)
    place = dots[0] if dots else len(entries)
    return [*entries[:place], *[_WHOLE] * (rank - named), *entries[place + 1 :]]


def _range(entry: slice, axis: int, extent: int) -> tuple[int, int, int]:
    """A slice's first index, count and step."""
    try:
        start, stop, step = entry.indices(extent)
    except ValueError:
        raise refuse("moves/slice-step", axis=axis) from None
    except Exception:
        raise refuse("arguments/not-integer", argument="index", value=_shown(entry)) from None
    count = len(range(start, stop, step))
    return (start, count, step) if count > 1 else (start if count else 0, count, 1)


def _place(entry: object, entries: list[Any], axis: int, shape: tuple[int, ...]) -> int:
    """An integer entry, inside its axis."""
    try:
        if isinstance(entry, (bool, np.bool_, np.ndarray)) or (isinstance(entry, arrays.Array) and entry.shape):
            raise TypeError
        index = operator.index(entry)  # type: ignore[arg-type]
    except Exception:
        expected = "an integer, a slice, None or ..."
        raise refuse("arguments/wrong-type", argument="index", expected=expected, value=shown(entry)) from None
    if not 0 <= index < shape[axis]:
        raise refuse("arrays/index-range", index=[_shown(each) for each in entries], shape=shape)
    return index


def _shown(entry: object) -> object:
    if type(entry) is int:
        return entry
    if isinstance(entry, slice):
        return f"slice({shown(entry.start)}, {shown(entry.stop)}, {shown(entry.step)})"
    return "..." if entry is Ellipsis else shown(entry)
