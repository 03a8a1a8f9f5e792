"""Arrays: elements of a dtype laid out over a buffer, and reading and writing them one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from counterfoil_reference import checks, elements, numbers, placement, views
from counterfoil_reference.arguments import entries
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.devices import Device
from counterfoil_reference.layouts import Layout
from counterfoil_reference.moves import Shape
from counterfoil_reference.places import host
from counterfoil_reference.work import queue
from counterfoil_spec.arguments import instance, integers
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access, MemoryKind, Value
from counterfoil_spec.limits import MAX_ELEMENTS
from counterfoil_spec.moves import Move
from counterfoil_spec.refusals import refuse


class Array:
    """A dtype, a layout and a buffer: the layout reaches only bits of the buffer, and its first element is aligned."""

    __slots__ = ("buffer", "dtype", "layout")

    def __init__(self, dtype: Dtype, layout: Layout, buffer: Buffer) -> None:
        """Refuses memory/dead, arrays/past-the-end and arrays/misaligned; an empty layout reaches nothing."""
        self.dtype = instance("dtype", dtype, Dtype)
        self.layout = instance("layout", layout, Layout)
        self.buffer = instance("buffer", buffer, Buffer)
        checks.check_live("Array", buffer)
        if layout.span[1] * dtype.bits > buffer.nbytes * 8:
            raise refuse("arrays/past-the-end", dtype=dtype.name, nbytes=buffer.nbytes)
        if layout.size > 0 and not is_aligned(dtype, buffer):
            raise refuse("arrays/misaligned", function="Array", dtype=dtype.name, alignment=dtype.alignment)

    @staticmethod
    def over(dtype: Dtype, layout: Layout, buffer: Buffer) -> Array:
        """The array of parts known to fit."""
        array = Array.__new__(Array)
        array.dtype, array.layout, array.buffer = dtype, layout, buffer
        return array

    @property
    def device(self) -> Device:
        """The device of the buffer."""
        return self.buffer.device

    @property
    def shape(self) -> Shape:
        """The layout's shape."""
        return self.layout.shape

    def move(self, move: Move) -> Array | None:
        """The array over the same buffer laid out by the moved layout, or None; refuses what ``move_shape`` does."""
        layout = self.layout.move(move)
        return None if layout is None else Array.over(self.dtype, layout, self.buffer)

    def bitcast(self, dtype: Dtype) -> Array | None:
        """The same bits read as elements of ``dtype``, or None; refuses memory/dead and arrays/bitcast-rank."""
        dtype = instance("dtype", dtype, Dtype)
        checks.check_live("bitcast", self.buffer)
        layout = cast_layout(self.layout, self.dtype, dtype)
        if layout is None or (layout.size > 0 and not is_aligned(dtype, self.buffer)):
            return None
        return Array.over(dtype, layout, self.buffer)

    def expect(self, dtype: Dtype) -> Array:
        """The array itself if its dtype is ``dtype``; refuses arrays/expect."""
        dtype = instance("dtype", dtype, Dtype)
        if self.dtype is not dtype:
            raise refuse("arrays/expect", wanted=dtype.name, found=self.dtype.name)
        return self

    def get(self, index: Sequence[int]) -> Value:
        """The element at an index; refuses arrays/index-*, memory/dead, exclusive, off-host, lost."""
        entry = self._index(index)
        self._check_access("get", Access.READ)
        with checks.claimed(self.buffer):
            checks.wait(self.buffer, Access.READ)
            code = elements.load_code(self, entry)
        return numbers.value_of_code(self.dtype, code)

    def set(self, index: Sequence[int], value: Value) -> None:
        """Store a value at an index, and change no other bit.

        Refuses arrays/index-*, dtypes/value-*, memory/dead, exclusive, read-only, off-host, arrays/repeated, lost.
        """
        entry = self._index(index)
        code = numbers.code_of_value(self.dtype, value)
        self._check_access("set", Access.READ_WRITE)
        if not self.layout.is_distinct:
            raise refuse("arrays/repeated", function="set", dtype=self.dtype.name, shape=self.shape)
        with checks.claimed(self.buffer):
            checks.wait(self.buffer, Access.READ_WRITE)
            elements.store_code(self, entry, code)

    def to_values(self) -> list[Value]:
        """The elements in C order of indices; refuses memory/dead, exclusive, off-host, lost."""
        self._check_access("to_values", Access.READ)
        with checks.claimed(self.buffer):
            checks.wait(self.buffer, Access.READ)
            codes = elements.codes(self)
        return [numbers.value_of_code(self.dtype, code) for code in codes]

    def to_device(self, device: Device) -> Array:
        """The elements on a device in a fresh buffer; see ``placement.to_device``."""
        return placement.to_device(self, instance("device", device, Device))

    def copy(self) -> Array:
        """A fresh C-contiguous array on the same device, filled by a transfer.

        Refuses memory/dead, exclusive, arrays/sub-byte-off-host, memory/makes-no-memory, lost, exhausted.
        """
        placement.check_copy(self)
        copied = empty(self.device, self.dtype, self.shape)
        placement.store(self, copied)
        return copied

    def borrow(self, device: Device) -> Array | None:
        """The elements on a device without a copy, itself on its own, or None; refuses memory/dead, memory/lost."""
        buffer = self.buffer.borrow(device)
        if buffer is None or buffer is self.buffer:
            return None if buffer is None else self
        return Array.over(self.dtype, self.layout, buffer)

    def reading(self) -> AbstractContextManager[memoryview]:
        """A read-only view while the block runs; see ``views.reading``."""
        return views.reading(self)

    def writing(self) -> AbstractContextManager[memoryview]:
        """A writable view while the block runs; see ``views.writing``."""
        return views.writing(self)

    def export(self) -> memoryview:
        """A view for good; see ``views.export``."""
        return views.export(self)

    def _index(self, index: Sequence[int]) -> Shape:
        """The index as integers, inside the shape; refuses arrays/index-rank, arrays/index-range."""
        entry = integers("index", index)
        if len(entry) != len(self.shape):
            raise refuse("arrays/index-rank", index=entry, rank=len(self.shape))
        if not all(0 <= i < extent for i, extent in zip(entry, self.shape, strict=True)):
            raise refuse("arrays/index-range", index=entry, shape=self.shape)
        return entry

    def _check_access(self, function: str, access: Access) -> None:
        """Dead, exclusive, read-only for a write, then off host where there is an element (A13)."""
        checks.check_access(function, self.buffer, access)
        if self.layout.size > 0:
            checks.check_on_host(function, self.buffer)

    def __repr__(self) -> str:
        return f"<{self.dtype.name} {list(self.shape)} on {self.device.name}>"


