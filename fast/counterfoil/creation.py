"""Arrays from nothing, from Python values, and from foreign memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from counterfoil._native import ffi, lib
from counterfoil.arrays import Array, blank, filled, fresh
from counterfoil.buffers import adopt
from counterfoil.devices import Device, host
from counterfoil.layouts import Shape, check_shape
from counterfoil.numbers import Value, loose_of_values
from counterfoil_spec.arguments import instance, integers, read
from counterfoil_spec.dtypes import BUFFER_FORMATS, Dtype
from counterfoil_spec.interface import MemoryKind
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK, MAX_VIEW_RANK
from counterfoil_spec.refusals import refuse, shown

_HOST = host()
_DEVICE = MemoryKind.DEVICE


def empty(device: Device, dtype: Dtype, shape: Sequence[int], kind: MemoryKind = _DEVICE) -> Array:
    """A fresh C-contiguous array of unspecified elements; the bits past its last element are zero.

    Refuses the shape's faults, memory/makes-no-memory, memory/lost and memory/exhausted.
    """
    instance("device", device, Device)
    instance("dtype", dtype, Dtype)
    extents = integers("shape", shape)
    instance("kind", kind, MemoryKind)
    check_shape(extents)
    return fresh(device, dtype, extents, kind)


def host_array(dtype: Dtype, shape: Sequence[int]) -> Array:
    """``empty`` on the host."""
    instance("dtype", dtype, Dtype)
    extents = integers("shape", shape)
    if len(extents) > MAX_RANK or min(extents, default=1) < 1 or math.prod(extents) > MAX_ELEMENTS:
        check_shape(extents)
    return fresh(_HOST, dtype, extents)


def from_values(dtype: Dtype, shape: Sequence[int], values: Iterable[Value]) -> Array:
    """A fresh host array of the values in C order of indices, each stored as ``set`` stores it.

    Refuses the shape's faults, arrays/values-count, dtypes/value-type, dtypes/value-range and memory/exhausted.
    """
    instance("dtype", dtype, Dtype)
    extents = integers("shape", shape)
    wanted = math.prod(max(extent, 0) for extent in extents)
    most = wanted + 1 if wanted <= MAX_ELEMENTS else 1  # what has no length may be endless
    given = read(values, None if hasattr(type(values), "__len__") else most)
    if given is None:
        expected = "a sequence of values"
        raise refuse("arguments/wrong-type", argument="values", expected=expected, value=shown(values))
    check_shape(extents)
    if len(given) != math.prod(extents):
        raise refuse("arrays/values-count", values=len(given), shape=extents)
    loose = loose_of_values(dtype, given)
    return filled(fresh(_HOST, dtype, extents), loose)


def from_buffer(dtype: Dtype, obj: object) -> Array:
    """The array over an object's memory, in its shape, without a copy (A16: outside the order of work).

    Refuses arguments/not-a-buffer, arrays/no-format, arrays/format-mismatch, arrays/view-rank, arrays/not-contiguous
    and arrays/misaligned. Over a read-only object it is Read memory.
    """
    instance("dtype", dtype, Dtype)
    try:
        view = memoryview(obj)  # type: ignore[arg-type]
    except Exception:
        raise refuse("arguments/not-a-buffer", argument="obj", value=shown(obj)) from None
    if dtype not in BUFFER_FORMATS:
        raise refuse("arrays/no-format", function="from_buffer", dtype=dtype.name)
    if _format(view) != BUFFER_FORMATS[dtype]:
        raise refuse("arrays/format-mismatch", dtype=dtype.name, format=view.format)
    if view.ndim > MAX_VIEW_RANK:
        raise refuse("arrays/view-rank", function="from_buffer", rank=view.ndim, limit=MAX_VIEW_RANK)
    if view.nbytes and not view.c_contiguous:
        raise refuse("arrays/not-contiguous", function="from_buffer", shape=view.shape)
    return _over(dtype, view)


def over_memory(dtype: Dtype, shape: Shape, base: Any, nbytes: int, keep: object, readonly: bool) -> Array:
    """The C-contiguous host array over aligned foreign bytes that ``keep`` holds."""
    flags = lib.CF_MEMORY_EXPORTED | (lib.CF_MEMORY_READ if readonly else 0)
    buffer = adopt(_HOST, base, nbytes, keep, flags)
    array = blank(buffer, dtype)
    lib.cf_array_contiguous(array._c, dtype.code, len(shape), shape, buffer._c)
    return array


def _over(dtype: Dtype, view: memoryview) -> Array:
    shape = view.shape or ()
    if not view.nbytes:
        return over_memory(dtype, shape, ffi.NULL, 0, view, view.readonly)
    # numpy finds the address also of memory that is read-only or of a format the core's binding does not know.
    address = np.frombuffer(view.cast("B") if view.format != "B" or view.ndim != 1 else view, "u1").ctypes.data
    if address % dtype.alignment:
        raise refuse("arrays/misaligned", function="from_buffer", dtype=dtype.name, alignment=dtype.alignment)
    return over_memory(dtype, shape, ffi.cast("void *", address), view.nbytes, view, view.readonly)


def _format(view: memoryview) -> str:
    """The buffer format in the machine's own byte order, spelt as BUFFER_FORMATS spells it."""
    text = view.format or "B"
    if text[0] in "@=<":
        text = text[1:]
    # C's long is 64 bits here; its standard size, spelt with = or <, is 32.
    if text in ("l", "L"):
        wide = view.itemsize == 8
        return {"l": "q" if wide else "i", "L": "Q" if wide else "I"}[text]
    return text
