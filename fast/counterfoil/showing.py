"""An array as text: its values where they can be seen at once, else why not. Never waits, never raises."""

from __future__ import annotations

import math
from typing import Any

from counterfoil import arrays
from counterfoil._native import lib
from counterfoil.printing import text_of

_MOST = 1000
_EDGE = 3


def text(array: arrays.Array) -> str:
    """``Array([[1, 2], [3, 4]], int32)``; long axes are elided past 1000 elements."""
    hidden = _hidden(array)
    shown = f"<{hidden}>, shape={list(array.shape)}" if hidden else _values(array)
    return f"Array({shown}, {array.dtype.name})"


def _hidden(array: arrays.Array) -> str | None:
    """Why the values cannot be seen at once, or None."""
    buffer = array.buffer
    why = buffer.dead
    if why is not None:
        return f"dead: {why}"
    if buffer.claims[1]:
        return "held exclusive"
    if not array.size:
        return None
    if lib.cf_buffer_lost(buffer._c, False):
        return "lost"
    if lib.cf_memory_pending_writes(buffer.memory.c):
        return "pending"
    return None if buffer._c.addressable else f"on {array.device.name}"


def _values(array: arrays.Array) -> str:
    shape = array.shape
    if array.size <= _MOST:
        try:
            values = iter(array.to_values())
        except Exception:  # somebody took the memory since it was looked at
            return f"<gone>, shape={list(shape)}"
        return _nested(shape, shape, lambda: text_of(array.dtype, next(values)), 1)
    edges = tuple(min(extent, 2 * _EDGE + 1) for extent in shape)
    if math.prod(edges) > 2 * _MOST:
        return f"[...], shape={list(shape)}"
    return _corners(array, (), 1)


def _nested(shape: Any, whole: Any, cell: Any, depth: int) -> str:
    if not shape:
        return str(cell())
    rows = [_nested(shape[1:], whole, cell, depth + 1) for _ in range(shape[0])]
    return _joined(rows, len(shape), depth)


def _corners(array: arrays.Array, index: tuple[int, ...], depth: int) -> str:
    """The first and last entries of each axis."""
    shape = array.shape
    if len(index) == len(shape):
        try:
            return text_of(array.dtype, array.get(index))
        except Exception:
            return "?"
    extent = shape[len(index)]
    places = range(extent)
    if extent > 2 * _EDGE:
        head = [_corners(array, (*index, place), depth + 1) for place in places[:_EDGE]]
        tail = [_corners(array, (*index, place), depth + 1) for place in places[-_EDGE:]]
        return _joined([*head, "...", *tail], len(shape) - len(index), depth)
    return _joined([_corners(array, (*index, place), depth + 1) for place in places], len(shape) - len(index), depth)


def _joined(rows: list[str], rank: int, depth: int) -> str:
    between = ", " if rank == 1 else "," + "\n" * (rank - 1) + " " * (len("Array(") + depth)
    return f"[{between.join(rows)}]"
