"""Movements of bytes that a CUDA device does: each is planned at the call, and is one submission.

Bytes that lie alike on both sides are one copy of the driver's. Otherwise kernels gather or scatter what the device
addresses, and the host the rest, through page-locked memory: before the copy to the device, when the submission is
given; after the copy to the host, when it is reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from counterfoil import buffers, devices, handles
from counterfoil._native import ffi, lib
from counterfoil.arrays import Array, blank
from counterfoil.buffers import Buffer, Memory, buffer_of
from counterfoil.cuda import driver
from counterfoil.cuda.device import Cuda, pointer
from counterfoil_spec.interface import MemoryKind

if TYPE_CHECKING:
    from counterfoil.timeline import Point


class Work(NamedTuple):
    """A planned movement, as ``Cuda.submit`` takes it."""

    issue: Callable[[], None]
    finish: Callable[[], None] | None = None
    reached: tuple[Point, ...] = ()


def fill(device: Cuda, buffer: Buffer, byte: int) -> Work:
    """A byte everywhere in a buffer."""
    return Work(lambda: driver.fill(pointer(buffer), byte, buffer.nbytes, device.timeline.raw))


def zero_tail(device: Cuda, array: Array) -> Work:
    """Zeros past the last element of a fresh array; what the last byte holds before is what fresh memory does."""
    buffer, kept = array.buffer, array.size * array.dtype.bits % 8
    byte = (buffers.poison() or 0) & ((1 << kept) - 1)
    return Work(lambda: driver.fill(pointer(buffer) + buffer.nbytes - 1, byte, 1, device.timeline.raw))


def copy(device: Cuda, src: Buffer, dst: Buffer) -> Work:
    """The bytes of a buffer into another of the same length."""
    stream = device.timeline.raw
    if src.memory.opaque and dst.memory.opaque:
        return Work(lambda: _enqueue(device, src, dst))
    if src.memory.opaque:
        return Work(lambda: driver.to_host(dst.bytes(), pointer(src), stream))
    # What is not page-locked the driver may read at once: it has to be there by then.
    reached = () if src.memory.pointer else tuple(src.memory.points(False))
    return Work(lambda: driver.to_device(pointer(dst), src.bytes(), stream), reached=reached)


def _enqueue(device: Cuda, src: Buffer, dst: Buffer) -> None:
    """Enqueue the copy of bytes that devices have, of one device or of two."""
    to, of, stream = dst.memory.device, src.memory.device, device.timeline.raw
    assert isinstance(to, Cuda) and isinstance(of, Cuda)
    if to is of:
        driver.within(pointer(dst), pointer(src), dst.nbytes, stream)
    else:
        driver.between(to.primary, pointer(dst), of.primary, pointer(src), dst.nbytes, stream)


def transfer(device: Cuda, src: Array, dst: Array, fresh: bool) -> Work:
    """The elements of an array into another; ``fresh``: the bits past the last element are zeroed."""
    if _whole(src) and _whole(dst):
        return copy(device, _bytes(src), _bytes(dst))
    tail = zero_tail_of(device, dst) if fresh else None
    if not _here(device, src):
        return _from_host(device, src, dst, tail)
    if not _here(device, dst) or _is_hosts(dst):
        return _to_peer(device, src, dst, fresh) if dst.buffer.memory.opaque else _to_host(device, src, dst, fresh)
    move = _moving(device, dst, src)

    def issue() -> None:
        if tail is not None:
            tail()
        move()

    return Work(issue)


def scratch_like(device: Cuda, array: Array) -> Array:
    """A C-contiguous array of that dtype and shape in scratch memory of the device."""
    return _staged(device, array, MemoryKind.DEVICE)


def brought(device: Cuda, src: Array, dst: Array) -> Work:
    """The elements of such an array into one in memory that the host addresses, where others keep their bits."""
    if _whole(dst):
        into, finish = _bytes(dst), None
    else:
        staged = _staged(device, dst, MemoryKind.PINNED)
        into, finish = staged.buffer, lambda: lib.cf_array_transfer(dst._c, staged._c)
    return Work(lambda: driver.to_host(into.bytes(), pointer(src.buffer), device.timeline.raw), finish)


def through_host(dst: Array, src: Array, fresh: bool) -> None:
    """A transfer now, on the host, between any devices; nothing has to be followed any more."""
    read = _image(src)
    written = _image(dst)
    if fresh:
        lib.cf_array_zero_tail(written._c)
    lib.cf_array_transfer(written._c, read._c)
    if dst.buffer.memory.opaque:
        dst.buffer.memory.store(dst.buffer._c.offset + _span(dst)[0], written.buffer.bytes())


def zero_tail_of(device: Cuda, dst: Array) -> Callable[[], None] | None:
    """Enqueues zeros into the byte of a fresh array that its last elements share with nothing; None without one."""
    place, last = divmod(int(dst._c.layout.high) * dst.dtype.bits, 8)
    if not last or not _here(device, dst):
        return None
    return lambda: driver.fill(pointer(dst.buffer) + place, 0, 1, device.timeline.raw)


# --- one side on the host --------------------------------------------------------------------------------------------


def _from_host(device: Cuda, src: Array, dst: Array, tail: Callable[[], None] | None) -> Work:
    """The host gathers when the work is given, so everything the source follows must have been reached by then."""
    staged = _staged(device, src, MemoryKind.PINNED)
    landed = dst if _whole(dst) else _staged(device, src, MemoryKind.DEVICE)
    move = _nothing if landed is dst else _moving(device, dst, landed)

    def issue() -> None:
        lib.cf_array_transfer(staged._c, src._c)
        if tail is not None:
            tail()
        driver.to_device(pointer(_bytes(landed)), staged.buffer.bytes(), device.timeline.raw)
        move()

    return Work(issue, None, tuple(src.buffer.memory.points(False)))


def _to_host(device: Cuda, src: Array, dst: Array, fresh: bool) -> Work:
    """The device gathers, the host scatters once the bytes are there, unless they lie as they must."""
    if _whole(dst):
        return Work(_fetching(device, src, _bytes(dst)))
    staged = _staged(device, src, MemoryKind.PINNED)

    def finish() -> None:
        if fresh:
            lib.cf_array_zero_tail(dst._c)
        lib.cf_array_transfer(dst._c, staged._c)

    return Work(_fetching(device, src, staged.buffer), finish)


def _fetching(device: Cuda, src: Array, into: Buffer) -> Callable[[], None]:
    """Enqueues what brings the elements, in C order, into bytes of the host's."""
    gathered = src if _whole(src) else _staged(device, src, MemoryKind.DEVICE)
    gather = _nothing if gathered is src else _moving(device, gathered, src)

    def issue() -> None:
        gather()
        driver.to_host(into.bytes(), pointer(_bytes(gathered)), device.timeline.raw)

    return issue