def is_aligned(dtype: Dtype, buffer: Buffer) -> bool:
    """Whether elements of the buffer lie on multiples of the dtype's alignment, in the memory and by host address."""
    return buffer.first % dtype.alignment == 0 and (buffer.address or 0) % dtype.alignment == 0


def cast_layout(layout: Layout, dtype: Dtype, wanted: Dtype) -> Layout | None:
    """The layout of the same bits in elements of another width, or None; refuses arrays/bitcast-rank."""
    if wanted.bits == dtype.bits:
        return layout
    if wanted.bits < dtype.bits:
        return _narrowed(layout, dtype.bits // wanted.bits, wanted)
    return _widened(layout, wanted.bits // dtype.bits)


def _narrowed(layout: Layout, ratio: int, wanted: Dtype) -> Layout:
    """A trailing axis of ``ratio`` narrow elements is appended, the low bits first."""
    if layout.rank == 32:
        raise refuse("arrays/bitcast-rank", dtype=wanted.name, rank=layout.rank)
    strides = tuple(stride * ratio for stride in layout.strides)
    return Layout((*layout.shape, ratio), (*strides, 1), layout.offset * ratio)


def _widened(layout: Layout, ratio: int) -> Layout | None:
    """The trailing axis of ``ratio`` adjacent elements is removed, where all else divides by ``ratio``."""
    if layout.rank == 0 or layout.shape[-1] != ratio:
        return None
    *strides, last = layout.strides
    if layout.size > 0 and (last != 1 or any(jump % ratio for jump in (layout.offset, *strides))):
        return None
    return Layout(layout.shape[:-1], [stride // ratio for stride in strides], layout.offset // ratio)


def empty(
    device: Device, dtype: Dtype, shape: Sequence[int], kind: MemoryKind = MemoryKind.DEVICE
) -> Array:
    """A fresh C-contiguous array of unspecified elements; a sub-byte array's last byte is zero past its last element.

    Refuses layouts/* of the shape, memory/makes-no-memory, lost and exhausted.
    """
    device, dtype = instance("device", device, Device), instance("dtype", dtype, Dtype)
    shape, kind = integers("shape", shape), instance("kind", kind, MemoryKind)
    layout = Layout.contiguous(shape)
    buffer = device.buffer(dtype.nbytes(layout.size), kind)
    _clear_tail(buffer, layout.size * dtype.bits % 8)
    return Array.over(dtype, layout, buffer)


def _clear_tail(buffer: Buffer, used: int) -> None:
    """Zero the last byte of fresh memory past its first ``used`` bits, if any are used.

    The host does it at once where it addresses the memory; elsewhere it is pending on the device.
    """
    if used == 0:
        return
    last = buffer.view(buffer.nbytes - 1, 1)

    def work() -> None:
        last.memory.write(last.first, bytes([last.memory.read(last.first, 1)[0] & (1 << used) - 1]))

    if last.memory.on_host:
        work()
    else:
        queue(last.device, work, (), (last,))


def host_array(dtype: Dtype, shape: Sequence[int]) -> Array:
    """``empty`` on the host."""
    return empty(host(), dtype, shape)


def from_values(dtype: Dtype, shape: Sequence[int], values: Iterable[Value]) -> Array:
    """A fresh array on the host holding the values in C order.

    Refuses layouts/* of the shape, arrays/values-count, dtypes/value-*, memory/exhausted.
    """
    dtype, shape = instance("dtype", dtype, Dtype), integers("shape", shape)
    wanted = math.prod(max(extent, 0) for extent in shape)
    most = wanted + 1 if wanted <= MAX_ELEMENTS else 1  # what has no length may be endless
    given = entries("values", values, "a sequence of values", None if hasattr(type(values), "__len__") else most)
    Layout.contiguous(shape)
    if len(given) != math.prod(shape):
        raise refuse("arrays/values-count", values=len(given), shape=shape)
    codes = [numbers.code_of_value(dtype, value) for value in given]
    array = host_array(dtype, shape)
    elements.store_codes(array, codes)
    return array


def from_buffer(dtype: Dtype, obj: object) -> Array:
    """The C-contiguous array over an object's own bytes, of its shape; see ``views.from_memory`` for refusals."""
    dtype = instance("dtype", dtype, Dtype)
    shape, buffer = views.from_memory(dtype, obj)
    return Array.over(dtype, Layout.contiguous(shape), buffer)


def transfer(src: Array, dst: Array) -> None:
    """Store the elements of ``src`` into ``dst``; see ``placement.transfer``."""
    placement.transfer(instance("src", src, Array), instance("dst", dst, Array))
