"""Moves against numpy, against an independent model of what each admits, and at the ends of the integers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import fitting_moves, refusal, shapes

import counterfoil_reference as cf
from counterfoil_reference.moves import source_index

MOST = 2**53
WORD = 2**62
Shape = tuple[int, ...]


def by_numpy(move: cf.Move, x: np.ndarray) -> np.ndarray:
    """The move on an array whose elements are their C-order numbers."""
    match move:
        case cf.Reshape():
            return x.reshape(move.shape)
        case cf.Broadcast():
            return np.broadcast_to(x, move.shape)
        case cf.Permute():
            return x.transpose(move.axes)
        case cf.Slice():
            return x[np.ix_(*([r.start + k * r.step for k in range(r.count)] for r in move.ranges))] if x.ndim else x
    for window in move.axes:
        seen = np.lib.stride_tricks.sliding_window_view(x, (window.size - 1) * window.dilation + 1, window.axis)
        x = seen.take(range(0, seen.shape[window.axis], window.step), window.axis)[..., :: window.dilation]
    return x


@given(st.data())
def test_moves_give_what_numpy_gives(data: st.DataObject) -> None:
    """Shape and elements of every move are numpy's."""
    shape = data.draw(shapes())
    move = data.draw(fitting_moves(shape))
    expected = by_numpy(move, np.arange(math.prod(shape)).reshape(shape))
    assert cf.move_shape(move, shape) == expected.shape
    for index in np.ndindex(*expected.shape):
        source = source_index(move, shape, index)
        assert sum(i * math.prod(shape[k + 1 :]) for k, i in enumerate(source)) == expected[index]


small = st.integers(-2, 5)


def any_move(rank: int) -> st.SearchStrategy[cf.Move]:
    """Moves of small entries, most of which do not fit."""
    few = st.lists(small, max_size=4)
    ranges = st.builds(cf.Range, small, small, st.integers(-2, 2))
    windows = st.builds(cf.WindowAxis, st.integers(-1, 4), st.integers(0, 4), st.integers(0, 2), st.integers(0, 2))
    return st.one_of(
        st.builds(cf.Reshape, few),
        st.builds(cf.Broadcast, few),
        st.builds(cf.Permute, st.lists(st.integers(-1, 3), min_size=max(rank - 1, 0), max_size=rank + 1)),
        st.lists(ranges, min_size=max(rank - 1, 0), max_size=rank + 1).map(lambda found: cf.Slice(*found)),
        st.lists(windows, max_size=2).map(lambda found: cf.Window(*found)),
    )


def admits(move: cf.Move, shape: Shape) -> bool:
    """Whether the move fits the shape, said another way than the reference says it."""
    match move:
        case cf.Reshape():
            return min(move.shape, default=0) >= 0 and math.prod(move.shape) == math.prod(shape)
        case cf.Broadcast():
            if min(move.shape, default=0) < 0 or len(move.shape) < len(shape):
                return False
            tail = move.shape[len(move.shape) - len(shape) :]
            return all(d == 1 or d == t for d, t in zip(shape, tail, strict=True))
        case cf.Permute():
            return sorted(move.axes) == list(range(len(shape)))
        case cf.Slice():
            return len(move.ranges) == len(shape) and all(map(range_fits, move.ranges, shape))
    axes = [window.axis for window in move.axes]
    if axes != sorted(set(axes)) or not set(axes) <= set(range(len(shape))):
        return False
    return all(window_fits(window, shape[window.axis]) for window in move.axes)


def range_fits(taken: cf.Range, extent: int) -> bool:
    """Whether every index of the range is one of the axis."""
    indices = [taken.start + k * taken.step for k in range(taken.count)]
    return taken.step != 0 and taken.count >= 0 and set(indices) <= set(range(extent))


