"""Copies between arrays, bit for bit, on any devices, running no kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from counterfoil_reference import checks, elements
from counterfoil_reference.layouts import Layout
from counterfoil_reference.sharing import byte_hull, identical, overlap
from counterfoil_reference.work import check_uses, move, move_now
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.arrays import Array
    from counterfoil_reference.buffers import Buffer
    from counterfoil_reference.devices import Device


def to_device(source: Array, device: Device) -> Array:
    """The elements on ``device``, also when they are there, in a fresh buffer of at most the bytes they need.

    Where the source's byte range is no larger than those, the copy keeps its layout (and a sub-byte copy the bits
    beside its elements); otherwise its axes are compacted. Refuses memory/dead, exclusive, makes-no-memory, lost,
    exhausted.
    """
    checks.check_access("to_device", source.buffer, Access.READ)
    first, last = byte_hull(source)
    keeps = last - first <= needed_bytes(source)
    nbytes = last - first if keeps else needed_bytes(source)
    device.makes(nbytes)
    checks.check_unlost(source.buffer, Access.READ)
    target = device.buffer(nbytes, MemoryKind.DEVICE)
    layout = shifted(source, first) if keeps else compacted(source.layout)
    copied = type(source).over(source.dtype, layout, target)
    if keeps:
        _copy_range(source, copied, first)
    else:
        _gather(source, copied)
    return copied


def needed_bytes(source: Array) -> int:
    """The bytes of one element per index, an axis of stride 0 counted once."""
    layout = source.layout
    moving = (extent for extent, stride in zip(layout.shape, layout.strides, strict=True) if stride != 0)
    return source.dtype.nbytes(math.prod(moving) if layout.size else 0)


def shifted(source: Array, first: int) -> Layout:
    """The source's layout in a buffer that begins at its byte ``first``."""
    layout = source.layout
    return Layout(layout.shape, layout.strides, layout.offset - first * 8 // source.dtype.bits)


def compacted(layout: Layout) -> Layout:
    """The axes by decreasing stride magnitude, ties in axis order: the last at 1, each other past those after it.

    Signs stay, stride 0 stays 0, and the least position is 0.
    """
    moving = [axis for axis in range(layout.rank) if layout.strides[axis] != 0]
    moving.sort(key=lambda axis: -abs(layout.strides[axis]))
    strides = [0] * layout.rank
    offset, step = 0, 1
    for axis in reversed(moving):
        if layout.strides[axis] > 0:
            strides[axis] = step
        else:
            strides[axis] = -step
            offset += (layout.shape[axis] - 1) * step
        step *= layout.shape[axis]
    return Layout(layout.shape, strides, offset)


def _copy_range(source: Array, copied: Array, first: int) -> None:
    """Copy whole bytes from the source's byte ``first`` on."""
    src, dst = source.buffer, copied.buffer
    if dst.nbytes:
        move(src, dst, lambda: dst.memory.write(0, src.memory.read(src.first + first, dst.nbytes)))


def _gather(source: Array, copied: Array) -> None:
    """Store the elements one by one, and zero past the last.

    The host gathers elements narrower than a byte itself where it does not address their memory and no computing device
    takes part: they are there on return.
    """
    src, dst = source.buffer, copied.buffer

    def work() -> None:
        dst.memory.write(0, bytes(dst.nbytes))
        elements.store_codes(copied, elements.codes(source))

    if source.dtype.bits < 8 and not src.memory.on_host and not computed(src, dst):
        move_now(src, dst, work)
    else:
        move(src, dst, work)


def transfer(src: Array, dst: Array) -> None:
    """Store the elements of ``src`` into ``dst``, of one dtype and shape, and change no other bit.

    Refuses arrays/dtypes-differ, shapes-differ, memory/dead, exclusive, read-only, arrays/sub-byte-off-host,
    repeated, overlapping, memory/lost. Arrays identical or without an element leave nothing to do.
    """
    if src.dtype is not dst.dtype:
        raise refuse("arrays/dtypes-differ", function="transfer", source=src.dtype.name, destination=dst.dtype.name)
    if src.shape != dst.shape:
        raise refuse("arrays/shapes-differ", function="transfer", source=src.shape, destination=dst.shape)
    checks.check_live("transfer", src.buffer, dst.buffer)
    checks.check_unheld("transfer", src.buffer, dst.buffer)
    checks.check_writable("transfer", dst.buffer)
    check_sub_byte("transfer", dst, dst.buffer.memory.on_host)
    if not dst.layout.is_distinct:
        raise refuse("arrays/repeated", function="transfer", dtype=dst.dtype.name, shape=dst.shape)
    if overlap(src, dst) and not identical(src, dst):
        raise refuse("arrays/overlapping", function="transfer")
    check_uses([src.buffer], [dst.buffer])
    if not identical(src, dst):
        store(src, dst)


def check_sub_byte(function: str, array: Array, on_host: bool) -> None:
    """Refuse arrays/sub-byte-off-host for elements narrower than a byte written where the host addresses nothing and
    nothing computes."""
    if array.dtype.bits < 8 and array.layout.size > 0 and not on_host and not array.device.computes:
        raise refuse(
            "arrays/sub-byte-off-host", function=function, dtype=array.dtype.name, device=array.device.name
        )


def check_copy(source: Array) -> None:
    """What ``Array.copy`` refuses before it makes its array: memory/dead, exclusive, arrays/sub-byte-off-host,
    memory/makes-no-memory, lost."""
    checks.check_access("copy", source.buffer, Access.READ)
    check_sub_byte("copy", source, source.device.addressable)
    source.device.makes(source.dtype.nbytes(source.layout.size))
    checks.check_unlost(source.buffer, Access.READ)


def computed(*buffers: Buffer) -> bool:
    """Whether a buffer lies off the host on a device that computes: a copy there is work of a device."""
    return any(not buffer.memory.on_host and buffer.device.computes for buffer in buffers)


def store(src: Array, dst: Array) -> None:
    """Store elements that may be stored; the host gathers those narrower than a byte, wherever nothing computes."""

    def work() -> None:
        elements.store_codes(dst, elements.codes(src))

    if src.layout.size == 0:
        return
    if src.dtype.bits < 8 and not computed(src.buffer, dst.buffer):
        move_now(src.buffer, dst.buffer, work)
    else:
        move(src.buffer, dst.buffer, work)
