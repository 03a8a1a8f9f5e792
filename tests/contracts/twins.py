"""Contracts that do not hold: each is about a mistake of one line, and a checker worth its time finds every one."""

from __future__ import annotations

Shape = tuple[int, ...]


def nests_loosely(shape: Shape, strides: Shape) -> bool:
    """Nesting that lets an axis step onto the last position the smaller ones reach."""
    reached = 0
    for stride, extent in sorted((abs(s), d) for s, d in zip(strides, shape, strict=True) if d > 1):
        if stride < reached:
            return False
        reached += (extent - 1) * stride
    return True


def loose_nesting_is_distinct(a: int, b: int, s: int, t: int, i: int, j: int, k: int, m: int) -> None:
    """The contract of nesting, of the loose one."""
    assert 0 <= i < a <= 4 and 0 <= k < a and 0 <= j < b <= 4 and 0 <= m < b
    if nests_loosely((a, b), (s, t)) and i * s + j * t == k * s + m * t:
        assert (i, j) == (k, m)


def a_hull_of_forward_strides_holds_every_position(a: int, s: int, offset: int, i: int) -> None:
    """A hull that forgets strides below 0."""
    assert 0 <= i < a <= 6
    assert offset <= offset + i * s < offset + (a - 1) * s + 1


def a_range_that_ends_past_its_axis_stays_inside(extent: int, start: int, count: int, step: int, i: int) -> None:
    """The window of a range checked against its end, not its last element."""
    assert 0 <= extent <= 12 and 0 <= i < count <= 12 and step >= 1 and 0 <= start < extent
    if start + (count - 1) * step <= extent:
        assert start + i * step < extent


def one_window_too_few(extent: int, size: int, step: int) -> None:
    """The count of windows without the one that begins at 0."""
    assert 1 <= extent <= 12 and 1 <= size <= extent and 1 <= step <= 12
    count = (extent - size) // step
    assert extent < count * step + size


def elements_counted_by_bytes_lie_in_their_bytes(bits: int, position: int) -> None:
    """The place of an element narrower than a byte as if each had a byte of its own."""
    assert bits in (1, 2, 4, 8) and 0 <= position <= 40
    byte, low = position, 0
    assert 8 * byte + low == position * bits


def half_goes_up(eighths: int) -> None:
    """Rounding that takes every tie upwards is not to even."""
    assert 0 <= eighths <= 48
    code = (eighths + 4) // 8
    off, away = abs(8 * code - eighths), abs(8 * (code - 1) - eighths)
    assert off < away or code % 2 == 0


def wrapping_saturates(number: int) -> None:
    """An integer stored by its low bits, where it should stop at the end of its range."""
    assert number >= 0
    assert number & 0xFF == min(number, 255)
