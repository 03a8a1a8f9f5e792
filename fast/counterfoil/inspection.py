"""What checkers look at and nobody else: nothing here waits, claims or performs."""

from __future__ import annotations

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.buffers import Buffer, set_poison
from counterfoil.contexts import Context
from counterfoil.contexts.census import census, compile_count, inject, reset_peak
from counterfoil.contexts.routines import Routine
from counterfoil.devices import Device
from counterfoil_spec.arguments import instance, integer, within
from counterfoil_spec.interface import Access
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

__all__ = [
    "array", "census", "compile_count", "inject", "live_bytes", "memory_bytes", "poison", "poke", "reset_peak",
    "run_counts",
]  # fmt: skip


def memory_bytes(buffer: Buffer) -> bytes:
    """The buffer's bytes as they are now, on any device, dead or not."""
    return bytes(instance("buffer", buffer, Buffer).bytes())


def poke(buffer: Buffer, data: bytes) -> None:
    """Overwrite the buffer's bytes as they are now (N5); refuses memory/read-only, and memory/copy-length."""
    instance("buffer", buffer, Buffer)
    instance("data", data, bytes)
    if buffer.access is Access.READ:
        raise refuse("memory/read-only", function="poke")
    if len(data) != buffer.nbytes:
        raise refuse("memory/copy-length", source=len(data), destination=buffer.nbytes)
    buffer.memory.store(buffer._c.offset, data)


def poison(byte: int | None) -> None:
    """Fill every later fresh memory, and freed memory, with this byte; None leaves it unspecified."""
    set_poison(byte if byte is None else within("byte", integer("byte", byte), 0, 255))


def live_bytes(device: Device) -> int:
    """Bytes of live memory the device made."""
    return instance("device", device, Device).live_bytes()


def array(context: Context, node: Node) -> Array | None:
    """The array over the buffer the context binds for the node, released or not; None where it binds none."""
    location = instance("context", context, Context).buffers.get(instance("node", node, Node))
    return None if location is None else location.array


def run_counts(routine: Routine) -> dict[Node, int]:
    """How often it added to each gradient that it does not zero and has a buffer for, since that was last reset."""
    tables = instance("routine", routine, Routine)._tables
    return {node: int(lib.cf_count_runs(tables.c.counts + at)) for at, node in enumerate(tables.counted)}
