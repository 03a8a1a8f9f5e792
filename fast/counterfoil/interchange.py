"""Arrays shared with other libraries: numpy's array interface and DLPack, both ways, always as an export (A11).

Python code cannot offer the buffer protocol before Python 3.12, so ``memoryview(array)`` is not among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from counterfoil import arrays, dlpack, views
from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, adopt
from counterfoil.devices import host
from counterfoil.layouts import Layout
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import BackendUnavailable, refuse, shown

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

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory of a CUDA device, in order on its stream; AttributeError for an array of any other device.

        Refuses arrays/no-format, memory/dead, memory/exclusive and memory/lost.
        """
        array = _as_array(self)
        if not array.device.computes:
            raise AttributeError("__cuda_array_interface__: the array is on no CUDA device")
        return _exchange().interface(array)  # type: ignore[no-any-return]

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU or a CUDA device; refuses arrays/not-on-host for an array of any other device."""
        device = _as_array(self).device
        if device.computes:
            return _exchange().device_of(_as_array(self))  # type: ignore[no-any-return]
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

        On a CUDA device ``stream`` is the consumer's, which waits for the memory's work. Refuses arrays/no-format for
        elements narrower than a byte, and what ``Buffer.export`` refuses. BufferError for another device's memory than
        asked for, unless a copy on the host will do.
        """
        array = _as_array(self)
        if array.dtype.bits < 8:
            raise refuse("arrays/no-format", function="__dlpack__", dtype=array.dtype.name)
        if array.device.computes:
            if dl_device == (dlpack.CPU, 0) and copy is not False:
                return array.to_device(host()).__dlpack__(max_version=max_version)
            if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
                raise BufferError(f"__dlpack__: the memory is of DLPack device {self.__dlpack_device__()}")
            given = array.copy() if copy else array
            seen = views.NUMPY_DTYPES.get(array.dtype) or BIT_DTYPES[array.dtype.bits // 8]
            capsule = _exchange().capsule(given, seen, stream, max_version)
        else:
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
    if hasattr(type(obj), "__cuda_array_interface__"):
        return _of_cuda_interface(obj)
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
    tensor = dlpack.borrowed(obj, _stream_for(obj))
    place = None if tensor.device[0] == dlpack.CPU else _placing(*tensor.device)
    array = _over(
        tensor.dtype, tensor.address, tensor.shape, tensor.strides, tensor, tensor.readonly, "from_dlpack", place
    )
    tensor.take()
    return array


def _exchange() -> ModuleType:
    """What shares memory of CUDA devices."""
    from counterfoil.cuda import exchange

    return exchange


def _stream_for(obj: Any) -> int | None:
    """The stream that a producer on a CUDA device hands over to; None on any other.

    Refuses arrays/not-on-host where this installation has no CUDA.
    """
    where = getattr(obj, "__dlpack_device__", None)
    kind, ordinal = (dlpack.CPU, 0) if where is None else where()
    if kind not in (dlpack.CUDA, dlpack.CUDA_MANAGED):
        return None
    return _unless_absent(kind, lambda: _exchange().stream_of(ordinal))  # type: ignore[no-any-return]


def _placing(kind: int, ordinal: int) -> Callable[..., Buffer]:
    """What makes a buffer over a tensor's memory on a CUDA device; refuses arrays/not-on-host without CUDA."""
    exchange = _exchange()
    _unless_absent(kind, lambda: exchange.stream_of(ordinal))

    def place(address: int, nbytes: int, keep: object, flags: int) -> Buffer:
        buffer: Buffer = exchange.place(ordinal, address, nbytes, keep, flags, kind != dlpack.CUDA_HOST)
        return buffer

    return place


def _unless_absent(kind: int, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except BackendUnavailable:
        raise dlpack.off_host(kind) from None


def _of_cuda_interface(obj: Any) -> arrays.Array:
    """The array over memory described by ``__cuda_array_interface__``."""
    exchange = _exchange()
    said, ordinal = exchange.described(obj)
    theirs = np.dtype(said["typestr"])
    address, readonly = said["data"]
    shape, strides = tuple(said["shape"]), said.get("strides")
    dtype = _OURS.get(theirs.newbyteorder("="))
    if dtype is None:
        raise refuse("arrays/no-format", function="asarray", dtype=str(theirs))
    if not theirs.isnative:
        raise refuse("arrays/format-mismatch", dtype=dtype.name, format=theirs.str)
    steps = _steps(shape, strides, theirs.itemsize)
    if any(step % theirs.itemsize for step in steps):
        raise refuse("arrays/misaligned", function="asarray", dtype=dtype.name, alignment=theirs.itemsize)
    elements = tuple(step // theirs.itemsize for step in steps)
    return _over(dtype, address or 0, shape, elements, obj, readonly, "asarray", _placing(dlpack.CUDA, ordinal))


def _steps(shape: tuple[int, ...], strides: tuple[int, ...] | None, width: int) -> tuple[int, ...]:
    """Strides in bytes, 0 along axes of one entry; without any, those of C order."""
    if strides is None:
        strides = tuple(width * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return tuple(stride if extent > 1 else 0 for stride, extent in zip(strides, shape, strict=True))


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
    dtype: Dtype,
    address: int,
    shape: Any,
    strides: Any,
    keep: object,
    readonly: bool,
    function: str,
    place: Callable[..., Buffer] | None = None,
) -> arrays.Array:
    """The array over foreign elements, the first index's at ``address``; strides in elements.

    On the host, or where ``place`` makes a buffer over the bytes.
    """
    reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    below = -sum(reach for reach in reaches if reach < 0)
    layout = Layout(shape, strides, below)
    width = dtype.bits // 8
    if layout.size and (address - below * width) % dtype.alignment:
        raise refuse("arrays/misaligned", function=function, dtype=dtype.name, alignment=dtype.alignment)
    flags = lib.CF_MEMORY_EXPORTED | (lib.CF_MEMORY_READ if readonly else 0)
    base = address - below * width if layout.size else 0
    nbytes = layout.span[1] * width
    if place is not None:
        return arrays.Array(dtype, layout, place(base, nbytes, keep, flags))
    return arrays.Array(dtype, layout, adopt(host(), ffi.cast("void *", base), nbytes, keep, flags))
