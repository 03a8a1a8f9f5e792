"""cf_layout_is_distinct and the nesting test against the positions themselves (A2)."""

from __future__ import annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.native.core import Strides, layout_of

from counterfoil._native import lib


@st.composite
def layouts(draw: st.DrawFn) -> Strides:
    """Layouts of up to a few hundred elements at strides of any sign."""
    rank = draw(st.integers(0, 5))
    shape = draw(st.tuples(*[st.integers(0, 4) | st.just(3)] * rank))
    most = draw(st.sampled_from((6, 40, 3000)))
    strides = draw(st.tuples(*[st.integers(-most, most)] * rank))
    return Strides(shape, strides, 0).lowest()


@settings(max_examples=400)
@given(layouts())
@example(Strides((3, 3, 2), (6, 10, 15), 0))
@example(Strides((3, 4), (2, 3), 0))
@example(Strides((2, 5), (4, 1), 0))
def test_distinct_is_no_position_twice(layout: Strides) -> None:
    """is_distinct is exactly that all positions differ."""
    positions = list(layout.positions())
    assert bool(lib.cf_layout_is_distinct(layout_of(layout))) == (len(set(positions)) == len(positions))


@settings(max_examples=150)
@given(layouts())
def test_nesting_implies_distinct(layout: Strides) -> None:
    """Where the nesting test says yes, no position is reached twice."""
    assume(lib.cf_layout_nests(layout_of(layout)))
    positions = list(layout.positions())
    assert len(set(positions)) == len(positions)


@settings(max_examples=60)
@given(st.integers(30, 60), st.tuples(st.integers(2000, 9000), st.integers(2000, 9000), st.integers(2000, 9000)))
def test_distinct_over_wide_spans(extent: int, strides: tuple[int, int, int]) -> None:
    """Three axes of large strides, beyond what fits the window on the stack."""
    layout = Strides((extent,) * 3, strides, 0)
    a, b, c = strides
    sums = {a * i + b * j + c * k for i in range(extent) for j in range(extent) for k in range(extent)}
    assert bool(lib.cf_layout_is_distinct(layout_of(layout))) == (len(sums) == extent**3)


def test_above_2_to_the_32_positions_only_nesting_counts() -> None:
    """The strides (6, 10, 15) never collide at [3, 3, 2], but above a span of 2^32 the nesting test alone decides."""
    unit = 2**32 // 12
    assert not lib.cf_layout_is_distinct(layout_of(Strides((3, 3, 2), (6 * unit, 10 * unit, 15 * unit), 0)))
    assert lib.cf_layout_is_distinct(layout_of(Strides((3, 3, 2), (6, 10, 15), 2**40)))
