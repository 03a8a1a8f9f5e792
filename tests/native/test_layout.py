"""Layouts of the core against lists of positions: what is refused, canonical form, span, contiguity, coalescing."""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.native.core import Strides, layout_of, plain

from counterfoil._native import ffi, lib
from counterfoil_spec.rules import registry

RULES = list(registry())
LIMIT = 2**53

POWERS = [2**power + near for power in (0, 1, 26, 52, 53, 62) for near in (-1, 0, 1)]

edges = st.sampled_from([sign * power for power in POWERS for sign in (1, -1)])
numbers = st.integers(-3, 4) | edges


@st.composite
def given_layouts(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Any shape, strides and offset, right or wrong, small or at the ends of what fits."""
    rank = draw(st.integers(0, 4) | st.sampled_from((32, 33)))
    entries = st.lists(numbers if rank < 5 else st.sampled_from((1, 1, 1, 2, 0)), min_size=rank, max_size=rank)
    return draw(entries), draw(st.lists(numbers, min_size=rank, max_size=rank)), draw(numbers)


def expected_rule(shape: list[int], strides: list[int], offset: int) -> str | None:
    """The first rule that exact integers find violated (rules/operations.toml, A7, A14)."""
    if len(shape) > 32:
        return "layouts/rank"
    if min(shape, default=0) < 0:
        return "layouts/negative-extent"
    if prod(extent for extent in shape if extent) > LIMIT:
        return "layouts/too-many-elements"
    if 0 in shape:
        return None
    reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    if offset + sum(reach for reach in reaches if reach < 0) < 0:
        return "layouts/negative-position"
    return "layouts/past-limit" if offset + sum(reach for reach in reaches if reach > 0) >= LIMIT else None


@given(given_layouts())
def test_layouts_are_refused_as_exact_integers_say(entries: tuple[list[int], list[int], int]) -> None:
    """The rule answered is the first one violated, without wrap-around, and the axis is the negative one."""
    shape, strides, offset = entries
    made, where = ffi.new("cf_layout *"), ffi.new("int *")
    rule = lib.cf_layout_make(made, len(shape), shape, strides, offset, where)
    wanted = expected_rule(shape, strides, offset)
    assert (RULES[rule] if rule else None) == wanted
    if wanted == "layouts/negative-extent":
        assert where[0] == next(axis for axis, extent in enumerate(shape) if extent < 0)


@st.composite
def small_layouts(draw: st.DrawFn, shape: tuple[int, ...] | None = None) -> Strides:
    """Layouts of few elements; of the given shape if there is one."""
    if shape is None:
        shape = draw(st.lists(st.integers(0, 4), max_size=4).map(tuple))
    close = st.tuples(*[st.integers(-4, 12)] * len(shape))
    strides = draw(close | st.just(tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))))
    lowest = Strides(shape, strides, 0).lowest()
    return Strides(shape, strides, lowest.offset + draw(st.integers(0, 5)))


@given(small_layouts())
def test_facts_are_those_of_the_positions(layout: Strides) -> None:
    """Size, span, contiguity, and what the flags claim to know of distinctness, by enumeration."""
    made, positions = layout_of(layout), list(layout.positions())
    assert made.size == len(positions)
    assert (made.low, made.high) == ((min(positions), max(positions) + 1) if positions else (0, 0))
    in_order = all(position == positions[0] + k for k, position in enumerate(positions))
    assert bool(made.flags & lib.CF_LAYOUT_CONTIGUOUS) == in_order
    assert bool(made.flags & lib.CF_LAYOUT_EMPTY) == (not positions)
    repeated = len(set(positions)) < len(positions)
    assert not (made.flags & lib.CF_LAYOUT_DISTINCT and repeated)
    assert not (made.flags & lib.CF_LAYOUT_REPEATED and not repeated)


@given(small_layouts(), st.integers(-(2**63), 2**63 - 1))
def test_entries_that_reach_nothing_are_dropped(layout: Strides, wild: int) -> None:
    """Strides of extent-1 axes, and all of an empty layout's, may be anything and read 0 (A14)."""
    empty = 0 in layout.shape
    strides = tuple(wild if empty or extent == 1 else s for extent, s in zip(layout.shape, layout.strides, strict=True))
    made = plain(layout_of(Strides(layout.shape, strides, wild if empty else layout.offset)))
    assert made == plain(layout_of(layout))
    assert all(stride == 0 for extent, stride in zip(made.shape, made.strides, strict=True) if empty or extent == 1)


def merged(layouts: list[Strides]) -> list[Strides]:
    """The core's coalesced layouts, written over the ones given."""
    made: list[Any] = [layout_of(layout) for layout in layouts]
    assert lib.cf_layout_coalesce(len(made), made, made)
    return [plain(layout) for layout in made]


@given(st.data())
def test_coalescing_keeps_every_map_and_merges_all_it_can(data: st.DataObject) -> None:
    """Positions in C order stay, for all layouts; at least one axis is left, and no two neighbours could be merged."""
    first = data.draw(small_layouts())
    layouts = [first, *data.draw(st.lists(small_layouts(first.shape), max_size=3))]
    result = merged(layouts)
    for before, after in zip(layouts, result, strict=True):
        assert list(after.positions()) == list(before.positions())
    shape = result[0].shape
    assert all(layout.shape == shape for layout in result) and len(shape) >= 1
    assert len(shape) == 1 or 1 not in shape
    for axis in range(len(shape) - 1):
        assert any(layout.strides[axis] != layout.strides[axis + 1] * shape[axis + 1] for layout in result)


def test_coalescing_wants_one_shape() -> None:
    """Layouts of two shapes are not coalesced."""
    made = [layout_of(Strides((2, 3), (3, 1), 0)), layout_of(Strides((3, 2), (2, 1), 0))]
    assert not lib.cf_layout_coalesce(2, made, made)
