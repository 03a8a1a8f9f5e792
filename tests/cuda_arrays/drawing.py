"""Arrays of random dtypes, layouts and bytes, and small work for a device's stream."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

import counterfoil as cf
from counterfoil.cuda import driver
from counterfoil.cuda.device import Cuda

DTYPES = tuple(cf.Dtype.all)
KINDS = (cf.MemoryKind.DEVICE, cf.MemoryKind.DEVICE, cf.MemoryKind.PINNED)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...], repeats: bool) -> Any:
    """A layout of a shape: axes in any order, reversed or not, with gaps, and repeated elements if ``repeats``."""
    strides = [0] * len(shape)
    step, offset = 1, draw(st.integers(0, 3))
    for axis in draw(st.permutations(range(len(shape)))):
        if repeats and draw(st.integers(0, 5)) == 0:
            continue
        sign = draw(st.sampled_from([1, 1, -1]))
        strides[axis] = sign * step
        if sign < 0:
            offset += (shape[axis] - 1) * step
        step *= shape[axis] + draw(st.integers(0, 2))
    return cf.Layout(shape, strides, offset)


shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@st.composite
def arrays(draw: st.DrawFn, device: Any, dtype: Any, shape: tuple[int, ...], repeats: bool = True) -> Any:
    """An array on a device whose memory is full of random bits, elements or not."""
    layout = draw(layouts(shape, repeats))
    nbytes = -(-layout.span[1] * dtype.bits // 8) + draw(st.integers(0, 2)) * 16
    buffer = device.buffer(nbytes, draw(st.sampled_from(KINDS)))
    cf.inspection.poke(buffer, draw(st.randoms(use_true_random=False)).randbytes(nbytes))
    return cf.Array(dtype, layout, buffer)


def twin(array: Any) -> Any:
    """An array on the host with the same layout over the same bytes."""
    buffer = cf.host().buffer(array.buffer.nbytes)
    cf.inspection.poke(buffer, cf.inspection.memory_bytes(array.buffer))
    return cf.Array(array.dtype, array.layout, buffer)


def raw(thing: Any) -> bytes:
    """All bytes of an array's or a buffer's buffer, once its work is done."""
    buffer = thing if isinstance(thing, cf.Buffer) else thing.buffer
    buffer.wait(cf.Access.READ)
    return bytes(cf.inspection.memory_bytes(buffer))


def elements(array: Any) -> list[Any]:
    """The bits of the elements in C order, as a list of their bytes."""
    host = array.to_device(cf.host())
    host.buffer.wait(cf.Access.READ)
    data, width = raw(host.copy()), array.dtype.bits
    number = int.from_bytes(data, "little")
    return [number >> width * place & ((1 << width) - 1) for place in range(math.prod(array.shape))]


def filling(device: Cuda, byte: int) -> Any:
    """Work that stores a byte everywhere in the buffers it writes."""

    def work(*views: Any) -> None:
        for view in views:
            if not view.readonly and len(view):
                driver.fill(view.pointer, byte, len(view), device.timeline.raw)

    return work


def bytes_to(device: Cuda, data: bytes, kind: Any = cf.MemoryKind.DEVICE) -> Any:
    """A buffer of a device that holds these bytes now."""
    buffer = device.buffer(len(data), kind)
    cf.inspection.poke(buffer, data)
    return buffer
