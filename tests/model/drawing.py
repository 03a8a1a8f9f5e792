"""What the tests of the reference draw: shapes, layouts, moves, arrays and operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

import counterfoil_reference as cf
from counterfoil_reference.layouts import Layout

Shape = tuple[int, ...]


def shapes(max_rank: int = 4, max_extent: int = 4, min_extent: int = 0) -> st.SearchStrategy[Shape]:
    """Small shapes, empty ones included."""
    return st.lists(st.integers(min_extent, max_extent), max_size=max_rank).map(tuple)


@st.composite
def layouts(draw: st.DrawFn, shape: Shape | None = None, reach: int = 7) -> Layout:
    """Layouts of small strides of any sign, at the least offset that holds them or a little above it."""
    shape = draw(shapes()) if shape is None else shape
    strides = tuple(draw(st.integers(-reach, reach)) for _ in shape)
    lowest = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True) if stride < 0 < extent)
    return cf.Layout(shape, strides, draw(st.integers(0, 3)) - lowest)


@st.composite
def fitting_moves(draw: st.DrawFn, shape: Shape) -> cf.Move:
    """A move that the shape admits."""
    kinds: list[Callable[[], cf.Move]] = [
        lambda: cf.Reshape(draw(st.sampled_from(factorings(math.prod(shape))))),
        lambda: cf.Broadcast([*draw(shapes(2)), *(draw(st.integers(0, 3)) if d == 1 else d for d in shape)]),
        lambda: cf.Permute(draw(st.permutations(range(len(shape))))),
        lambda: cf.Slice(*(draw(ranges(d)) for d in shape)),
    ]
    if 0 not in shape:
        kinds.append(lambda: cf.Window(*(draw(windows(a, d)) for a, d in enumerate(shape) if draw(st.booleans()))))
    return draw(st.sampled_from(kinds))()


@st.composite
def ranges(draw: st.DrawFn, extent: int) -> cf.Range:
    """A range that lies inside an axis of that extent."""
    step = draw(st.integers(-3, 3).filter(bool))
    if extent == 0 or draw(st.integers(0, 9)) == 0:
        return cf.Range(draw(st.integers(-9, 9)), 0, step)
    start = draw(st.integers(0, extent - 1))
    room = (extent - 1 - start) // step if step > 0 else start // -step
    return cf.Range(start, draw(st.integers(0, room + 1)), step)


@st.composite
def windows(draw: st.DrawFn, axis: int, extent: int) -> cf.WindowAxis:
    """Windows that fit in an axis of that extent."""
    dilation = draw(st.integers(1, 3))
    size = draw(st.integers(1, (extent - 1) // dilation + 1))
    return cf.WindowAxis(axis, size, draw(st.integers(1, 3)), dilation)


def factorings(size: int) -> list[Shape]:
    """Some shapes of that many elements, with axes of extent 1 among them."""
    if size == 0:
        return [(0,), (2, 0), (0, 3, 1)]
    found: list[Shape] = [(size,), (1, size), (size, 1)]
    for first in range(2, size):
        if size % first == 0:
            found.append((first, size // first))
            found.extend((first, *rest) for rest in factorings(size // first) if 1 not in rest)
    return found if size > 1 else [*found, ()]


def any_dtype() -> st.SearchStrategy[cf.Dtype]:
    """One of the 21."""
    return st.sampled_from(cf.Dtype.all)


@st.composite
def arrays_on(draw: st.DrawFn, device: Any, dtype: cf.Dtype | None = None, shape: Shape | None = None) -> cf.Array:
    """An array of any bits over a view of a buffer on a device, aligned, with room around it."""
    dtype = draw(any_dtype()) if dtype is None else dtype
    layout = draw(layouts(shape, reach=4))
    before = draw(st.integers(0, 2)) * dtype.alignment
    nbytes = -(-layout.span[1] * dtype.bits // 8)
    buffer = device.buffer(before + nbytes + draw(st.integers(0, 3)))
    cf.inspection.poke(buffer, draw(st.binary(min_size=buffer.nbytes, max_size=buffer.nbytes)))
    return cf.Array(dtype, layout, buffer.view(before, buffer.nbytes - before))


def bytes_of(buffer: cf.Buffer) -> bytes:
    """The buffer's bytes now; nothing is performed."""
    return cf.inspection.memory_bytes(buffer)


def host_bytes(data: bytes) -> cf.Buffer:
    """A host buffer of those bytes."""
    buffer = cf.host().buffer(len(data))
    cf.inspection.poke(buffer, data)
    return buffer


def refusal(rule: str, call: Callable[[], object], **subjects: object) -> cf.Refusal:
    """Assert that the call is refused by that rule, naming at least those subjects; the refusal."""
    with pytest.raises(cf.Refusal) as caught:
        call()
    assert caught.value.rule == rule, str(caught.value)
    named = {name: caught.value.subjects[name] for name in subjects}
    assert named == {name: list(v) if isinstance(v, tuple) else v for name, v in subjects.items()}
    return caught.value


def fill(byte: int) -> Callable[..., None]:
    """Work that stores a byte everywhere in all it writes."""

    def work(*views: memoryview) -> None:
        for view in views:
            if not view.readonly:
                view[:] = bytes([byte]) * len(view)

    return work


def boom(*views: memoryview) -> None:
    """Work that fails."""
    raise RuntimeError("boom")


def state(device: Any) -> tuple[int, int]:
    """(submitted, reached) of a device."""
    return device.submitted, device.reached


def positions(layout: Layout) -> list[int]:
    """The positions of all indices in C order, straight from the definition."""
    return [layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True)) for index in all_of(layout)]


def all_of(layout: Layout) -> Sequence[Shape]:
    """All indices of a layout in C order."""
    found: list[Shape] = [()]
    for extent in layout.shape:
        found = [(*index, i) for index in found for i in range(extent)]
    return found
