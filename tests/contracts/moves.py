"""Contracts of the reference's movements: the last element of a range, and the windows that fit."""

from __future__ import annotations

from tests.contracts.quiet import Refused, quieten

from counterfoil_reference import moves
from counterfoil_reference.moves import move_shape, source_index
from counterfoil_spec.moves import Broadcast, Permute, Range, Slice, Window, WindowAxis

quieten(moves)


def refuses(move: Slice | Window, extent: int) -> str | None:
    """The rule by which a move of one axis is refused, None if it is not."""
    try:
        move_shape(move, (extent,))
    except Refused as refusal:
        return refusal.rule
    return None


def a_range_accepted_stays_inside(extent: int, start: int, count: int, step: int, i: int) -> None:
    """Every index of a range accepted reads an element of the axis."""
    assert 0 <= extent <= 12 and 0 <= i < count <= 12
    taken = Slice(Range(start, count, step))
    if refuses(taken, extent) is None:
        (source,) = source_index(taken, (extent,), (i,))
        assert 0 <= source < extent


def a_range_refused_leaves_the_axis(extent: int, start: int, count: int, step: int) -> None:
    """A range with an element is refused for its last element only where that lies outside."""
    assert 0 <= extent <= 12 and 1 <= count <= 12 and step != 0
    rule = refuses(Slice(Range(start, count, step)), extent)
    inside = 0 <= start < extent and 0 <= start + (count - 1) * step < extent
    assert (rule is None) == inside
    assert rule in (None, "moves/slice-start", "moves/slice-last")


def an_empty_range_may_start_anywhere(extent: int, start: int, step: int) -> None:
    """With count 0 only a step of 0 is refused."""
    assert 0 <= extent <= 12
    rule = refuses(Slice(Range(start, 0, step)), extent)
    assert rule == ("moves/slice-step" if step == 0 else None)


def windows_fit_and_no_more_would(extent: int, size: int, step: int, dilation: int) -> None:
    """The last window's last element lies inside, and that of one window more would not."""
    assert 1 <= extent <= 12 and 1 <= size <= 5 and 1 <= step <= 12 and 1 <= dilation <= 12
    window = Window(WindowAxis(0, size, step, dilation))
    wide = dilation * (size - 1)
    rule = refuses(window, extent)
    assert (rule is None) == (wide < extent)
    if rule is None:
        count, appended = move_shape(window, (extent,))
        assert appended == size and count >= 1
        assert (count - 1) * step + wide < extent <= count * step + wide


def windows_are_named_in_order(first: int, second: int) -> None:
    """Two windows are accepted iff they name two axes in increasing order."""
    assert -2 <= first <= 3 and -2 <= second <= 3
    try:
        move_shape(Window(WindowAxis(first, 1), WindowAxis(second, 1)), (2, 2))
        accepted = True
    except Refused:
        accepted = False
    assert accepted == (0 <= first < second < 2)


def permuting_back_is_the_identity(p: int, q: int, r: int, i: int, j: int, k: int) -> None:
    """Index ``axes[n]`` of the argument is index ``n`` of the result."""
    assert sorted((p, q, r)) == [0, 1, 2]
    found = source_index(Permute((p, q, r)), (9, 9, 9), (i, j, k))
    assert (found[p], found[q], found[r]) == (i, j, k)


def broadcasting_reads_axes_of_extent_one_at_zero(extent: int, target: int, i: int) -> None:
    """An axis broadcasts iff it has the target's extent or 1; then it is read at the index, or at 0."""
    assert 0 <= extent <= 5 and 0 <= target <= 5 and 0 <= i < max(target, 1)
    try:
        move_shape(Broadcast((target,)), (extent,))
    except Refused as refusal:
        assert refusal.rule == "moves/broadcast-extent" and extent not in (1, target)
        return
    assert extent in (1, target)
    assert source_index(Broadcast((target,)), (extent,), (i,)) == ((0,) if extent == 1 else (i,))
