"""numpy: strided reach, movements and overlap, by the addresses numpy itself computes.

A layout is laid over an array that holds its own positions (``as_strided``), so what numpy reads at an index is where
the index lies. Only element widths of whole bytes have a numpy dtype.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from counterfoil_oracles.opinions.opinion import Topic, Undecided
from counterfoil_oracles.opinions.places import Operand, Pair, Places, Shape, overlapping, pairs, small, sparse
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.moves import Broadcast, Move, Permute, Range, Reshape, Slice, Window, WindowAxis

ORACLE: Final = "numpy"

_MAX_WORK: Final = 20_000
_WIDEST: Final = 1 << 16
_FORMATS: Final = {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8", 128: "<c16"}
_BASE: Final = np.arange(_WIDEST + 64, dtype=np.int64)

Positions = tuple[Shape, tuple[int, ...]]
"""A shape and the positions of its indices in C order."""


@dataclass(frozen=True)
class Moved:
    """A move of a layout."""

    places: Places
    move: Move


def laid_out(shape: Shape, strides: Shape, offset: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """An array whose element at each index is the index's position."""
    used = [0 if extent <= 1 else 8 * stride for extent, stride in zip(shape, strides, strict=True)]
    return as_strided(_BASE[offset if 0 not in shape else 0 :], shape, used)


def _grid(places: Places) -> np.ndarray[Any, np.dtype[np.int64]]:
    return laid_out(places.shape, places.strides, places.offset)


def _read(array: np.ndarray[Any, np.dtype[np.int64]]) -> Positions:
    return array.shape, tuple(array.ravel().tolist())


# --- reach -----------------------------------------------------------------------------------------------------------


def _span(places: Places) -> tuple[int, int]:
    grid = _grid(places)
    return (int(grid.min()), int(grid.max()) + 1) if grid.size else (0, 0)


def _distinct(places: Places) -> bool:
    grid = _grid(places)
    return len(np.unique(grid)) == grid.size


def _contiguous(places: Places) -> bool:
    return bool(_grid(places).flags.c_contiguous)


def _layouts(rng: random.Random, count: int) -> Iterator[Places]:
    for _ in range(count):
        kind = rng.randrange(3)
        if kind == 0:
            shape = tuple(rng.choice((0, 1, 1, 2, 3)) for _ in range(rng.randrange(5)))
            yield Places(shape, _c_strides(rng, shape), rng.randrange(9))
        else:
            yield small(rng) if kind == 1 else sparse(rng, _WIDEST)


def _c_strides(rng: random.Random, shape: Shape) -> Shape:
    """Strides in C order, now and then one of them off by one."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step + (rng.random() < 0.05))
        step *= max(extent, 1)
    return tuple(reversed(strides))


# --- movements -------------------------------------------------------------------------------------------------------


def _moved(question: Moved) -> Positions | None:
    grid = _grid(question.places)
    match question.move:
        case Reshape(shape=shape):
            return _reshaped(grid, shape)
        case Broadcast(shape=shape):
            return _read(np.broadcast_to(grid, shape))
        case Permute(axes=axes):
            return _read(grid.transpose(axes))
        case Slice(ranges=ranges):
            return _read(grid[tuple(_slice(each) for each in ranges)])
        case Window(axes=windows):
            return _read(_windows(grid, windows))


def _reshaped(grid: np.ndarray[Any, np.dtype[np.int64]], shape: Shape) -> Positions | None:
    """numpy copies where no strides express the reshape; a copy is an array of its own memory."""
    result = grid.reshape(shape)
    return _read(result) if result.size == 0 or np.may_share_memory(result, _BASE) else None


def _slice(taken: Range) -> slice:
    if taken.count == 0:
        return slice(0, 0)
    stop = taken.start + taken.count * taken.step
    return slice(taken.start, stop if stop >= 0 else None, taken.step)


def _windows(
    grid: np.ndarray[Any, np.dtype[np.int64]], windows: tuple[WindowAxis, ...]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """numpy's windows have every step 1: dilated ones are wider and thinned out."""
    result = grid
    for each in windows:
        view = sliding_window_view(result, each.dilation * (each.size - 1) + 1, axis=each.axis)
        along: list[Any] = [slice(None)] * view.ndim
        along[each.axis], along[-1] = slice(None, None, each.step), slice(None, None, each.dilation)
        result = view[tuple(along)]
    return result


def _half_moved(half: Any, question: Moved) -> Positions | None:
    layout = question.places.on(half).move(question.move)
    return None if layout is None else _read(laid_out(layout.shape, layout.strides, layout.offset))


def _moves(rng: random.Random, count: int) -> Iterator[Moved]:
    for _ in range(count):
        places = small(rng) if rng.random() < 0.7 else _compact(rng)
        yield Moved(places, rng.choice(_DRAWS)(rng, places.shape))


