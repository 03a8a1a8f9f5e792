"""CUDA memory shared with other libraries: DLPack and ``__cuda_array_interface__`` (version 3), both ways, always as
an export (A11), and what submitted work gets of buffers.

Outgoing memory is handed over in order: the consumer's stream waits for what the access must follow, the host only
where no driver has got that yet. Incoming memory is in order once the device's stream waits for the producer's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from counterfoil import dlpack, handles, views
from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, buffer_of
from counterfoil.cuda import driver
from counterfoil.cuda.device import Cuda, opened, pointer
from counterfoil.cuda.memory import CudaMemory
from counterfoil.cuda.probe import DriverFailed
from counterfoil.cuda.stream import StreamTimeline
from counterfoil.timeline import give, perform
from counterfoil_spec.arguments import integer
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import refuse, shown

if TYPE_CHECKING:
    from counterfoil.arrays import Array

_UNORDERED = -1
_NO_MEMORY = 0


class DeviceBytes:
    """The bytes of a buffer for submitted work: an address of the device's, and the stream to enqueue on."""

    __slots__ = ("nbytes", "pointer", "readonly", "stream")

    def __init__(self, device: Cuda, address: int, nbytes: int, readonly: bool) -> None:
        self.pointer = address
        self.nbytes = nbytes
        self.readonly = readonly
        self.stream = device.handle

    def __len__(self) -> int:
        return self.nbytes

    def __int__(self) -> int:
        return self.pointer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The bytes as a row of uint8, in order on ``stream``."""
        return _interface((self.nbytes,), "|u1", self.pointer, self.readonly, None, self.stream)

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes at {self.pointer:#x}>"


# --- going out -------------------------------------------------------------------------------------------------------


def device_of(array: Array) -> tuple[int, int]:
    """DLPack's device of an array of a CUDA device."""
    device = _device(array)
    return dlpack.CUDA if array.buffer.memory.opaque else dlpack.CUDA_HOST, device.ordinal


def interface(array: Array) -> dict[str, Any]:
    """``__cuda_array_interface__`` of an array of a CUDA device, in order on its stream.

    Refuses arrays/no-format, memory/dead, memory/exclusive and memory/lost.
    """
    seen = views.NUMPY_DTYPES.get(array.dtype)
    if seen is None:
        raise refuse("arrays/no-format", function="__cuda_array_interface__", dtype=array.dtype.name)
    device = _device(array)
    _hand_out(array.buffer, "__cuda_array_interface__", device.handle)
    contiguous = array._c.layout.flags & lib.CF_LAYOUT_CONTIGUOUS
    strides = None if contiguous else tuple(stride * seen.itemsize for stride in array.layout.strides)
    readonly = array.buffer.access is Access.READ
    return _interface(array.shape, seen.str, _first(array, pointer(array.buffer)), readonly, strides, device.handle)


def capsule(array: Array, seen: np.dtype[Any], stream: object, max_version: tuple[int, int] | None) -> Any:
    """A DLPack capsule of an array of a CUDA device, whose elements numpy calls ``seen``.

    ``stream``: the consumer's, as the array API standard says: None or 1 the legacy default one, 2 that of the thread,
    -1 none, else a handle. Host memory that no stream was named for is waited for.
    """
    handle = _stream(stream)
    if stream is None and not array.buffer.memory.opaque:
        _hand_out(array.buffer, "__dlpack__", None)
    else:
        _hand_out(array.buffer, "__dlpack__", handle)
    made = np.asarray(_Elements(array, seen)).__dlpack__(max_version=max_version)
    dlpack.place(made, *device_of(array))
    return made


class _Elements:
    """Elements as numpy describes them, at an address that numpy must not look at; keeps the memory."""

    def __init__(self, array: Array, seen: np.dtype[Any]) -> None:
        self._kept = array.buffer
        self.__array_interface__ = {
            "shape": array.shape,
            "typestr": seen.str,
            "data": (_first(array, _dlpack_base(array.buffer)), array.buffer.access is Access.READ),
            "strides": tuple(stride * seen.itemsize for stride in array.layout.strides),
            "version": 3,
        }


def _hand_out(buffer: Buffer, function: str, stream: int | None) -> None:
    """Mark memory exported, for a consumer on a stream (-1: on none, None: on the host)."""
    device = buffer.device
    assert isinstance(device, Cuda)
    held = buffer.claimed(function, exporting=True)
    try:
        writing = buffer.access is Access.READ_WRITE
        buffer.require_found(writing)
        if stream is None:
            buffer.reach(writing)
        elif stream != _UNORDERED:
            _let_follow(device, stream, buffer, writing)
        lib.cf_export(buffer._c)
        buffer.memory.share()
    except DriverFailed as failure:
        raise device.failed(failure) from None
    finally:
        if held:
            lib.cf_release(buffer._c)


