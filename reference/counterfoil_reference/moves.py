"""Movements: the shape each gives, and which element of the argument each index of the result reads.

``source_index`` is the meaning of a move; layouts read their strides off it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from counterfoil_spec.arguments import integers
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK
from counterfoil_spec.moves import Broadcast, Move, Permute, Range, Reshape, Slice, Window, WindowAxis
from counterfoil_spec.refusals import refuse, shown

Shape = tuple[int, ...]


def check_rank(rank: int) -> None:
    """Refuse layouts/rank past 32 axes (A7)."""
    if rank > MAX_RANK:
        raise refuse("layouts/rank", rank=rank, limit=MAX_RANK)


def check_extents(shape: Shape) -> None:
    """Refuse layouts/negative-extent, then layouts/too-many-elements: extents other than 0 multiply to 2^53 (A7)."""
    for axis, extent in enumerate(shape):
        if extent < 0:
            raise refuse("layouts/negative-extent", axis=axis, extent=extent, shape=shape)
    if math.prod(extent for extent in shape if extent != 0) > MAX_ELEMENTS:
        raise refuse("layouts/too-many-elements", shape=shape)


def check_shape(shape: Shape) -> None:
    """Refuse what no layout can have: layouts/rank, layouts/negative-extent, layouts/too-many-elements."""
    check_rank(len(shape))
    check_extents(shape)


def instance_of_move(move: object) -> Move:
    """``move`` if it is one of the five; refuses arguments/wrong-type."""
    if issubclass(type(move), (Reshape, Broadcast, Permute, Slice, Window)):
        return cast(Move, move)
    raise refuse("arguments/wrong-type", argument="move", expected="Move", value=shown(move))


def move_shape(move: Move, shape: Sequence[int]) -> Shape:
    """The shape of ``move`` applied to ``shape``; refuses layouts/* for either shape and the move's own moves/*."""
    move = instance_of_move(move)
    shape = integers("shape", shape)
    check_shape(shape)
    result = _result(move, shape)
    check_shape(result)
    return result


def _result(move: Move, shape: Shape) -> Shape:
    match move:
        case Reshape():
            return _reshape(move.shape, shape)
        case Broadcast():
            return _broadcast(move.shape, shape)
        case Permute():
            return _permute(move.axes, shape)
        case Slice():
            return _slice(move.ranges, shape)
        case Window():
            return _window(move.axes, shape)


def _reshape(target: Shape, shape: Shape) -> Shape:
    check_shape(target)
    if math.prod(target) != math.prod(shape):
        raise refuse("moves/reshape-count", shape=shape, target=target)
    return target


def _broadcast(target: Shape, shape: Shape) -> Shape:
    check_shape(target)
    fresh = len(target) - len(shape)
    if fresh < 0:
        raise refuse("moves/broadcast-rank", shape=shape, target=target)
    for axis, extent in enumerate(shape):
        if extent not in (1, target[fresh + axis]):
            raise refuse("moves/broadcast-extent", axis=axis, extent=extent, target=target)
    return target


def _permute(axes: Shape, shape: Shape) -> Shape:
    rank = len(shape)
    if len(axes) != rank:
        raise refuse("moves/permute-length", axes=len(axes), rank=rank)
    for entry, axis in enumerate(axes):
        if not 0 <= axis < rank:
            raise refuse("moves/permute-axis", entry=entry, axis=axis, rank=rank)
        if axis in axes[:entry]:
            raise refuse("moves/permute-repeat", entry=entry, axis=axis)
    return tuple(shape[axis] for axis in axes)


def _slice(ranges: tuple[Range, ...], shape: Shape) -> Shape:
    if len(ranges) != len(shape):
        raise refuse("moves/slice-ranges", ranges=len(ranges), rank=len(shape))
    for axis, (taken, extent) in enumerate(zip(ranges, shape, strict=True)):
        _check_range(axis, taken, extent)
    return tuple(taken.count for taken in ranges)


def _check_range(axis: int, taken: Range, extent: int) -> None:
    start, count, step = taken.start, taken.count, taken.step
    if step == 0:
        raise refuse("moves/slice-step", axis=axis)
    if count < 0:
        raise refuse("moves/slice-count", axis=axis, count=count)
    if count == 0:
        return
    if not 0 <= start < extent:
        raise refuse("moves/slice-start", axis=axis, start=start, extent=extent)
    if not 0 <= start + (count - 1) * step < extent:
        raise refuse("moves/slice-last", axis=axis, start=start, count=count, step=step, extent=extent)


def _window(windows: tuple[WindowAxis, ...], shape: Shape) -> Shape:
    previous = -1
    result = list(shape)
    for entry, window in enumerate(windows):
        if not 0 <= window.axis < len(shape):
            raise refuse("moves/window-axis", entry=entry, axis=window.axis, rank=len(shape))
        if window.axis <= previous:
            raise refuse("moves/window-order", entry=entry, axis=window.axis, previous=previous)
        previous = window.axis
        _check_window(window, shape[window.axis])
        result[window.axis] = (shape[window.axis] - 1 - window.dilation * (window.size - 1)) // window.step + 1
        result.append(window.size)
    return tuple(result)


def _check_window(window: WindowAxis, extent: int) -> None:
    axis, size, step, dilation = window.axis, window.size, window.step, window.dilation
    if size < 1:
        raise refuse("moves/window-size", axis=axis, size=size)
    if step < 1:
        raise refuse("moves/window-step", axis=axis, step=step)
    if dilation < 1:
        raise refuse("moves/window-dilation", axis=axis, dilation=dilation)
    if dilation * (size - 1) > extent - 1:
        raise refuse("moves/window-fit", axis=axis, size=size, dilation=dilation, extent=extent)


def source_index(move: Move, shape: Shape, index: Shape) -> Shape:
    """The index of the argument (of shape ``shape``) that index ``index`` of the result reads."""
    match move:
        case Reshape():
            return unravel(ravel(index, move.shape), shape)
        case Broadcast():
            tail = index[len(index) - len(shape) :]
            return tuple(0 if extent == 1 else i for extent, i in zip(shape, tail, strict=True))
        case Permute():
            return tuple(index[move.axes.index(axis)] for axis in range(len(shape)))
        case Slice():
            return tuple(taken.start + i * taken.step for taken, i in zip(move.ranges, index, strict=True))
        case Window():
            result = list(index[: len(shape)])
            for window, within in zip(move.axes, index[len(shape) :], strict=True):
                result[window.axis] = result[window.axis] * window.step + within * window.dilation
            return tuple(result)


def ravel(index: Shape, shape: Shape) -> int:
    """The number of an index in C order."""
    number = 0
    for i, extent in zip(index, shape, strict=True):
        number = number * extent + i
    return number


def unravel(number: int, shape: Shape) -> Shape:
    """The index of that number in C order; the shape has an element."""
    index = []
    for extent in reversed(shape):
        number, i = divmod(number, extent)
        index.append(i)
    return tuple(reversed(index))
