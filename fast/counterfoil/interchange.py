"""Arrays shared with other libraries: numpy's array interface and DLPack, both ways, always as an export (A11).

Python code cannot offer the buffer protocol before Python 3.12, so ``memoryview(array)`` is not among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterfoil import arrays, dlpack, views
from counterfoil._native import ffi, lib
from counterfoil.buffers import adopt
from counterfoil.devices import host
from counterfoil.layouts import Layout
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import refuse, shown

BIT_DTYPES: dict[int, np.dtype[Any]] = {2: np.dtype("<u2"), 1: np.dtype("|u1")}
"""What numpy sees of a dtype it lacks, by bytes per element: its bits."""

# ml_dtypes' formats that have our bits; its 4-bit ones take a byte each, and are not.
_FOREIGN = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_OURS: dict[np.dtype[Any], Dtype] = {theirs: ours for ours, theirs in views.NUMPY_DTYPES.items()}


class Interchange:
    """The protocols by which other libraries take an array's memory. Each use exports it."""

    __slots__ = ()

    _c: Any

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """numpy's description of the memory. Refuses arrays/no-format and what ``Buffer.export`` refuses."""
        shared = _exported(self, "__array_interface__")
        return {**shared.__array_interface__, "strides": shared.strides, "version": 3}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements as an ndarray, without a copy unless asked for or needed for another numpy dtype."""
        shared = _exported(self, "__array__")
        return np.array(shared, dtype=dtype, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU; refuses arrays/not-on-host for an array of any other device."""
        device = _as_array(self).device
        if device is not host():
            raise refuse("arrays/not-on-host", function="__dlpack_device__", device=device.name)
        return dlpack.CPU, 0

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule over the memory, versioned where the consumer knows versions, with Read memory marked read-only.

        Refuses arrays/no-format for elements narrower than a byte, and what ``Buffer.export`` refuses.
        """
        array = _as_array(self)
        if array.dtype.bits < 8:
            raise refuse("arrays/no-format", function="__dlpack__", dtype=array.dtype.name)
        shared = _exported(self, "__dlpack__", any_format=True)
        capsule = shared.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if array.dtype not in views.NUMPY_DTYPES:
            dlpack.retype(capsule, array.dtype)
        return capsule


def asarray(obj: Any) -> arrays.Array:
    """The array over another library's memory, strides and offset included; never a copy.

    Takes objects with ``__dlpack__``, numpy arrays, and what numpy views without copying. Read-only memory stays
    Read memory. Refuses arguments/wrong-type, arrays/no-format, arrays/format-mismatch for a foreign byte order,
    arrays/misaligned for elements or strides off the dtype's multiples, and layouts/rank.
    """
    if isinstance(obj, arrays.Array):
        return obj
    if hasattr(type(obj), "__dlpack__") and not isinstance(obj, (np.ndarray, np.generic)):
        return from_dlpack(obj)
    try:
        theirs = np.asarray(obj, copy=False)
    except Exception:
        expected = "an array or a buffer to share"
        raise refuse("arguments/wrong-type", argument="obj", expected=expected, value=shown(obj)) from None
    return _of_ndarray(theirs)


def from_dlpack(obj: Any) -> arrays.Array:
    """The array over the memory of an object with ``__dlpack__``; its deleter is called once, when ours is gone.

    Refuses arguments/wrong-type, arrays/not-on-host, arrays/no-format, arrays/misaligned and layouts/...
    """
    tensor = dlpack.borrowed(obj)
    array = _over(tensor.dtype, tensor.address, tensor.shape, tensor.strides, tensor, tensor.readonly, "from_dlpack")
    tensor.take()
    return array


def _as_array(value: object) -> arrays.Array:
    assert isinstance(value, arrays.Array)
    return value


def _exported(value: object, function: str, any_format: bool = False) -> np.ndarray[Any, Any]:
    array = _as_array(value)
    if array.dtype in views.NUMPY_DTYPES:
        seen = views.NUMPY_DTYPES[array.dtype]
    elif any_format:
        seen = BIT_DTYPES[array.dtype.bits // 8]
    else:
        raise refuse("arrays/no-format", function=function, dtype=array.dtype.name)
    array.buffer.hand_out(function)
    return views.strided(array, array.buffer.access is Access.READ_WRITE, seen)


def _of_ndarray(theirs: np.ndarray[Any, Any]) -> arrays.Array:
    native = theirs.dtype.newbyteorder("=")
    dtype = _OURS.get(native)
    if dtype is None and theirs.dtype.name in _FOREIGN:
        dtype = Dtype.of_name(theirs.dtype.name)
    if dtype is None:
        raise refuse("arrays/no-format", function="asarray", dtype=str(theirs.dtype))
    if theirs.dtype != native:
        raise refuse("arrays/format-mismatch", dtype=dtype.name, format=theirs.dtype.str)
    width = theirs.itemsize
    steps = [stride if extent > 1 else 0 for stride, extent in zip(theirs.strides, theirs.shape, strict=True)]
    if theirs.size and any(step % width for step in steps):
        raise refuse("arrays/misaligned", function="asarray", dtype=dtype.name, alignment=width)
    strides = tuple(step // width for step in steps)
    address = theirs.__array_interface__["data"][0]
    return _over(dtype, address, theirs.shape, strides, theirs, not theirs.flags.writeable, "asarray")


def _over(
    dtype: Dtype, address: int, shape: Any, strides: Any, keep: object, readonly: bool, function: str
) -> arrays.Array:
    """The host array over foreign elements, the first index's at ``address``; strides in elements."""
    reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    below = -sum(reach for reach in reaches if reach < 0)
    layout = Layout(shape, strides, below)
    width = dtype.bits // 8
    if layout.size and (address - below * width) % dtype.alignment:
        raise refuse("arrays/misaligned", function=function, dtype=dtype.name, alignment=dtype.alignment)
    flags = lib.CF_MEMORY_EXPORTED | (lib.CF_MEMORY_READ if readonly else 0)
    base = ffi.cast("void *", address - below * width) if layout.size else ffi.NULL
    return arrays.Array(dtype, layout, adopt(host(), base, layout.span[1] * width, keep, flags))