def _compact(rng: random.Random) -> Places:
    """A permuted or reversed contiguous layout, which reshapes more often than not."""
    shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
    order = rng.sample(range(len(shape)), len(shape)) if rng.random() < 0.4 else list(range(len(shape)))
    strides, step = [0] * len(shape), rng.choice((1, 1, 2))
    for axis in reversed(order):
        strides[axis], step = step, step * shape[axis]
    sign = rng.choice((1, 1, -1, 0))
    return Places(shape, tuple(sign * stride for stride in strides), 0).lowest(rng.randrange(4))


def _draw_reshape(rng: random.Random, shape: Shape) -> Move:
    size, target = int(np.prod(shape, dtype=np.int64)), []
    if size == 0:
        return Reshape(rng.sample((0, 2, 3, 1), 4))
    while size > 1:
        extent = rng.choice([d for d in range(1, size + 1) if size % d == 0])
        target.append(extent)
        size //= extent
    return Reshape([*target, *[1] * rng.randrange(2)])


def _draw_broadcast(rng: random.Random, shape: Shape) -> Move:
    fresh = [rng.randrange(4) for _ in range(rng.randrange(3))]
    return Broadcast([*fresh, *(rng.randrange(4) if extent == 1 else extent for extent in shape)])


def _draw_permute(rng: random.Random, shape: Shape) -> Move:
    return Permute(rng.sample(range(len(shape)), len(shape)))


def _draw_slice(rng: random.Random, shape: Shape) -> Move:
    return Slice(*(_draw_range(rng, extent) for extent in shape))


def _draw_range(rng: random.Random, extent: int) -> Range:
    step = rng.choice((-3, -2, -1, 1, 2, 3))
    if extent == 0 or rng.random() < 0.1:
        return Range(rng.randint(-9, 9), 0, step)
    start = rng.randrange(extent)
    room = (extent - 1 - start) // step if step > 0 else start // -step
    return Range(start, rng.randint(0, room + 1), step)


def _draw_window(rng: random.Random, shape: Shape) -> Move:
    axes = [axis for axis, extent in enumerate(shape) if extent > 0 and rng.random() < 0.6]
    return Window(*(_draw_window_axis(rng, axis, shape[axis]) for axis in axes[:8]))


def _draw_window_axis(rng: random.Random, axis: int, extent: int) -> WindowAxis:
    dilation = rng.randint(1, 3)
    return WindowAxis(axis, rng.randint(1, (extent - 1) // dilation + 1), rng.randint(1, 3), dilation)


_DRAWS: Final[tuple[Callable[[random.Random, Shape], Move], ...]] = (
    _draw_reshape, _draw_reshape, _draw_broadcast, _draw_permute, _draw_slice, _draw_window,
)  # fmt: skip

# --- overlap ---------------------------------------------------------------------------------------------------------


def _overlap(pair: Pair) -> bool:
    memory = np.zeros(pair.nbytes + 16, np.uint8)
    one, two = (_operand(memory, operand) for operand in (pair.one, pair.two))
    try:
        return bool(np.shares_memory(one, two, max_work=_MAX_WORK))  # type: ignore[arg-type]  # the stub knows 0 and -1
    except np.exceptions.TooHardError:
        raise Undecided from None


def _operand(memory: np.ndarray[Any, Any], operand: Operand) -> np.ndarray[Any, Any]:
    places, width = operand.places, operand.dtype.bits // 8
    strides = [0 if d <= 1 else width * s for d, s in zip(places.shape, places.strides, strict=True)]
    first = operand.start + places.offset * width if 0 not in places.shape else 0
    return np.ndarray(places.shape, _FORMATS[operand.dtype.bits], memory.data, first, strides)


_WHOLE_BYTES: Final = tuple(dtype for dtype in Dtype.all if dtype.bits >= 8)

TOPICS: Final = (
    Topic(
        ORACLE, "span", ("layouts/span", "layouts/canonical"), 2000,
        draw=lambda rng: _layouts(rng, 2000),
        opinion=_span,
        answer=lambda half, places: places.on(half).span,
    ),
    Topic(
        ORACLE, "distinct", ("layouts/distinct", "door/repeated-elements"), 2000,
        draw=lambda rng: _layouts(rng, 2000),
        opinion=_distinct,
        answer=lambda half, places: places.on(half).is_distinct,
    ),
    Topic(
        ORACLE, "contiguous", ("layouts/contiguous",), 2000,
        draw=lambda rng: _layouts(rng, 2000),
        opinion=_contiguous,
        answer=lambda half, places: places.on(half).is_contiguous,
    ),
    Topic(
        ORACLE, "moves", ("moves/keeps-elements", "moves/reshape-none"), 3000,
        draw=lambda rng: _moves(rng, 3000),
        opinion=_moved,
        answer=_half_moved,
    ),
    Topic(
        ORACLE, "overlap", ("door/overlapping",), 1900,
        draw=lambda rng: pairs(rng, 2000, _WHOLE_BYTES),
        opinion=_overlap,
        answer=overlapping,
    ),
)  # fmt: skip
