"""Contracts of where bits lie: elements in their bytes, and the axes that ``to_device`` compacts."""

from __future__ import annotations

from types import SimpleNamespace

from tests.contracts.quiet import quieten

from counterfoil_reference import layouts, moves
from counterfoil_reference.elements import place
from counterfoil_reference.layouts import Layout
from counterfoil_reference.placement import compacted
from counterfoil_reference.reach import nests, position_set

quieten(layouts)
quieten(moves)


def elements_lie_in_their_bytes(log_bits: int, first: int, position: int) -> None:
    """An element's bits are those counted from the buffer's first byte, and its bytes hold them all, none too many."""
    assert 0 <= log_bits <= 7 and 0 <= first <= 99 and 0 <= position <= 99
    bits = 2**log_bits
    array = SimpleNamespace(dtype=SimpleNamespace(bits=bits), buffer=SimpleNamespace(first=first))
    byte, count, low = place(array, position)  # type: ignore[arg-type]
    assert 8 * byte + low == 8 * first + position * bits
    assert low >= 0 and low + bits <= 8 * count
    assert count == 1 or bits == 8 * count


def sub_byte_neighbours_are_apart(bits: int, position: int, other: int) -> None:
    """Two elements of one byte occupy different bits."""
    assert bits in (1, 2, 4) and 0 <= position < other <= 40
    array = SimpleNamespace(dtype=SimpleNamespace(bits=bits), buffer=SimpleNamespace(first=0))
    byte, _, low = place(array, position)  # type: ignore[arg-type]
    next_byte, _, next_low = place(array, other)  # type: ignore[arg-type]
    assert byte < next_byte or (byte == next_byte and low + bits <= next_low)


def positions_are_those_of_the_indices(a: int, b: int, s: int, t: int, position: int) -> None:
    """A bit is set, counted from the least position, iff some index of the layout lies there."""
    assert 1 <= a <= 3 and b == 2 and -1 <= s <= 1 and 1 <= t <= 2 and 0 <= position <= 4
    least = min(s, 0) * (a - 1) + min(t, 0) * (b - 1)
    found = any(i * s + j * t - least == position for i in range(a) for j in range(b))
    assert (position_set((a, b), (s, t)) >> position & 1 == 1) == found


def compact(a: int, b: int, s: int, t: int) -> Layout:
    """The layout compacted from one of that shape and those strides."""
    source = SimpleNamespace(rank=2, shape=(a, b), strides=(s, t))
    return compacted(source)  # type: ignore[arg-type]


def compacted_axes_fill_the_least_positions(a: int, b: int, s: int, t: int) -> None:
    """The span is as long as one element per index of the axes that move, so there is no gap."""
    assert 2 <= a <= 3 and 2 <= b <= 3 and -2 <= s <= 2 and -2 <= t <= 2
    needed = (a if s != 0 else 1) * (b if t != 0 else 1)
    assert compact(a, b, s, t).span == (0, needed)


def compacted_axes_nest(a: int, b: int, s: int, t: int) -> None:
    """The compacted axes that move nest, so no two elements meet."""
    assert 2 <= a <= 4 and 2 <= b <= 4 and -3 <= s <= 3 and -3 <= t <= 3 and s != 0 and t != 0
    result = compact(a, b, s, t)
    assert nests(result.shape, result.strides)


def compacted_axes_keep_signs_and_order(a: int, b: int, s: int, t: int) -> None:
    """A stride keeps its sign, 0 included; of two that move, the one that was longer stays longer."""
    assert 2 <= a <= 3 and 2 <= b <= 3 and -2 <= s <= 2 and -2 <= t <= 2
    u, v = compact(a, b, s, t).strides
    assert (u > 0) == (s > 0) and (u < 0) == (s < 0)
    assert (v > 0) == (t > 0) and (v < 0) == (t < 0)
    if s != 0 and t != 0:
        assert (abs(u) > abs(v)) == (abs(s) >= abs(t))