def _let_follow(device: Cuda, stream: int, buffer: Buffer, writing: bool) -> None:
    """Let a consumer's stream of the buffer's device wait for what an access must follow.

    What no driver has got is brought about first.
    """
    for point in buffer.memory.points(writing):
        timeline, number = point
        if not isinstance(timeline, StreamTimeline):
            perform([point])
            continue
        give(point)
        if timeline.finishes_until(number):
            perform([point])
        elif timeline.reached < number and int(timeline.raw.handle) != stream:
            driver.follow_stream(device.primary, stream, timeline.primary, int(timeline.raw.handle))


def _stream(stream: object) -> int:
    """The handle of a consumer's stream; refuses arguments/wrong-type for what is none."""
    if stream is None:
        return driver.LEGACY_STREAM
    handle = integer("stream", stream)
    if handle < _UNORDERED or not handle:
        expected = "a stream: its handle, 1, 2, or -1 for none"
        raise refuse("arguments/wrong-type", argument="stream", expected=expected, value=shown(stream))
    return handle


# --- coming in -------------------------------------------------------------------------------------------------------


def place(ordinal: int, address: int, nbytes: int, keep: object, flags: int, opaque: bool) -> Buffer:
    """A buffer of a CUDA device over memory of another library's, which ``keep`` holds.

    Refuses arguments/wrong-type for memory of the host that the driver does not know as page-locked.
    """
    device = opened(ordinal)
    where = address if opaque or not nbytes else driver.mapped(address)
    if where is None:
        said = f"<{nbytes} bytes at {address:#x}>"
        raise refuse("arguments/wrong-type", argument="obj", expected="page-locked memory", value=said)
    owner = handles.adopted(device.timeline.owner, address, nbytes, flags, keep, False, opaque)
    return buffer_of(CudaMemory(owner, device, nbytes, where, opaque), 0, nbytes, device, not opaque)


def stream_of(ordinal: int) -> int:
    """The stream that a producer is to hand over to."""
    return opened(ordinal).handle


def follow_producer(ordinal: int, stream: int) -> None:
    """Let the device's stream wait for a producer's."""
    device = opened(ordinal)
    try:
        driver.follow_stream(device.primary, device.handle, device.primary, stream)
    except DriverFailed as failure:
        raise device.failed(failure) from None


def described(obj: Any) -> tuple[dict[str, Any], int]:
    """What an object's ``__cuda_array_interface__`` says, and the ordinal of the device that has its memory.

    That device's stream waits for the stream that it names, and no other device is opened. An object without memory is
    on device 0, and waits for nothing. Refuses arguments/wrong-type.
    """
    said = obj.__cuda_array_interface__
    address, _ = said["data"]
    found = driver.address_kind(address) if address else (_NO_MEMORY, 0)
    if said.get("mask") is not None or found is None:
        raise refuse("arguments/wrong-type", argument="obj", expected="unmasked CUDA memory", value=shown(obj))
    stream = said.get("stream")
    if stream is not None and address:
        follow_producer(found[1], _stream(stream))
    return said, found[1]


# --- how it is said --------------------------------------------------------------------------------------------------


def _device(array: Array) -> Cuda:
    assert isinstance(array.device, Cuda)
    return array.device


def _first(array: Array, base: int) -> int:
    """The address of the first index's element in a buffer that lies there; 0 where there is none."""
    return base + int(array._c.layout.offset) * array.dtype.bits // 8 if array.size else 0


def _dlpack_base(buffer: Buffer) -> int:
    """Where a buffer lies as DLPack says it: page-locked memory at its address for the host."""
    if buffer.memory.opaque or not buffer._c.nbytes:
        return pointer(buffer)
    return int(ffi.cast("uintptr_t", buffer.memory.c.base)) + int(buffer._c.offset)


def _interface(
    shape: tuple[int, ...], typestr: str, address: int, readonly: bool, strides: tuple[int, ...] | None, stream: int
) -> dict[str, Any]:
    return {
        "shape": shape,
        "typestr": typestr,
        "data": (address, readonly),
        "strides": strides,
        "stream": stream,
        "version": 3,
    }
