"""Contracts of the reference's layouts: strides, span, merging, and distinctness by nesting.

Each function's first assert says for which arguments it holds; the others say what the reference then does.
"""

from __future__ import annotations

from counterfoil_reference.layouts import c_strides, canonical, hull, same_walk
from counterfoil_reference.moves import ravel, unravel
from counterfoil_reference.reach import nests, shifts, width


def c_strides_step_past_what_follows(a: int, b: int, c: int) -> None:
    """A step along an axis passes all that the axes after it reach, and the last steps by one."""
    assert 1 <= a <= 9 and 1 <= b <= 9 and 1 <= c <= 9
    outer, inner, last = c_strides((a, b, c))
    assert last == 1
    assert inner == (c - 1) * last + 1
    assert outer == (b - 1) * inner + (c - 1) * last + 1


def canonical_is_idempotent(a: int, b: int, s: int, t: int, offset: int) -> None:
    """Canonical strides and offset are canonical already."""
    assert a >= 0 and b >= 0
    strides, start = canonical((a, b), (s, t), offset)
    assert canonical((a, b), strides, start) == (strides, start)


def canonical_keeps_every_position(a: int, b: int, s: int, t: int, offset: int, i: int, j: int) -> None:
    """What canonical form drops moved no index."""
    assert 0 <= i < a and 0 <= j < b and a <= 4 and b <= 4
    (u, v), start = canonical((a, b), (s, t), offset)
    assert start + i * u + j * v == offset + i * s + j * t


def hull_holds_every_position(a: int, s: int, offset: int, i: int) -> None:
    """Every position of one axis lies in the hull, whatever the sign of the stride."""
    assert 0 <= i < a and a <= 6
    low, high = hull((a,), (s,), offset)
    assert low <= offset + i * s < high


def hull_ends_are_reached(a: int, b: int, s: int, t: int, offset: int) -> None:
    """The least and the greatest position of the hull are those of two corners."""
    assert 1 <= a <= 6 and 1 <= b <= 6
    low, high = hull((a, b), (s, t), offset)
    corners = [offset + i * s + j * t for i in (0, a - 1) for j in (0, b - 1)]
    assert low in corners and high - 1 in corners


def hull_is_as_wide_as_width(a: int, b: int, s: int, t: int, offset: int) -> None:
    """The number of positions from end to end depends on no offset and no sign."""
    assert 1 <= a <= 6 and 1 <= b <= 6
    low, high = hull((a, b), (s, t), offset)
    assert high - low == width((a, b), (s, t)) == width((a, b), (-s, t))


def nesting_is_distinct(a: int, b: int, s: int, t: int, i: int, j: int, k: int, m: int) -> None:
    """Two indices of a nesting layout that lie at one position are one index."""
    assert 0 <= i < a <= 4 and 0 <= k < a and 0 <= j < b <= 4 and 0 <= m < b
    if nests((a, b), (s, t)) and i * s + j * t == k * s + m * t:
        assert (i, j) == (k, m)


def nesting_knows_no_order(a: int, b: int, s: int, t: int) -> None:
    """Nesting does not depend on the order of the axes, nor on signs."""
    assert a >= 0 and b >= 0
    assert nests((a, b), (s, t)) == nests((b, a), (t, s)) == nests((a, b), (-s, t))


def merged_axes_walk_alike(a: int, b: int, s: int) -> None:
    """Two axes of which one steps past the other are one axis; with any other stride they are not."""
    assert 2 <= a <= 5 and 2 <= b <= 5
    assert same_walk((a, b), (s * b, s), (a * b,), (s,))
    assert not same_walk((a, b), (s * b + 1, s), (a * b,), (s,))


def ravel_counts_in_c_order(a: int, b: int, i: int, j: int) -> None:
    """An index's number leads back to the index, and lies below the number of indices."""
    assert 0 <= i < a <= 5 and 0 <= j < b <= 5
    number = ravel((i, j), (a, b))
    assert 0 <= number < a * b
    assert unravel(number, (a, b)) == (i, j)


def shifts_are_the_union(count: int, stride: int, position: int) -> None:
    """A bit is set in the union of shifts iff it lies at a multiple of the stride below the count."""
    assert 1 <= count <= 4 and 0 <= stride <= 3 and 0 <= position <= 10
    reached = shifts(1, count, stride) >> position & 1
    assert (reached == 1) == any(position == k * stride for k in range(count))
