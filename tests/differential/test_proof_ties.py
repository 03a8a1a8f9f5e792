"""The theorems tied to both halves: what is proved of formulas holds of the code that ships.

Each test names the theorem it ties. What a theorem says is computed here from its statement, by enumeration or with
exact integers, and never by a half.
"""

from __future__ import annotations

import importlib
import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from counterfoil_spec.dtypes import Dtype, bit, float32, int4, uint8
from counterfoil_spec.moves import Range, Reshape, Slice, Window, WindowAxis
from counterfoil_spec.refusals import Refusal
from counterfoil_spec.theorems import THEOREMS

Shape = tuple[int, ...]

LIMIT: Final = 2**53
EXACT_SPAN: Final = 2**32
POWERS: Final = [2**power + near for power in (0, 1, 31, 53, 63, 64) for near in (-1, 0, 1)]
EDGES: Final = sorted({sign * value for value in (*POWERS, 10**30) for sign in (1, -1)})
"""Integers on either side of where numbers end: 32 and 64 bits, the limit of positions, and far past any word."""
EXTENTS: Final = [value for value in EDGES if 0 <= value <= LIMIT]

TIED: Final = (
    "layouts/nesting-distinct", "layouts/crowded-repeats", "layouts/separable-axis", "arrays/to-device-compact",
    "arrays/to-device-keep", "moves/reshape-none", "moves/reshape-merge", "moves/reshape-split", "bounds/slice-last",
    "bounds/window-count", "bounds/saturated-moves", "bounds/span-answer",
)  # fmt: skip


@pytest.fixture(params=["counterfoil_reference", "counterfoil"])
def half(request: pytest.FixtureRequest) -> Any:
    """Each half."""
    return importlib.import_module(request.param)


def test_the_theorems_tied_here_are_theorems() -> None:
    """Every theorem this module speaks of is one that is proved."""
    assert set(TIED) <= {theorem.id for theorem in THEOREMS}


def rule_of(call: Any, *arguments: Any) -> tuple[str | None, Any]:
    """The rule a call is refused by and None, or None and what it gives."""
    try:
        return None, call(*arguments)
    except Refusal as refusal:
        return refusal.rule, None


def positions(shape: Shape, strides: Shape) -> list[int]:
    """The positions of all indices in C order, counted from that of the first."""
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, shape))]


def lowest(shape: Shape, strides: Shape) -> int:
    """The offset that puts the least position at 0."""
    return sum((d - 1) * -s for d, s in zip(shape, strides, strict=True) if s < 0)


def nests(shape: Shape, strides: Shape) -> bool:
    """layouts/nesting-distinct's hypothesis: by increasing |stride|, each is above the summed reach of those before."""
    axes = sorted((abs(s), d) for d, s in zip(shape, strides, strict=True) if d > 1)
    return all(s > sum((e - 1) * t for t, e in axes[:k]) for k, (s, _) in enumerate(axes))


# --- distinctness -----------------------------------------------------------------------------------------------------


def small_layouts() -> Iterator[tuple[Shape, Shape]]:
    """Every layout of two axes with extents to 4 and strides to 5; three axes with extents and strides to 3."""
    for shape in itertools.product(range(1, 5), repeat=2):
        yield from ((shape, strides) for strides in itertools.product(range(-5, 6), repeat=2))
    for shape in itertools.product(range(2, 4), repeat=3):
        yield from ((shape, strides) for strides in itertools.product((0, 1, 2, 3, 5), repeat=3))


def test_small_layouts_are_distinct_exactly_if_no_two_indices_meet(half: Any) -> None:
    """layouts/nesting-distinct and crowded-repeats: nesting implies is_distinct, which is what enumeration finds."""
    beyond = 0
    for shape, strides in small_layouts():
        found = positions(shape, strides)
        distinct = half.Layout(shape, strides, lowest(shape, strides)).is_distinct
        assert distinct == (len(set(found)) == len(found)), (shape, strides)
        assert distinct or not nests(shape, strides), (shape, strides)
        beyond += distinct and not nests(shape, strides)
    assert beyond >= 100, "too few layouts are distinct without nesting to tell the test from the definition"


