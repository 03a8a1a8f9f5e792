"""Host addresses of Python objects that give their memory through the buffer protocol."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

_PyBUF_SIMPLE = 0


class _PyBuffer(ctypes.Structure):
    """CPython's ``Py_buffer``."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


def address_of(data: bytearray | memoryview) -> int:
    """The address of the first byte of a C-contiguous object; 0 where it has none."""
    view = _PyBuffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(view), _PyBUF_SIMPLE)
    address = view.buf
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    return int(address or 0)


@functools.lru_cache(maxsize=256)
def _flat(nbytes: int) -> Any:
    """The class of that many bytes at an address; unlike ctypes' own array classes its objects take attributes."""
    return type("_Bytes", (ctypes.Array,), {"_type_": ctypes.c_ubyte, "_length_": nbytes})


def bytes_of(view: memoryview) -> memoryview:
    """The bytes of a C-contiguous view of any format, as one axis of format ``B``; they keep the view alive."""
    shared = _flat(view.nbytes).from_address(address_of(view))
    shared.owner = view
    found = memoryview(shared).cast("B")
    return found.toreadonly() if view.readonly else found
