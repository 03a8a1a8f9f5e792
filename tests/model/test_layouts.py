"""Layouts against brute force over their indices."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import all_of, factorings, fitting_moves, layouts, positions, refusal, shapes

import counterfoil_reference as cf
from counterfoil_reference import reach
from counterfoil_reference.layouts import Layout
from counterfoil_reference.moves import source_index

HUGE = 10**30


@given(layouts())
def test_span_is_the_hull_of_the_positions(layout: Layout) -> None:
    """layouts/span: both ends of the span are reached; (0, 0) without an element."""
    found = positions(layout)
    assert layout.span == ((min(found), max(found) + 1) if found else (0, 0))
    assert layout.positions() == found
    assert layout.size == len(found)


@given(layouts())
def test_contiguous_iff_c_order_is_consecutive(layout: Layout) -> None:
    """layouts/contiguous: element k in C order lies at offset + k."""
    consecutive = positions(layout) == [layout.offset + k for k in range(layout.size)]
    assert layout.is_contiguous == consecutive


@given(layouts(reach=40))
def test_distinct_iff_no_position_is_reached_twice(layout: Layout) -> None:
    """layouts/distinct: as many positions as indices (A2)."""
    found = positions(layout)
    assert layout.is_distinct == (len(set(found)) == len(found))


@given(layouts())
def test_nesting_is_enough_for_distinctness(layout: Layout) -> None:
    """A2: a layout whose axes nest reaches no position twice."""
    found = positions(layout)
    if reach.nests(layout.shape, layout.strides) and found:
        assert len(set(found)) == len(found)


@given(layouts())
def test_the_set_of_positions_is_what_the_indices_reach(layout: Layout) -> None:
    """The set of bits built axis by axis holds the positions, counted from the least."""
    if layout.size:
        expected = sum(1 << position - layout.span[0] for position in set(positions(layout)))
        assert reach.position_set(layout.shape, layout.strides) == expected


@pytest.mark.parametrize(
    ("shape", "strides", "distinct"),
    [
        ([3, 4], [2, 3], True), ([3, 4], [3, 2], False), ([2, 2], [2, 3], True), ([3, 2], [2, 2], False),
        ([2, 5], [4, 1], False),
        ([2, 2], [-2, 1], True), ([1], [0], True), ([3, 3, 2], [6, 10, 15], True), ([4, 3], [1, 1], False),
        ([4, 2], [2, 1], True), ([1, 4], [0, 1], True), ([0, 5], [0, 0], True), ([2], [0], False),
        ([3, 3, 2], [6 << 20, -(10 << 20), 15 << 20], True),  # far apart: one by one
        ([2, 1_500_000], [2, 3], True), ([4, 1_500_000], [2, 3], False),  # many: as a set of bits
        ([2**20, 2**20], [1, 2**19], False),  # more indices than positions
        ([3, 3, 2], [6 << 30, 10 << 30, 15 << 30], False),  # above 2^32 positions only nesting counts
        ([2, 2], [2**40, 1], True), ([2**30, 2**3], [2**3, 1], True),
    ],
)  # fmt: skip
def test_distinct_vectors(shape: list[int], strides: list[int], distinct: bool) -> None:
    """Known layouts, from the smallest to spans past 2^32."""
    lowest = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True) if stride < 0)
    assert cf.Layout(shape, strides, -lowest).is_distinct == distinct


def test_exact_distinctness_ends_at_two_to_the_32() -> None:
    """A2: a layout that does not nest yet never collides is distinct at a span of 2^32 and not one past it."""
    inner = 2**31 - 1
    assert cf.Layout([2, 2, 2], [1, inner, inner + 1], 0).is_distinct is False  # a real collision
    within = cf.Layout([3, 2], [2**31 - 1 - 2**30, 2**32 - 1 - 2 * (2**31 - 1 - 2**30)], 0)
    assert within.span[1] == 2**32 and within.is_distinct
    beyond = cf.Layout([3, 2], [2**31 - 2**30, 2**32 - 2 * (2**31 - 2**30)], 0)
    assert beyond.span[1] == 2**32 + 1 and not reach.nests(beyond.shape, beyond.strides) and not beyond.is_distinct


@given(layouts(), st.data())
def test_unused_strides_and_offsets_are_dropped(layout: Layout, data: st.DataObject) -> None:
    """A14: strides of extent-1 axes, and everything of an empty layout, may be anything and read 0."""
    anything = st.sampled_from([-HUGE, -1, 0, 1, HUGE])
    strides = [data.draw(anything) if d == 1 or not layout.size else s for d, s in zip(
        layout.shape, layout.strides, strict=True)]  # fmt: skip
    offset = layout.offset if layout.size else data.draw(anything)
    again = cf.Layout(layout.shape, strides, offset)
    assert again == layout and hash(again) == hash(layout)
    unused = [s for d, s in zip(again.shape, again.strides, strict=True) if d == 1 or not again.size]
    assert not any(unused) and (again.size or again.offset == 0)


@given(layouts(), layouts())
def test_equal_iff_the_same_map(one: Layout, other: Layout) -> None:
    """Layouts are equal iff they have one shape and place every index alike."""
    assert (one == other) == (one.shape == other.shape and positions(one) == positions(other))


def test_shapes_without_an_element_differ_by_shape() -> None:
    """[1] and [], and [0, 2] and [2, 0], are different layouts."""
    assert cf.Layout.contiguous([1]) != cf.Layout.contiguous([])
    assert cf.Layout.contiguous([0, 2]) != cf.Layout.contiguous([2, 0])


@given(shapes())
def test_contiguous_layouts_count_up(shape: tuple[int, ...]) -> None:
    """Layout.contiguous places element k in C order at k."""
    layout = cf.Layout.contiguous(shape)
    assert positions(layout) == list(range(math.prod(shape))) and layout.is_contiguous


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "rule"),
    [
        ([1] * 33, [0], 0, "layouts/rank"),
        ([-1], [], 0, "layouts/strides-count"),
        ([2, -1], [0, 0], 0, "layouts/negative-extent"),
        ([0, 2**54], [0, 0], 0, "layouts/too-many-elements"),
        ([2**27, 2**27], [0, 0], 0, "layouts/too-many-elements"),
        ([4], [-3], 8, "layouts/negative-position"),
        ([1], [5], -1, "layouts/negative-position"),
        ([2, 2], [-HUGE, HUGE], 0, "layouts/negative-position"),
        ([5], [2**62], 0, "layouts/past-limit"),
        ([5], [2], 2**63 - 10, "layouts/past-limit"),
        ([1], [0], 2**53, "layouts/past-limit"),
        ([2.0], [1], 0, "arguments/not-integer"),
        ([2], [True], 0, "arguments/not-integer"),
        ([2], [1], None, "arguments/not-integer"),
        (2, [1], 0, "arguments/wrong-type"),
        ("22", [1, 1], 0, "arguments/wrong-type"),
    ],
)
def test_what_no_layout_is(shape: object, strides: object, offset: object, rule: str) -> None:
    """Each fact of a layout that is wrong is refused by its own rule."""
    refusal(rule, lambda: cf.Layout(shape, strides, offset))  # type: ignore[arg-type]


def test_limits_are_reached_and_not_passed() -> None:
    """A7: rank 32, 2^53 elements and the position 2^53 - 1 are accepted."""
    assert cf.Layout.contiguous([1] * 32).rank == 32
    assert cf.Layout.contiguous([2**53]).span == (0, 2**53)
    assert cf.Layout([2], [-(2**53 - 1)], 2**53 - 1).span == (0, 2**53)
    assert cf.Layout([0, 2**53], [0, 0]).size == 0
    assert cf.Layout([3], [-3], 6).span == (0, 7)


@given(st.data())
def test_a_move_reads_the_elements_its_map_names(data: st.DataObject) -> None:
    """moves/keeps-elements: result index i lies where the argument's index by the move's map does."""
    layout = data.draw(layouts())
    move = data.draw(fitting_moves(layout.shape))
    moved = layout.move(move)
    if moved is None:
        assert isinstance(move, cf.Reshape)
        return
    assert moved.shape == cf.move_shape(move, layout.shape)
    named = [layout.position(source_index(move, layout.shape, index)) for index in all_of(moved)]
    assert positions(moved) == named


@given(layouts(), st.data())
def test_a_reshape_is_none_iff_no_strides_express_it(layout: Layout, data: st.DataObject) -> None:
    """moves/reshape-none: brute force over the only strides that could express it."""
    target = data.draw(st.sampled_from(factorings(layout.size)))
    walk = positions(layout)
    moved = layout.move(cf.Reshape(target))
    steps = [walk[math.prod(target[k + 1 :])] - walk[0] if d > 1 and walk else 0 for k, d in enumerate(target)]
    walked = [sum(i * s for i, s in zip(index, steps, strict=True)) for index in all_of(cf.Layout.contiguous(target))]
    expressible = [position - walk[0] for position in walk] == walked if walk else True
    assert (moved is not None) == expressible
    assert moved is None or positions(moved) == walk


@pytest.mark.parametrize(
    ("shape", "strides", "target", "expected"),
    [
        ([2, 3], [3, 1], [3, 2], (2, 1)), ([3, 2], [1, 3], [6], None), ([4, 8], [0, 0], [2, 16], (0, 0)),
        ([2, 3], [10, 1], [6], None), ([2, 3], [10, 1], [2, 3, 1], (10, 1, 0)), ([1, 1], [0, 0], [1], (0,)),
        ([2**26, 2**26], [2**26, 1], [2**52], (1,)), ([2**26, 2**26], [1, 2**26], [2**52], None),
        ([2, 3], [3, -1], [6], None), ([2, 3], [-3, -1], [6], (-1,)),
    ],
)  # fmt: skip
def test_reshape_vectors(
    shape: list[int], strides: list[int], target: list[int], expected: tuple[int, ...] | None
) -> None:
    """Known reshapes, of layouts far too large to enumerate too."""
    lowest = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True) if stride < 0)
    moved = cf.Layout(shape, strides, 91 - lowest).move(cf.Reshape(target))
    assert (None if moved is None else moved.strides) == expected
    assert moved is None or moved.offset == 91 - lowest


@given(st.data())
def test_coalesced_layouts_walk_the_same_positions(data: st.DataObject) -> None:
    """layouts/coalesced: C order and positions are kept, extent-1 axes go, and no neighbours are left to merge."""
    shape = data.draw(shapes())
    given_layouts = [data.draw(layouts(shape, reach=3)) for _ in range(data.draw(st.integers(1, 3)))]
    merged = cf.coalesce(given_layouts)
    extents = merged[0].shape
    assert [positions(layout) for layout in merged] == [positions(layout) for layout in given_layouts]
    assert all(layout.shape == extents for layout in merged) and len(extents) >= 1
    assert len(extents) == 1 or 1 not in extents
    for axis in range(1, len(extents)):
        assert any(m.strides[axis - 1] != m.strides[axis] * extents[axis] for m in merged)


def test_coalesce_leaves_one_axis() -> None:
    """A scalar becomes extent 1, an empty layout extent 0, both at stride 0."""
    assert cf.coalesce([cf.Layout([], [], 4)]) == [cf.Layout([1], [0], 4)]
    assert cf.coalesce([cf.Layout.contiguous([2, 0, 3])]) == [cf.Layout([0], [0], 0)]
    assert cf.coalesce([cf.Layout.contiguous([2, 3])] * 2) == [cf.Layout([6], [1])] * 2


def test_coalesce_takes_layouts_of_one_shape() -> None:
    """No layout, layouts of two shapes and other objects are refused."""
    two, three = cf.Layout.contiguous([2]), cf.Layout.contiguous([3])
    refusal("layouts/coalesce-count", lambda: cf.coalesce([]), layouts=0)
    refusal("layouts/coalesce-shapes", lambda: cf.coalesce([two, two, three]), first=(2,), other=(3,))
    refusal("arguments/wrong-type", lambda: cf.coalesce([two, None]))  # type: ignore[list-item]
    refusal("arguments/wrong-type", lambda: cf.coalesce(7))  # type: ignore[arg-type]


def test_a_layout_does_not_change() -> None:
    """Layouts are immutable, and keep their own copy of what they were given."""
    shape, strides = [2, 3], [3, 1]
    layout = cf.Layout(shape, strides)
    shape[0], strides[0] = 1000000, 7
    assert layout == cf.Layout.contiguous([2, 3])
    with pytest.raises(AttributeError):
        layout.offset = 3  # type: ignore[misc]