def test_wide_layouts_are_distinct_exactly_if_they_nest(half: Any) -> None:
    """Above 2^32 positions nesting is the definition (A2): at it exactly, one below it, and one index more."""
    rng = random.Random(2)
    both = [0, 0]
    for _ in range(2000):
        inner = rng.choice((1, 2, 7, 2**20, 2**31 - 1))
        extent = rng.choice((2, 3, 5, 1000))
        reach = (extent - 1) * inner
        outer = rng.choice((reach, reach + 1, reach + inner, 2**33, 2**40, 2**50 // 3))
        count = rng.choice((2, 3, 9))
        shape, strides = (extent, count), (rng.choice((1, -1)) * inner, rng.choice((1, -1)) * outer)
        order = rng.sample((0, 1), 2)
        shape, strides = (shape[order[0]], shape[order[1]]), (strides[order[0]], strides[order[1]])
        if not EXACT_SPAN < reach + (count - 1) * outer + 1 <= LIMIT:
            continue
        distinct = half.Layout(shape, strides, lowest(shape, strides)).is_distinct
        assert distinct == nests(shape, strides), (shape, strides)
        both[distinct] += 1
    assert min(both) >= 50


def test_an_axis_that_can_be_left_out_decides_nothing(half: Any) -> None:
    """layouts/separable-axis: an axis past all others, or inside their common divisor, adds no meeting."""
    for shape, strides in itertools.islice(small_layouts(), 0, None, 3):
        distinct = half.Layout(shape, strides, lowest(shape, strides)).is_distinct
        reach = sum((d - 1) * abs(s) for d, s in zip(shape, strides, strict=True))
        divisor = math.gcd(*(s for d, s in zip(shape, strides, strict=True) if d > 1), 0)
        past = half.Layout((*shape, 3), (*strides, reach + 1), lowest(shape, strides))
        assert past.is_distinct == distinct
        if divisor > 1:
            inside = half.Layout((*shape, divisor), (*strides, 1), lowest(shape, strides))
            assert inside.is_distinct == distinct


# --- copies to a device -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [float32, uint8, int4, bit], ids=str)
def test_copies_are_compacted_or_kept_as_proved(half: Any, dtype: Dtype) -> None:
    """arrays/to-device-compact and to-device-keep: where elements lie, and in how many bytes."""
    compacted = kept = 0
    for shape, strides in copied_layouts():
        layout = half.Layout(shape, strides, lowest(shape, strides) + 1)
        buffer = half.host().buffer(dtype.nbytes(layout.span[1]))
        half.inspection.poke(buffer, bytes(137 * k % 251 for k in range(buffer.nbytes)))
        source = half.Array(dtype, layout, buffer)
        copied = source.to_device(half.host())
        assert copied.to_values() == source.to_values()
        if keeps(dtype, layout):
            assert_kept(source, copied)
            kept += 1
        else:
            assert_compacted(source, copied)
            compacted += 1
    assert min(compacted, kept) >= 150


def copied_layouts() -> Iterator[tuple[Shape, Shape]]:
    """Every layout of two axes with extents to 3 and strides to 4, and some of three axes."""
    for shape in itertools.product(range(1, 4), repeat=2):
        yield from ((shape, strides) for strides in itertools.product(range(-4, 5), repeat=2))
    for shape in itertools.product((2, 3), repeat=3):
        yield from ((shape, strides) for strides in itertools.product((-4, 0, 1, 2, 6), repeat=3))


def needed_elements(layout: Any) -> int:
    """One element per index, axes of stride 0 counted once."""
    return math.prod(d for d, s in zip(layout.shape, layout.strides, strict=True) if s != 0)


def byte_range(dtype: Dtype, layout: Any) -> tuple[int, int]:
    """The bytes from the first that holds a bit of an element to the last."""
    return layout.span[0] * dtype.bits // 8, dtype.nbytes(layout.span[1])


def keeps(dtype: Dtype, layout: Any) -> bool:
    """Whether the source's byte range is no larger than what one element per index needs."""
    first, last = byte_range(dtype, layout)
    return last - first <= dtype.nbytes(needed_elements(layout))


def assert_kept(source: Any, copied: Any) -> None:
    """The same strides, every element at the same bits of its byte, in a buffer of the source's byte range."""
    first, last = byte_range(source.dtype, source.layout)
    assert copied.layout.strides == source.layout.strides
    assert copied.buffer.nbytes == last - first
    assert copied.layout.offset * source.dtype.bits == source.layout.offset * source.dtype.bits - 8 * first
    assert copied.layout.span[0] >= 0 and source.dtype.nbytes(copied.layout.span[1]) <= copied.buffer.nbytes


def assert_compacted(source: Any, copied: Any) -> None:
    """Indices lie apart exactly if they differ along an axis that moves; the positions are 0 to n - 1, and no more."""
    layout, shape = copied.layout, source.layout.shape
    needed = needed_elements(source.layout)
    moving = [k for k, stride in enumerate(source.layout.strides) if stride != 0]
    places: dict[Shape, int] = {}
    for index in itertools.product(*map(range, shape)):
        place = layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True))
        assert places.setdefault(tuple(index[k] for k in moving), place) == place
    assert sorted(places.values()) == list(range(needed))
    assert copied.buffer.nbytes == source.dtype.nbytes(needed)
    pairs = zip(layout.strides, source.layout.strides, strict=True)
    assert all((s > 0) == (t > 0) and (s < 0) == (t < 0) for s, t in pairs)


