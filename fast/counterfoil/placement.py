"""Copies between arrays and devices: who moves the bytes, and when (arrays/copies-return)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from counterfoil import arrays
from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, allocate
from counterfoil.devices import Device
from counterfoil.timeline import Order
from counterfoil_spec.arguments import instance, integer, within
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import refuse


def to_device(array: arrays.Array, device: Device) -> arrays.Array:
    """``array``'s elements in a fresh buffer of ``device``, planned by the core (arrays/compact)."""
    source = array.buffer
    source.claimed("to_device")
    try:
        plan = ffi.new("cf_placement *")
        lib.cf_placement_plan(plan, array._c)
        if plan.nbytes and not device.makes_memory:
            raise refuse("memory/makes-no-memory", device=device.name, nbytes=plan.nbytes)
        source.require_found(False)
        target = allocate(device, plan.nbytes)
        result = arrays.blank(target, array.dtype)
        lib.cf_array_make(result._c, array.dtype.code, ffi.addressof(plan, "layout"), target._c)
        if plan.keep:
            copy_bytes(source.view(plan.first_byte, plan.nbytes), target)
        else:
            copy_elements(array, result, fresh=True)
    finally:
        lib.cf_release(source._c)
    return result


def copy(array: arrays.Array) -> arrays.Array:
    """A fresh C-contiguous array on ``array``'s device holding its elements."""
    source, device = array.buffer, array.device
    source.claimed("copy")
    try:
        if array.dtype.bits < 8 and array.size and not (device.addressable or device.computes):
            raise refuse("arrays/sub-byte-off-host", function="copy", dtype=array.dtype.name, device=device.name)
        if array.size:
            if not device.makes_memory:
                raise refuse("memory/makes-no-memory", device=device.name, nbytes=array.dtype.nbytes(array.size))
            source.require_found(False)
        result = arrays.fresh(device, array.dtype, array.shape)
        copy_elements(array, result)
    finally:
        lib.cf_release(source._c)
    return result


def transfer(src: arrays.Array, dst: arrays.Array) -> None:
    """Store ``src``'s elements into ``dst``, of the same dtype and shape, bit for bit.

    Refuses arrays/dtypes-differ, arrays/shapes-differ, memory/dead, memory/exclusive, memory/read-only,
    arrays/sub-byte-off-host, arrays/repeated, arrays/overlapping and memory/lost.
    """
    instance("src", src, arrays.Array)
    instance("dst", dst, arrays.Array)
    store(src, dst, "transfer")


def store(src: arrays.Array, dst: arrays.Array, function: str) -> None:
    """``transfer``, named as ``function``."""
    if src.dtype is not dst.dtype:
        raise refuse("arrays/dtypes-differ", function=function, source=src.dtype.name, destination=dst.dtype.name)
    if src.shape != dst.shape:
        raise refuse("arrays/shapes-differ", function=function, source=src.shape, destination=dst.shape)
    buffers = [src.buffer, dst.buffer]
    handles, where = [buffer._c for buffer in buffers], ffi.new("int *")
    answer = lib.cf_claims_take(handles, b"\x00\x01", 2, where)
    if answer:
        raise buffers[where[0]].claim_refusal(function, answer)
    try:
        _check_destination(src, dst, function)
        copy_elements(src, dst)
    finally:
        lib.cf_claims_release(handles, 2)


def submit_copy(src: Buffer, dst: Buffer) -> None:
    """Copy one buffer's bytes into another of the same length; at once where the host addresses both, else queued.

    Refuses memory/copy-length, memory/dead, memory/read-only, memory/copy-overlap and memory/lost.
    """
    instance("src", src, Buffer)
    instance("dst", dst, Buffer)
    if src.nbytes != dst.nbytes:
        raise refuse("memory/copy-length", source=src.nbytes, destination=dst.nbytes)
    src.require_alive("submit_copy")
    dst.require_alive("submit_copy")
    if dst.access is Access.READ:
        raise refuse("memory/read-only", function="submit_copy")
    if src.overlaps(dst):
        raise refuse("memory/copy-overlap")
    copy_bytes(src, dst)


def submit_fill(buffer: Buffer, byte: int) -> None:
    """Store a byte everywhere in a buffer: queued where its device has a timeline, else at once.

    Refuses arguments/integer-range, memory/dead, memory/read-only and memory/lost.
    """
    instance("buffer", buffer, Buffer)
    value = within("byte", integer("byte", byte), 0, 255)
    buffer.require_alive("submit_fill")
    if buffer.access is Access.READ:
        raise refuse("memory/read-only", function="submit_fill")

    def fill() -> None:
        buffer.bytes()[:] = bytes([value]) * buffer.nbytes

    runner = buffer.device if buffer.device.runs_work else None
    _move(runner, fill if buffer.nbytes else None, [], [buffer], lambda device: _copies().fill(device, buffer, value))


