"""Submitted work: calls, copies and fills on a timeline, or at once where the host can do them (A9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from counterfoil_reference import checks
from counterfoil_reference.arguments import function, sequence
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.devices import Device
from counterfoil_spec.arguments import instance, integer, within
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import refuse


def submit(device: Device, work: Callable[..., object], reads: Iterable[Buffer], writes: Iterable[Buffer]) -> int:
    """Queue ``work(*views)``: one byte view per buffer of ``reads`` (read-only), then of ``writes``; its number.

    Refuses memory/runs-no-work, dead, read-only, wrong-device and lost.
    """
    device = instance("device", device, Device)
    work = function("work", work)
    read, written = sequence("reads", reads, Buffer), sequence("writes", writes, Buffer)
    if not device.runs_work:
        raise refuse("memory/runs-no-work", device=device.name)
    checks.check_live("submit", *read, *written)
    checks.check_writable("submit", *written)
    for buffer in (*read, *written):
        if buffer.device is not device:
            raise refuse("memory/wrong-device", function="submit", device=device.name, found=buffer.device.name)
    if device.lost is not None:
        raise device.loss()
    check_uses(read, written)
    return queue(device, lambda: work(*_views(read, written)), read, written)


def _views(read: Iterable[Buffer], written: Iterable[Buffer]) -> list[memoryview]:
    named = [(buffer, Access.READ) for buffer in read] + [(buffer, Access.READ_WRITE) for buffer in written]
    return [buffer.memory.view(buffer.first, buffer.nbytes, access) for buffer, access in named]


def check_uses(read: Iterable[Buffer], written: Iterable[Buffer]) -> None:
    """Raise memory/lost for the first buffer whose use would need what a lost device held or dropped."""
    for buffer in read:
        checks.check_unlost(buffer, Access.READ)
    for buffer in written:
        checks.check_unlost(buffer, Access.READ_WRITE)


def queue(
    device: Device, work: Callable[[], object], read: tuple[Buffer, ...], written: tuple[Buffer, ...]
) -> int:
    """Put work on the device's timeline after all it must follow, and stamp the memory it uses."""
    uses = [(b.memory, Access.READ) for b in read] + [(b.memory, Access.READ_WRITE) for b in written]
    follows = [point for memory, access in uses for point in memory.stamps.must_follow(access)]
    number = device.append(work, [point for point in follows if point[0] is not device])
    for memory, access in uses:
        memory.stamps.record((device, number), access)
    return number


def submit_copy(src: Buffer, dst: Buffer) -> None:
    """Copy the bytes of ``src`` into ``dst``: at once where the host reaches both, else pending on a device.

    Refuses memory/copy-length, dead, read-only, copy-overlap and lost.
    """
    src, dst = instance("src", src, Buffer), instance("dst", dst, Buffer)
    if src.nbytes != dst.nbytes:
        raise refuse("memory/copy-length", source=src.nbytes, destination=dst.nbytes)
    checks.check_live("submit_copy", src, dst)
    checks.check_writable("submit_copy", dst)
    if src.overlaps(dst):
        raise refuse("memory/copy-overlap")
    check_uses([src], [dst])
    if src.nbytes:
        move(src, dst, lambda: dst.memory.write(dst.first, src.memory.read(src.first, src.nbytes)))


def submit_fill(buffer: Buffer, byte: int) -> None:
    """Store ``byte`` everywhere in the buffer: pending on its device, or at once where that runs no work.

    Refuses arguments/integer-range outside [0, 255], memory/dead, read-only and lost.
    """
    buffer = instance("buffer", buffer, Buffer)
    byte = within("byte", integer("byte", byte), 0, 255)
    checks.check_live("submit_fill", buffer)
    checks.check_writable("submit_fill", buffer)
    check_uses([], [buffer])
    if buffer.nbytes == 0:
        return
    buffer.memory.check_whole()

    def work() -> None:
        buffer.memory.write(buffer.first, bytes([byte]) * buffer.nbytes)

    if buffer.device.runs_work:
        queue(buffer.device, work, (), (buffer,))
    else:
        checks.wait(buffer, Access.READ_WRITE)
        work()


def host_reaches(buffer: Buffer) -> bool:
    """Whether the host itself moves the bytes: it addresses them, or they are a file's (the disk runs nothing)."""
    return buffer.memory.on_host or buffer.device.is_disk


def move(src: Buffer, dst: Buffer, work: Callable[[], object]) -> None:
    """Do work that reads ``src`` and writes ``dst``: the bytes are there on return where the host reaches both.

    Otherwise it is pending on the destination's device if the host reaches the source, else on the source's. Refuses
    memory/file where a file was cut short.
    """
    src.memory.check_whole()
    dst.memory.check_whole()
    if host_reaches(src) and host_reaches(dst):
        move_now(src, dst, work)
    else:
        queue(dst.device if host_reaches(src) else src.device, work, (src,), (dst,))


def move_now(src: Buffer, dst: Buffer, work: Callable[[], object]) -> None:
    """Wait as the order asks, under claims, and do the work."""
    with checks.claimed(src, dst):
        checks.wait(src, Access.READ)
        checks.wait(dst, Access.READ_WRITE)
        work()