def _to_peer(device: Cuda, src: Array, dst: Array, fresh: bool) -> Work:
    """Into memory of another CUDA device: its bytes are not rearranged by this one, but by the host."""
    if _whole(dst):
        gathered = _staged(device, src, MemoryKind.DEVICE)
        gather = _moving(device, gathered, src)

        def issue() -> None:
            gather()
            _enqueue(device, gathered.buffer, _bytes(dst))

        return Work(issue)
    staged = _staged(device, src, MemoryKind.PINNED)
    return Work(_fetching(device, src, staged.buffer), lambda: through_host(dst, staged, fresh))


# --- what lies where -------------------------------------------------------------------------------------------------


def _here(device: Cuda, array: Array) -> bool:
    """Whether the device's kernels address the elements."""
    return array.device is device


def _is_hosts(array: Array) -> bool:
    """Whether it is the host that stores the elements: narrower than a byte, in memory that it addresses."""
    return array.dtype.bits < 8 and not array.buffer.memory.opaque


def _whole(array: Array) -> bool:
    """Whether the elements are bytes in a row, in C order, and nothing else is in them."""
    layout, bits = array._c.layout, array.dtype.bits
    return bool(layout.flags & lib.CF_LAYOUT_CONTIGUOUS) and not (layout.offset * bits % 8 or layout.size * bits % 8)


def _bytes(array: Array) -> Buffer:
    """The bytes of an array that is whole, or of one in scratch memory."""
    bits = array.dtype.bits
    return array.buffer.part(array._c.layout.offset * bits // 8, -(-array.size * bits // 8))


def _staged(device: Cuda, like: Array, kind: MemoryKind) -> Array:
    """A C-contiguous array of that dtype and shape in scratch memory, whole unless its elements end within a byte."""
    nbytes = -(-like.size * like.dtype.bits // 8)
    array = blank(device.scratch(nbytes, kind), like.dtype)
    array._contiguous(like.dtype.code, like.shape, int(ffi.cast("uintptr_t", array.buffer._c)))
    return array


def _moving(device: Cuda, dst: Array, src: Array) -> Callable[[], None]:
    """Enqueues the kernel that moves elements between what the device addresses."""
    from counterfoil.cuda.kernels import moving

    return moving.plan(device, dst, src)


def _nothing() -> None:
    """There is nothing to rearrange."""


def _span(array: Array) -> tuple[int, int]:
    """The bytes of its buffer that hold bits of an array with an element: the first, and one past the last."""
    layout, bits = array._c.layout, array.dtype.bits
    return int(layout.low) * bits // 8, -(-int(layout.high) * bits // 8)


def _image(array: Array) -> Array:
    """The array itself where the host has an address for it, else one over a copy of its bytes as they are now."""
    if not array.buffer.memory.opaque:
        return array
    first, end = _span(array)
    data = bytearray(array.buffer.memory.bytes_at(array.buffer._c.offset + first, end - first))
    host = devices.host()
    base = ffi.from_buffer(data)
    owner = handles.adopted(host.timeline.owner, int(ffi.cast("uintptr_t", base)), len(data), 0, base)
    buffer = buffer_of(Memory(owner, host, len(data)), 0, len(data), host, 1)
    layout = ffi.new("cf_layout *", array._c.layout)
    skipped = first * 8 // array.dtype.bits
    layout.offset -= skipped
    layout.low -= skipped
    layout.high -= skipped
    image = blank(buffer, array.dtype)
    rule = lib.cf_array_make(image._c, array.dtype.code, layout, buffer._c)
    assert not rule, "a copy of an array's bytes holds the array"
    return image
