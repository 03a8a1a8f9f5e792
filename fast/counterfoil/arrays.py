"""Arrays: a dtype and a layout over a buffer, as one structure of the core and one object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from counterfoil import indexing, placement, views
from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, access_lost, allocate
from counterfoil.devices import Device
from counterfoil.handles import Handle
from counterfoil.interchange import Interchange
from counterfoil.layouts import Layout, Shape, layout_of
from counterfoil.moves import MOVED, REFUSED, RULES, encoded, move_refusal
from counterfoil.numbers import Value, from_bits, value_bits, values_of_loose
from counterfoil.people import Operators
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integers
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import MemoryKind
from counterfoil_spec.moves import Move
from counterfoil_spec.refusals import Refusal, refuse

_ARRAY = ffi.typeof("cf_array *")
_ADDRESS = ffi.typeof("uintptr_t")
_BITS = ffi.typeof("uint64_t[2]")
_blank = object.__new__


class Array(Handle, Operators, Interchange):
    """``Array(dtype, layout, buffer)``: elements of a dtype laid out over a buffer.

    Refuses memory/dead, arrays/past-the-end and arrays/misaligned. The base class holds the core's structure (``_c``),
    which points into the buffer's, and does kernels, moves and basic indexing without a call through cffi.
    """

    __slots__ = ()

    def __new__(cls, dtype: Dtype, layout: Layout, buffer: Buffer) -> Array:
        """Made whole or not at all; ``__init__`` does nothing, so calling it again changes nothing."""
        instance("dtype", dtype, Dtype)
        instance("layout", layout, Layout)
        instance("buffer", buffer, Buffer)
        array = _blank(cls)
        array._buffer, array._dtype = buffer, dtype
        rule = lib.cf_array_make(array._c, dtype.code, layout._c, buffer._c)
        if rule:
            raise _construction_refusal(RULES[rule], dtype, buffer)
        return array

    def __init__(self, dtype: Dtype, layout: Layout, buffer: Buffer) -> None:
        pass

    @property
    def dtype(self) -> Dtype:
        """The format of an element."""
        return self._dtype

    @property
    def layout(self) -> Layout:
        """Where elements lie."""
        c = ffi.new("cf_layout *")
        c[0] = self._c.layout
        return layout_of(c)

    @property
    def buffer(self) -> Buffer:
        """The bytes."""
        return self._buffer

    @property
    def device(self) -> Device:
        """The device of the buffer."""
        return self._buffer.device

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._c.layout.size)

    def bitcast(self, dtype: Dtype) -> Array | None:
        """The same bits read as another dtype, None where the layout does not divide or the result is misaligned.

        Narrowing appends an axis of stride 1, widening removes one. Refuses memory/dead, arrays/bitcast-rank and
        layouts/too-many-elements.
        """
        instance("dtype", dtype, Dtype)
        result, rule = blank(self._buffer, dtype), ffi.new("int *")
        answer = lib.cf_array_bitcast(result._c, self._c, dtype.code, rule)
        if answer == MOVED:
            return result
        if answer == REFUSED:
            self._buffer.require_alive("bitcast")
            if RULES[rule[0]] == "layouts/too-many-elements":
                raise refuse("layouts/too-many-elements", shape=(*self.shape, self._dtype.bits // dtype.bits))
            raise refuse("arrays/bitcast-rank", dtype=dtype.name, rank=len(self.shape))
        return None

    def expect(self, dtype: Dtype) -> Array:
        """The array itself if it has that dtype; refuses arrays/expect."""
        if instance("dtype", dtype, Dtype) is not self._dtype:
            raise refuse("arrays/expect", wanted=dtype.name, found=self._dtype.name)
        return self

    def to_values(self) -> list[Value]:
        """The elements in C order; refuses memory/dead, memory/exclusive, memory/off-host, memory/lost."""
        loose = bytearray(self._c.layout.size * max(1, self._c.bits // 8))
        answer = lib.cf_array_read(self._c, ffi.from_buffer(loose))
        if answer:
            raise access_refusal("to_values", self, answer)
        return values_of_loose(self._dtype, loose, self._c.layout.size)

    def to_device(self, device: Device) -> Array:
        """The elements in fresh memory of a device, also when they are there already (arrays/compact).

        Refuses memory/dead, memory/exclusive, memory/makes-no-memory, memory/lost, memory/exhausted.
        """
        return placement.to_device(self, instance("device", device, Device))

    def copy(self) -> Array:
        """A fresh C-contiguous array on the same device.

        Refuses memory/dead, memory/exclusive, arrays/sub-byte-off-host, memory/makes-no-memory, memory/lost,
        memory/exhausted.
        """
        return placement.copy(self)

    def borrow(self, device: Device) -> Array | None:
        """The same memory under another device, None where that does not map it; refuses memory/dead, memory/lost."""
        buffer = self._buffer.borrow(device)
        if buffer is None or buffer is self._buffer:
            return None if buffer is None else self
        result = blank(buffer, self._dtype)
        lib.cf_array_rebuffer(result._c, self._c, buffer._c)
        return result

    def reading(self) -> AbstractContextManager[Any]:
        """The elements as a read-only ndarray under a claim while a ``with`` block runs.

        Refuses arrays/no-format, arrays/view-rank, arrays/not-contiguous, memory/dead, memory/exclusive,
        memory/off-host, memory/lost.
        """
        return views.HostView(self, "reading", writing=False)

    def writing(self) -> AbstractContextManager[Any]:
        """The elements as a writable ndarray, as ``reading``; also refuses memory/read-only."""
        return views.HostView(self, "writing", writing=True)

    def export(self) -> Any:
        """The elements as an ndarray outside the claims: the memory is never exclusive again.

        Refuses what ``reading`` does, and arrays/not-on-host.
        """
        return views.export(self, "export")

    def _cast(self) -> Any:
        """The structure as cffi sees it, for ``_c``. AttributeError for an array made without a buffer."""
        assert self._buffer is not None
        return ffi.cast(_ARRAY, self._address)

    def _moved(self, move: Move) -> Array | None:
        """``move`` for a move not encoded yet, and why one is refused."""
        view = self._view(encoded(move))
        if view is NotImplemented:
            raise move_refusal(move, self.shape, ffi.addressof(self._c, "layout"))
        return view  # type: ignore[no-any-return]

    def _indexed(self, key: object) -> Array:
        """``self[key]`` for the keys that the base class does not do, and what is wrong with a key."""
        return indexing.indexed(self, key)

    def _get(self, index: Sequence[int]) -> Value:
        """``get`` of any index, waiting, and what is wrong."""
        entries = self._index(index)
        bits = ffi.new(_BITS)
        answer = lib.cf_array_get(self._c, entries, bits)
        if answer:
            raise access_refusal("get", self, answer)
        return from_bits(self._dtype, (bits[0], bits[1]))

    def _set(self, index: Sequence[int], value: Value) -> None:
        """``set`` of any index and value, waiting, and what is wrong."""
        entries = self._index(index)
        answer = lib.cf_array_set(self._c, entries, value_bits(self._dtype, value))
        if answer:
            raise access_refusal("set", self, answer, writing=True)

    def _index(self, index: Sequence[int]) -> Shape:
        entries = integers("index", index)
        shape = self.shape
        if len(entries) != len(shape):
            raise refuse("arrays/index-rank", index=entries, rank=len(shape))
        for entry, extent in zip(entries, shape, strict=True):
            if not 0 <= entry < extent:
                raise refuse("arrays/index-range", index=entries, shape=shape)
        return entries


def blank(buffer: Buffer, dtype: Dtype) -> Array:
    """An array of a buffer and a dtype whose structure the caller writes."""
    array = _blank(Array)
    array._buffer = buffer
    array._dtype = dtype
    return array


def fresh(device: Device, dtype: Dtype, shape: Shape, kind: MemoryKind = MemoryKind.DEVICE) -> Array:
    """A fresh C-contiguous array of a shape known to be within the limits."""
    size = math.prod(shape)
    buffer = allocate(device, -(-size * dtype.bits // 8), kind)
    array = blank(buffer, dtype)
    array._contiguous(dtype.code, shape, int(ffi.cast(_ADDRESS, buffer._c)))
    if size * dtype.bits % 8:
        placement.zero_tail(array)
    return array


def filled(array: Array, loose: bytes) -> Array:
    """A fresh host array with loose elements stored."""
    if loose:
        lib.cf_array_scatter(array._c, ffi.from_buffer(loose))
    return array


def access_refusal(function: str, array: Array, answer: int, writing: bool = False) -> BaseException:
    """What to raise when the core refused the host's access to an array."""
    if answer == lib.CF_LOST:
        return access_lost(array._buffer, writing)
    if answer == Answer.OFF_HOST:
        return refuse("memory/off-host", function=function, device=array.device.name)
    if answer == Answer.REPEATED_ELEMENTS:
        return repeated_refusal(function, array)
    return array._buffer.claim_refusal(function, answer)


def repeated_refusal(function: str, array: Array) -> Refusal:
    """The refusal of a write to an array that reaches an element twice."""
    return refuse("arrays/repeated", function=function, dtype=array.dtype.name, shape=array.shape)


def _construction_refusal(rule: str, dtype: Dtype, buffer: Buffer) -> Refusal:
    if rule == "memory/dead":
        return refuse(rule, function="Array", why=buffer.dead)
    if rule == "arrays/past-the-end":
        return refuse(rule, dtype=dtype.name, nbytes=buffer.nbytes)
    return refuse("arrays/misaligned", function="Array", dtype=dtype.name, alignment=dtype.alignment)
