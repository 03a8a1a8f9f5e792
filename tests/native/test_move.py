"""Moves of layouts in the core against their index maps, and reshapes against all strides there could be."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.native.core import Strides, layout_of, plain
from tests.native.test_layout import small_layouts

from counterfoil._native import ffi, lib

Index = tuple[int, ...]


def moved(layout: Strides, kind: int, entries: list[tuple[int, ...]]) -> Strides | None:
    """The moved layout, None where none expresses it; AssertionError if the core refuses the move."""
    out, fault = ffi.new("cf_layout *"), ffi.new("cf_fault *")
    params = [number for entry in entries for number in entry]
    answer = lib.cf_layout_move(out, layout_of(layout), kind, len(entries), params, fault)
    assert answer != lib.CF_REFUSED
    if answer == lib.CF_NO_LAYOUT:
        return None
    result = plain(out)
    assert plain(layout_of(result)) == result  # canonical
    assert (layout_of(result).flags & 3, layout_of(result).size) == (out.flags & 3, out.size)
    assert (layout_of(result).low, layout_of(result).high) == (out.low, out.high)
    distinct = len(set(result.positions())) == out.size
    assert bool(lib.cf_layout_is_distinct(out)) == distinct
    return result


def at(layout: Strides, index: Index) -> int:
    """The position of an index."""
    return layout.offset + sum(i * stride for i, stride in zip(index, layout.strides, strict=True))


def indices(shape: Index) -> list[Index]:
    """All indices in C order."""
    return list(product(*map(range, shape)))


@given(st.data())
def test_permute_renames_axes(data: st.DataObject) -> None:
    """Axis i of the result is axis axes[i] of the argument."""
    layout = data.draw(small_layouts())
    axes = data.draw(st.permutations(range(len(layout.shape))))
    result = moved(layout, lib.CF_PERMUTE, [(axis,) for axis in axes])
    assert result is not None and result.shape == tuple(layout.shape[axis] for axis in axes)
    for index in indices(result.shape):
        assert at(result, index) == at(layout, tuple(index[axes.index(axis)] for axis in range(len(axes))))


@given(st.data())
def test_slice_walks_ranges(data: st.DataObject) -> None:
    """Index k of a range is start + k * step; a range without an index may start anywhere."""
    layout = data.draw(small_layouts())
    ranges = []
    for extent in layout.shape:
        taken = data.draw(st.lists(st.sampled_from(range(extent)), max_size=1)) if extent else []
        step = data.draw(st.integers(-3, 3).filter(bool))
        room = 0 if not taken else len(range(taken[0], extent if step > 0 else -1, step))
        wild = data.draw(st.integers(-(2**63), 2**63 - 1))
        ranges.append((taken[0], data.draw(st.integers(1, room)), step) if taken else (wild, 0, step))
    result = moved(layout, lib.CF_SLICE, ranges)
    assert result is not None and result.shape == tuple(count for _, count, _ in ranges)
    for index in indices(result.shape):
        assert at(result, index) == at(layout, tuple(s + i * t for i, (s, _, t) in zip(index, ranges, strict=True)))


@given(st.data())
def test_broadcast_repeats_from_the_right(data: st.DataObject) -> None:
    """New leading axes are ignored, and an axis of extent 1 is read at every index."""
    layout = data.draw(small_layouts())
    grown = [data.draw(st.integers(0, 3)) if extent == 1 else extent for extent in layout.shape]
    target = (*data.draw(st.lists(st.integers(0, 3), max_size=2)), *grown)
    result = moved(layout, lib.CF_BROADCAST, [(extent,) for extent in target])
    assert result is not None and result.shape == target
    for index in indices(target):
        own = index[len(target) - len(layout.shape) :]
        within = tuple(0 if extent == 1 else i for i, extent in zip(own, layout.shape, strict=True))
        assert at(result, index) == at(layout, within)


@given(st.data())
def test_window_reads_steps_and_dilations(data: st.DataObject) -> None:
    """A named axis counts windows, and a trailing axis for each counts the elements of one."""
    layout = data.draw(small_layouts())
    windows = []
    for axis, extent in enumerate(layout.shape):
        if extent and data.draw(st.booleans()):
            size = data.draw(st.integers(1, extent))
            dilation = data.draw(st.integers(1, (extent - 1) // (size - 1) if size > 1 else 2**62))
            windows.append((axis, size, data.draw(st.integers(1, 3) | st.just(2**62)), dilation))
    result = moved(layout, lib.CF_WINDOW, windows)
    assert result is not None
    rank = len(layout.shape)
    for index in indices(result.shape):
        source = list(index[:rank])
        for entry, (axis, _, step, dilation) in enumerate(windows):
            source[axis] = index[axis] * step + index[rank + entry] * dilation
        assert at(result, index) == at(layout, tuple(source))
    for entry, (axis, size, step, dilation) in enumerate(windows):
        starts = range(0, layout.shape[axis] - dilation * (size - 1), step)
        assert (result.shape[axis], result.shape[rank + entry]) == (len(starts), size)


def expressible(shape: Index, positions: list[int]) -> bool:
    """Whether some strides give these positions in C order: they can only be the differences made by one index."""
    if not positions:
        return True
    values = dict(zip(indices(shape), positions, strict=True))
    units = [tuple(int(axis == k) for k in range(len(shape))) for axis in range(len(shape))]
    strides = tuple(values[unit] - positions[0] if unit in values else 0 for unit in units)
    return list(Strides(shape, strides, positions[0]).positions()) == positions


@settings(max_examples=200)
@given(st.data())
def test_reshape_answers_none_exactly_where_no_strides_express_it(data: st.DataObject) -> None:
    """Element k in C order stays element k; None iff no strides do that."""
    layout = data.draw(small_layouts())
    size = prod(layout.shape)
    target: list[int] = []
    rest = size or data.draw(st.integers(1, 4))
    while rest > 1 or data.draw(st.integers(0, 3)) == 3:
        extent = data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        target.append(extent)
        rest //= extent
    if size == 0:
        target.insert(data.draw(st.integers(0, len(target))), 0)
    check_reshape(layout, tuple(target))


def test_reshapes_named_in_the_contract() -> None:
    """A transpose does not flatten, all-zero strides split, a row slice stays reshapeable."""
    check_reshape(Strides((3, 2), (1, 3), 0), (6,))
    check_reshape(Strides((4, 8), (0, 0), 0), (2, 16))
    check_reshape(Strides((2, 3), (10, 1), 0), (6,))
    check_reshape(Strides((2, 3), (10, 1), 0), (2, 3, 1))


def check_reshape(layout: Strides, target: Index) -> None:
    """The core's reshape against the positions in C order."""
    result = moved(layout, lib.CF_RESHAPE, [(extent,) for extent in target])
    positions = list(layout.positions())
    assert (result is not None) == expressible(target, positions)
    if result is not None:
        assert result.shape == target and list(result.positions()) == positions
