"""Walks over axes: merged or turned axes reach the same positions."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.cuda.kernels.walks import walk

axes = st.lists(st.tuples(st.integers(1, 4), st.integers(-6, 6), st.integers(-6, 6)), max_size=4)


def places(shape: list[int], strides: list[list[int]], starts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The positions of all operands at every index, in C order."""
    return [
        tuple(
            start + sum(i * s for i, s in zip(index, steps, strict=True))
            for start, steps in zip(starts, strides, strict=True)
        )
        for index in itertools.product(*map(range, shape))
    ]


@given(axes, st.booleans())
def test_a_walk_reaches_the_positions_of_its_operands_together(
    given_axes: list[tuple[int, int, int]], ordered: bool
) -> None:
    """Each pair of positions as often as the layouts do, and in C order where that is asked for."""
    shape = [extent for extent, _, _ in given_axes]
    strides = [[one for _, one, _ in given_axes], [two for _, _, two in given_axes]]
    found = walk(shape, strides, ordered)
    reached = places([axis.extent for axis in found.axes],
                     [[axis.strides[k] for axis in found.axes] for k in (0, 1)], found.starts)  # fmt: skip
    expected = places(shape, strides, (0, 0))
    assert (reached == expected) if ordered else (Counter(reached) == Counter(expected))


@given(axes)
def test_the_packed_walk_is_as_long_as_its_capacity_says(given_axes: list[tuple[int, int, int]]) -> None:
    """8 bytes, and 40 for each axis there is room for."""
    found = walk([extent for extent, _, _ in given_axes], [[one for _, one, _ in given_axes]] * 2)
    assert len(found.packed()) == 8 + 40 * found.capacity
