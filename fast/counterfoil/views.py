"""Host views of arrays: under a claim while a block runs, or handed out for good (A11)."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from counterfoil import arrays
from counterfoil._native import lib
from counterfoil_spec.dtypes import (
    BUFFER_FORMATS,
    Dtype,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from counterfoil_spec.interface import Access
from counterfoil_spec.limits import MAX_VIEW_RANK
from counterfoil_spec.refusals import refuse

NUMPY_DTYPES: dict[Dtype, np.dtype[Any]] = {
    dtype: np.dtype(code)
    for dtype, code in {
        float64: "<f8", float32: "<f4", float16: "<f2", int64: "<i8", uint64: "<u8", int32: "<i4", uint32: "<u4",
        int16: "<i2", uint16: "<u2", int8: "|i1", uint8: "|u1", complex128: "<c16", complex64: "<c8", bool_: "|b1",
    }.items()
}  # fmt: skip
"""The dtypes that numpy has too."""


class HostView:
    """The elements of a C-contiguous array as an ndarray, under a claim while a ``with`` block runs."""

    __slots__ = ("_array", "_function", "_held", "_writing")

    def __init__(self, array: arrays.Array, function: str, writing: bool) -> None:
        self._array = array
        self._function = function
        self._writing = writing
        self._held: list[None] = []  # one entry for each claim held; appended and popped in one step

    def __enter__(self) -> np.ndarray[Any, Any]:
        array = self._array
        require_format(array, self._function)
        answer = lib.cf_array_enter(array._c, self._writing)
        if answer:
            raise arrays.access_refusal(self._function, array, answer, self._writing)
        self._held.append(None)
        try:
            return ndarray(array, self._writing)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._held:
            raise RuntimeError(f"{self._function}: the block was not entered")
        self._held.pop()
        lib.cf_release(self._array.buffer._c)


def export(array: arrays.Array, function: str) -> np.ndarray[Any, Any]:
    """The elements as an ndarray outside the claims, read-only for Read memory."""
    require_format(array, function)
    array.buffer.hand_out(function)
    return ndarray(array, array.buffer.access is Access.READ_WRITE)


def ndarray(array: arrays.Array, writable: bool) -> np.ndarray[Any, Any]:
    """An ndarray over the array's own bytes; it keeps the memory allocated."""
    return strided(array, writable, NUMPY_DTYPES[array.dtype])


def strided(array: arrays.Array, writable: bool, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An ndarray over the array's own bytes read at a numpy dtype of the elements' width, whatever its strides."""
    layout = array._c.layout
    if not layout.size:
        result = np.empty(array.shape, dtype)
    else:
        width = dtype.itemsize
        first, end = layout.low * width, layout.high * width
        memory = array.buffer.memory.bytes_at(array.buffer._c.offset + first, end - first)
        strides = [stride * width for stride in array.layout.strides]
        result = np.ndarray(array.shape, dtype, memory, layout.offset * width - first, strides)
    result.flags.writeable = writable
    return result


def require_format(array: arrays.Array, function: str) -> None:
    """Refuse arrays/no-format, arrays/view-rank and arrays/not-contiguous, in that order."""
    if array.dtype not in BUFFER_FORMATS:
        raise refuse("arrays/no-format", function=function, dtype=array.dtype.name)
    layout = array._c.layout
    if layout.rank > MAX_VIEW_RANK:
        raise refuse("arrays/view-rank", function=function, rank=layout.rank, limit=MAX_VIEW_RANK)
    if not layout.flags & lib.CF_LAYOUT_CONTIGUOUS:
        raise refuse("arrays/not-contiguous", function=function, shape=array.shape)
