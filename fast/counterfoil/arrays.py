"""Arrays: a dtype and a layout over a buffer, as one structure of the core and one object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from counterfoil import placement, views
from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, access_lost, allocate
from counterfoil.devices import Device
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
_BITS = ffi.typeof("uint64_t[2]")
_new, _blank = ffi.new, object.__new__
_get, _set, _view = lib.cf_array_get, lib.cf_array_set, lib.cf_array_view


class Array(Operators, Interchange):
    """``Array(dtype, layout, buffer)``: elements of a dtype laid out over a buffer.

    Refuses memory/dead, arrays/past-the-end and arrays/misaligned. ``_c`` is the core's structure; it points into the
    buffer's, which ``_buffer`` keeps.
    """

    __slots__ = ("__weakref__", "_buffer", "_c", "_dtype")

    _c: Any
    _buffer: Buffer
    _dtype: Dtype

    def __init__(self, dtype: Dtype, layout: Layout, buffer: Buffer) -> None:
        self._dtype = instance("dtype", dtype, Dtype)
        instance("layout", layout, Layout)
        self._buffer = instance("buffer", buffer, Buffer)
        self._c = _new(_ARRAY)
        rule = lib.cf_array_make(self._c, dtype.code, layout._c, buffer._c)
        if rule:
            raise _construction_refusal(RULES[rule], dtype, buffer)

    @property
    def dtype(self) -> Dtype:
        """The format of an element."""
        return self._dtype

    @property
    def layout(self) -> Layout:
        """Where elements lie."""
        c = _new("cf_layout *")
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
    def shape(self) -> Shape:
        """The extents."""
        layout = self._c.layout
        return tuple(ffi.unpack(layout.shape, layout.rank))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._c.layout.size)

    def move(self, move: Move) -> Array | None:
        """The array seen through a move; None for a reshape that no strides express. Refuses as ``move_shape``."""
        kind, count, params = encoded(move)
        c = _new(_ARRAY)
        answer = _view(c, self._c, kind, count, params)
        if answer == MOVED:
            return array_of(c, self._buffer, self._dtype)
        if answer == REFUSED:
            raise move_refusal(move, self.shape, ffi.addressof(self._c, "layout"))
        return None

    def bitcast(self, dtype: Dtype) -> Array | None:
        """The same bits read as another dtype, None where the layout does not divide or the result is misaligned.

        Narrowing appends an axis of stride 1, widening removes one. Refuses memory/dead and arrays/bitcast-rank.
        """
        instance("dtype", dtype, Dtype)
        c, rule = _new(_ARRAY), _new("int *")
        answer = lib.cf_array_bitcast(c, self._c, dtype.code, rule)
        if answer == MOVED:
            return array_of(c, self._buffer, dtype)
        if answer == REFUSED:
            self._buffer.require_alive("bitcast")
            raise refuse("arrays/bitcast-rank", dtype=dtype.name, rank=len(self.shape))
        return None

    def expect(self, dtype: Dtype) -> Array:
        """The array itself if it has that dtype; refuses arrays/expect."""
        if instance("dtype", dtype, Dtype) is not self._dtype:
            raise refuse("arrays/expect", wanted=dtype.name, found=self._dtype.name)
        return self

    def get(self, index: Sequence[int]) -> Value:
        """The element at an index.

        Refuses arrays/index-rank, arrays/index-range, memory/dead, memory/exclusive, memory/off-host, memory/lost.
        """
        entries = self._index(index)
        bits = _new(_BITS)
        answer = _get(self._c, entries, bits)
        if answer:
            raise access_refusal("get", self, answer)
        return from_bits(self._dtype, (bits[0], bits[1]))

    def set(self, index: Sequence[int], value: Value) -> None:
        """Store a value at an index; stores to a sub-byte element's neighbours, from any thread, are kept.

        Refuses what ``get`` does, and dtypes/value-type, dtypes/value-range, memory/read-only, arrays/repeated.
        """
        entries = self._index(index)
        answer = _set(self._c, entries, value_bits(self._dtype, value))
        if answer:
            raise access_refusal("set", self, answer, writing=True)

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
        c = _new(_ARRAY)
        lib.cf_array_rebuffer(c, self._c, buffer._c)
        return array_of(c, buffer, self._dtype)

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

    def _index(self, index: Sequence[int]) -> Shape:
        entries = integers("index", index)
        shape = self.shape
        if len(entries) != len(shape):
            raise refuse("arrays/index-rank", index=entries, rank=len(shape))
        for entry, extent in zip(entries, shape, strict=True):
            if not 0 <= entry < extent:
                raise refuse("arrays/index-range", index=entries, shape=shape)
        return entries


def array_of(c: Any, buffer: Buffer, dtype: Dtype) -> Array:
    """An Array around a structure of the core that points into the buffer's."""
    array = _blank(Array)
    array._c = c
    array._buffer = buffer
    array._dtype = dtype
    return array


def fresh(device: Device, dtype: Dtype, shape: Shape, kind: MemoryKind = MemoryKind.DEVICE) -> Array:
    """A fresh C-contiguous array of a shape known to be within the limits."""
    size = math.prod(shape)
    buffer = allocate(device, -(-size * dtype.bits // 8), kind)
    c = _new(_ARRAY)
    lib.cf_array_contiguous(c, dtype.code, len(shape), shape, buffer._c)
    array = array_of(c, buffer, dtype)
    if size * dtype.bits % 8:
        placement.zero_tail(array)
    return array


def structure() -> Any:
    """An empty structure of the core for an array to come."""
    return _new(_ARRAY)


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