# --- reshapes ---------------------------------------------------------------------------------------------------------


def factorings(size: int, most: int) -> list[Shape]:
    """Every shape of at most so many axes, extents of 1 left out, with that many elements."""
    if size == 1:
        return [()]
    if most == 0:
        return []
    divisors = [d for d in range(2, size + 1) if size % d == 0]
    return [(d, *rest) for d in divisors for rest in factorings(size // d, most - 1)]


def expressible(shape: Shape, found: Sequence[int]) -> Shape | None:
    """The strides that give these positions in C order, if any do: they can only be the steps along each axis."""
    strides = tuple(
        found[math.prod(shape[axis + 1 :])] - found[0] if extent > 1 else 0 for axis, extent in enumerate(shape)
    )
    return strides if [found[0] + p for p in positions(shape, strides)] == list(found) else None


def sources() -> Iterator[tuple[Shape, Shape]]:
    """Layouts of up to three axes: contiguous ones, with every axis' stride also doubled, negated, zero or one off."""
    for shape in [*factorings(12, 3), *factorings(8, 3), *factorings(6, 2), (2, 1, 3), (1, 4), (4, 1)]:
        straight = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        for strides in itertools.product(*((s, 2 * s, -s, 0, s + 1) for s in straight)):
            yield shape, strides


def test_a_reshape_is_none_exactly_if_no_strides_express_it(half: Any) -> None:
    """moves/reshape-none, reshape-merge and reshape-split: found by trying the only strides there could be."""
    answers = [0, 0]
    for shape, strides in sources():
        layout = half.Layout(shape, strides, lowest(shape, strides))
        found = positions(shape, strides)
        targets = factorings(math.prod(shape), 3)
        for target in [*targets, (*targets[0], 1), (1, *targets[-1])]:
            wanted = expressible(target, found)
            moved = layout.move(Reshape(target))
            assert (None if moved is None else moved.strides) == wanted, (shape, strides, target)
            assert moved is None or moved.offset == layout.offset
            answers[wanted is None] += 1
    assert min(answers) >= 500


# --- bounds -----------------------------------------------------------------------------------------------------------


def slice_rule(extent: int, start: int, count: int, step: int) -> str | None:
    """bounds/slice-last with exact integers, after what is asked before it."""
    if step == 0:
        return "moves/slice-step"
    if count < 0:
        return "moves/slice-count"
    if count == 0:
        return None
    if not 0 <= start < extent:
        return "moves/slice-start"
    return None if 0 <= start + (count - 1) * step < extent else "moves/slice-last"


def test_slices_at_the_edges(half: Any) -> None:
    """bounds/slice-last and saturated-moves: every start, count and step at an edge, past 64 bits too."""
    seen: set[str | None] = set()
    for extent in EXTENTS:
        starts = {0, 1, extent - 1, extent, -1, -(2**63), 2**63, 10**30}
        for start, count, step in itertools.product(starts, EDGES, EDGES[::2]):
            wanted = slice_rule(extent, start, count, step)
            rule, shape = rule_of(half.move_shape, Slice(Range(start, count, step)), (extent,))
            assert rule == wanted and (rule or shape == (count,)), (extent, start, count, step)
            seen.add(wanted)
    assert len(seen) == 5


def test_sliced_layouts_at_the_edges(half: Any) -> None:
    """A slice of a layout that reaches far steps by the product, dropped where one element is left, and never wraps."""
    for extent, stride in ((2**20, 2**33 - 1), (2**33 - 1, 2**20), (2**53, 1), (2, 2**53 - 1)):
        layout = half.Layout((extent,), (stride,))
        for start, count, step in itertools.product((0, 1, extent - 1), (1, 2), (1 - extent, -1, 1, extent - 1, 2**63)):
            if slice_rule(extent, start, count, step) is None:
                moved = layout.move(Slice(Range(start, count, step)))
                assert (moved.offset, moved.strides) == (start * stride, (stride * step if count > 1 else 0,))


def window_rule(extent: int, size: int, step: int, dilation: int) -> tuple[str | None, Shape]:
    """bounds/window-count with exact integers: the rule, or the count of windows and their size."""
    for name, value in (("size", size), ("step", step), ("dilation", dilation)):
        if value < 1:
            return f"moves/window-{name}", ()
    if dilation * (size - 1) > extent - 1:
        return "moves/window-fit", ()
    count = (extent - 1 - dilation * (size - 1)) // step + 1
    return ("layouts/too-many-elements", ()) if count * size > LIMIT else (None, (count, size))


def test_windows_at_the_edges(half: Any) -> None:
    """bounds/window-count and saturated-moves: every size, step and dilation at an edge, past 64 bits too."""
    seen: set[str | None] = set()
    values = [value for value in EDGES if value >= -1] + [-(2**63), -(10**30)]
    for extent, size, step, dilation in itertools.product(EXTENTS, values, values[::2], values):
        wanted, result = window_rule(extent, size, step, dilation)
        rule, shape = rule_of(half.move_shape, Window(WindowAxis(0, size, step, dilation)), (extent,))
        assert rule == wanted and (rule or shape == result), (extent, size, step, dilation)
        seen.add(wanted)
    assert len(seen) == 6


def span_rule(shape: Shape, strides: Shape, offset: int) -> str | None:
    """bounds/span-answer with exact integers, of layouts with an element."""
    low = offset + sum(min(0, (d - 1) * s) for d, s in zip(shape, strides, strict=True))
    high = offset + sum(max(0, (d - 1) * s) for d, s in zip(shape, strides, strict=True))
    return "layouts/negative-position" if low < 0 else "layouts/past-limit" if high >= LIMIT else None


def test_layouts_at_the_edges(half: Any) -> None:
    """bounds/span-answer: every stride and offset at an edge, past 64 bits too; what nobody uses is dropped first."""
    seen: set[str | None] = set()
    for extent, stride, offset in itertools.product([*EXTENTS[1:], 3], EDGES, EDGES):
        for shape, strides in (((extent,), (stride,)), ((2, extent, 1), (-1, stride, 10**40))):
            if math.prod(shape) > LIMIT:
                continue
            used = tuple(0 if d == 1 else s for d, s in zip(shape, strides, strict=True))
            rule, layout = rule_of(half.Layout, shape, strides, offset)
            wanted = span_rule(shape, used, offset)
            assert rule == wanted, (shape, strides, offset)
            assert rule or (layout.strides, layout.offset) == (used, offset), (shape, strides, offset)
            seen.add(wanted)
    assert len(seen) == 3