def window_fits(window: cf.WindowAxis, extent: int) -> bool:
    """Whether the first window lies inside the axis."""
    if window.size < 1 or window.step < 1 or window.dilation < 1:
        return False
    return {k * window.dilation for k in range(window.size)} <= set(range(extent))


@given(st.data())
def test_a_move_is_refused_iff_it_does_not_fit(data: st.DataObject) -> None:
    """move_shape refuses exactly the moves that the independent model refuses, by a rule of layouts or moves."""
    shape = data.draw(shapes(3))
    move = data.draw(any_move(len(shape)))
    if admits(move, shape):
        cf.move_shape(move, shape)
        return
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.move_shape(move, shape)
    assert caught.value.rule.split("/")[0] in ("moves", "layouts")


W = cf.WindowAxis
R = cf.Range

ACCEPTED: list[tuple[cf.Move, list[int], Shape]] = [
    (cf.Window(W(1, 3, 2, 2)), [2, 11, 4], (2, 4, 4, 3)),
    (cf.Window(W(0, 3, 1, 2)), [5], (1, 3)),
    (cf.Window(W(0, 1, WORD)), [3], (1, 1)),
    (cf.Window(W(0, 2)), [2] + [1] * 30, (1, *[1] * 30, 2)),
    (cf.Slice(R(100, 0, -7)), [3], (0,)),
    (cf.Slice(R(2, 1, -WORD)), [4], (1,)),
    (cf.Slice(R(0, 2, 3)), [4], (2,)),
    (cf.Reshape([1] * 32), [1], (1,) * 32),
    (cf.Reshape([MOST // 2, 2]), [MOST], (MOST // 2, 2)),
    (cf.Reshape([MOST // 2, 2, 0]), [0], (MOST // 2, 2, 0)),
    (cf.Broadcast([0, 3]), [1, 3], (0, 3)),
    (cf.Broadcast([MOST // 2, 2]), [1, 2], (MOST // 2, 2)),
    (cf.Permute([]), [], ()),
    (cf.Window(), [4], (4,)),
]

REFUSED: list[tuple[str, cf.Move, list[int]]] = [
    ("moves/window-fit", cf.Window(W(0, 3, 1, 2)), [4]),
    ("moves/window-fit", cf.Window(W(0, 3, 1, WORD)), [3]),
    ("moves/window-fit", cf.Window(W(0, 1)), [0]),
    ("layouts/rank", cf.Window(W(0, 1)), [1] * 32),
    ("moves/window-axis", cf.Window(W(1, 1)), [3]),
    ("moves/window-axis", cf.Window(W(-1, 1)), [3]),
    ("moves/window-order", cf.Window(W(1, 1), W(0, 0)), [3, 3]),
    ("moves/window-order", cf.Window(W(0, 1), W(0, 1)), [3, 3]),
    ("moves/window-size", cf.Window(W(0, 0, 0, 0)), [3]),
    ("moves/window-step", cf.Window(W(0, 1, 0, 0)), [3]),
    ("moves/window-dilation", cf.Window(W(0, 1, 1, 0)), [3]),
    ("moves/slice-last", cf.Slice(R(1, 2, WORD)), [4]),
    ("moves/slice-last", cf.Slice(R(3, 2, -WORD)), [4]),
    ("moves/slice-start", cf.Slice(R(4, 1)), [4]),
    ("moves/slice-start", cf.Slice(R(-1, 1)), [4]),
    ("moves/slice-count", cf.Slice(R(9, -1)), [4]),
    ("moves/slice-step", cf.Slice(R(9, -1, 0)), [4]),
    ("moves/slice-step", cf.Slice(R(0, 0, 0)), [4]),
    ("moves/slice-step", cf.Slice(R(0, 1, 0), R(9, 1)), [4, 4]),
    ("moves/slice-ranges", cf.Slice(R(0, 1)), [4, 4]),
    ("layouts/rank", cf.Reshape([1] * 33), [1]),
    ("moves/reshape-count", cf.Reshape([3]), [0]),
    ("layouts/negative-extent", cf.Reshape([-2, -3]), [6]),
    ("layouts/too-many-elements", cf.Reshape([MOST // 2 + 1, 2, 0]), [0]),
    ("layouts/too-many-elements", cf.Broadcast([MOST // 2 + 1, 2]), [1, 2]),
    ("moves/broadcast-rank", cf.Broadcast([3]), [1, 3]),
    ("moves/broadcast-extent", cf.Broadcast([4, 5]), [4, 4]),
    ("layouts/too-many-elements", cf.Slice(R(0, 0), R(0, 1), R(0, 1)), [0, 2**27, 2**27]),
    ("layouts/rank", cf.Permute(range(33)), [1] * 33),
    ("layouts/rank", cf.Permute(range(64)), [1] * 64),
    ("moves/permute-length", cf.Permute([0]), [2, 3]),
    ("moves/permute-axis", cf.Permute([0, 2]), [2, 3]),
    ("moves/permute-axis", cf.Permute([-1, 0]), [2, 3]),
    ("moves/permute-repeat", cf.Permute([1, 1]), [2, 3]),
]


@pytest.mark.parametrize(("move", "shape", "result"), ACCEPTED)
def test_moves_at_the_ends_of_their_ranges(move: cf.Move, shape: list[int], result: Shape) -> None:
    """Entries as large as they can be are accepted."""
    assert cf.move_shape(move, shape) == result
    layout = cf.Layout.contiguous(shape).move(move)
    assert layout is not None and layout.shape == result


@pytest.mark.parametrize(("rule", "move", "shape"), REFUSED)
def test_moves_past_the_ends(rule: str, move: cf.Move, shape: list[int]) -> None:
    """Each fault is refused by its own rule, the first in the order of the entries."""
    refusal(rule, lambda: cf.move_shape(move, shape))


def test_refusals_name_what_they_are_about() -> None:
    """Axes, entries, extents and ranges are named as the caller counts them."""
    refusal(
        "moves/broadcast-extent", lambda: cf.move_shape(cf.Broadcast([2, 4, 5]), [4, 4]),
        axis=1, extent=4, target=(2, 4, 5),
    )  # fmt: skip
    refusal("moves/permute-repeat", lambda: cf.move_shape(cf.Permute([1, 0, 1]), [2] * 3), entry=2, axis=1)
    refusal("moves/permute-axis", lambda: cf.move_shape(cf.Permute([0, 3]), [2] * 2), entry=1, axis=3, rank=2)
    refusal("moves/window-order", lambda: cf.move_shape(cf.Window(W(1, 1), W(0, 1)), [2] * 2), entry=1, previous=1)
    refusal("moves/slice-last", lambda: cf.move_shape(cf.Slice(R(1, 4, 2)), [7]), start=1, count=4, step=2, extent=7)
    refusal("layouts/negative-extent", lambda: cf.move_shape(cf.Permute([0]), [-1]), axis=0, extent=-1)


@pytest.mark.parametrize(
    ("make", "entries"),
    [(cf.Reshape, [2, 3]), (cf.Broadcast, [2, 3]), (cf.Permute, [0, 1])],
)
def test_a_move_keeps_its_own_entries(make: Callable[[list[int]], cf.Move], entries: list[int]) -> None:
    """Changing the caller's list after the move was made changes nothing."""
    move = make(entries)
    before = cf.move_shape(move, [2, 3])
    entries[0] = 1000000
    assert cf.move_shape(move, [2, 3]) == before


def test_a_move_is_one_of_the_five() -> None:
    """Another object is refused by name, before the shape is looked at."""
    refusal("arguments/wrong-type", lambda: cf.move_shape([2, 3], "x"), argument="move")  # type: ignore[arg-type]
    layout = cf.Layout.contiguous([2])
    refusal("arguments/wrong-type", lambda: layout.move(None), argument="move")  # type: ignore[arg-type]