def zero_tail(array: arrays.Array) -> None:
    """Zero the bits past a fresh array's last element: at once where the host addresses them, else by its device."""
    buffer = array.buffer

    def zero() -> None:
        lib.cf_array_zero_tail(array._c)

    runner = None if buffer._c.addressable else buffer.device
    _move(runner, zero, [], [buffer], lambda device: _copies().zero_tail(device, array))


def copy_bytes(src: Buffer, dst: Buffer) -> None:
    """The bytes of ``src`` into ``dst``, of one length and sharing none; refuses memory/lost."""

    def move() -> None:
        if dst.memory.opaque:
            dst.memory.store(dst._c.offset, src.bytes())
        else:
            ffi.memmove(dst.bytes(), src.bytes(), dst.nbytes)

    runner = _runner(src, dst)
    _move(runner, move if dst.nbytes else None, [src], [dst], lambda device: _copies().copy(device, src, dst))


def copy_elements(src: arrays.Array, dst: arrays.Array, fresh: bool = False) -> None:
    """The elements of ``src`` into ``dst``, a pair that ``transfer`` would accept; refuses memory/lost.

    ``fresh``: the bits past the last element are zeroed with the copy.
    """
    place, last = divmod(dst._c.layout.high * dst.dtype.bits, 8)
    runner = _runner(src.buffer, dst.buffer)
    if src.dtype.bits < 8 and not (src.buffer._c.addressable or src.device.computes or dst.buffer.memory.opaque):
        runner = None  # the host gathers

    def move() -> None:
        if src.buffer.memory.opaque or dst.buffer.memory.opaque:
            _copies().through_host(dst, src, fresh)
            return
        if fresh and last:
            dst._c.data[place] &= (1 << last) - 1
        lib.cf_array_transfer(dst._c, src._c)

    still = not src.size or lib.cf_identical(dst._c, src._c)
    plan = lambda device: _copies().transfer(device, src, dst, fresh)  # noqa: E731
    _move(runner, None if still else move, [src.buffer], [dst.buffer], plan)


def touched(reads: list[Buffer], writes: list[Buffer]) -> dict[Order, bool]:
    """The memories that work names, and whether it writes them."""
    orders = {buffer.memory.ordered(): False for buffer in reads}
    return orders | {buffer.memory.ordered(): True for buffer in writes}


def _runner(src: Buffer, dst: Buffer) -> Device | None:
    """The device that copies: None for the host, at once, where it addresses both or no device has a timeline."""
    if src._c.addressable and dst._c.addressable:
        return None
    first, second = (dst, src) if src._c.addressable else (src, dst)
    for buffer in (first, second):
        if not buffer._c.addressable and buffer.device.runs_work:
            return buffer.device
    return None


def _copies() -> ModuleType:
    """What moves bytes of CUDA devices."""
    from counterfoil.cuda import copies

    return copies


def _move(
    runner: Device | None,
    move: Callable[[], Any] | None,
    reads: list[Buffer],
    writes: list[Buffer],
    plan: Callable[[Any], Any],
) -> None:
    """Run or queue a movement of bytes after the work it must follow; None moves nothing, and so waits for nothing.

    ``plan``: the same movement by the CUDA device it is given. Refuses memory/lost, also for a movement of nothing.
    """
    named = [*((buffer, False) for buffer in reads), *((buffer, True) for buffer in writes)]
    for buffer, writing in named:
        buffer.require_found(writing)
    if move is None:
        return
    for buffer, _ in named:
        buffer.memory.require_whole()
    if runner is not None:
        runner.queue(move, touched(reads, writes), plan)
        return
    for buffer, writing in named:
        buffer.reach(writing)
    move()


def _check_destination(src: arrays.Array, dst: arrays.Array, function: str) -> None:
    if dst.dtype.bits < 8 and dst.size and not (dst.buffer._c.addressable or dst.device.computes):
        raise refuse("arrays/sub-byte-off-host", function=function, dtype=dst.dtype.name, device=dst.device.name)
    if not lib.cf_layout_is_distinct(ffi.addressof(dst._c, "layout")):
        raise arrays.repeated_refusal(function, dst)
    if lib.cf_overlapping(dst._c, src._c) and not lib.cf_identical(dst._c, src._c):
        raise refuse("arrays/overlapping", function=function)
