"""What checkers look at and nobody else: it waits for nothing, claims nothing, performs nothing."""

from __future__ import annotations

from counterfoil_reference.arrays import Array
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.contexts import Context
from counterfoil_reference.contexts.census import census, compile_count, inject, reset_peak
from counterfoil_reference.contexts.compiling import Routine
from counterfoil_reference.devices import Device
from counterfoil_reference.memory import Poison
from counterfoil_reference.places import model_cuda, whole_pages
from counterfoil_spec.arguments import instance
from counterfoil_spec.programs.nodes import Node

__all__ = [
    "array", "census", "compile_count", "inject", "live_bytes", "memory_bytes", "model_cuda", "poison", "poke",
    "reset_peak", "run_counts", "whole_pages",
]  # fmt: skip


def memory_bytes(buffer: Buffer) -> bytes:
    """The buffer's bytes as they are now, on any device, dead or not."""
    buffer = instance("buffer", buffer, Buffer)
    buffer.memory.settle()
    return buffer.memory.read(buffer.first, buffer.nbytes)


def poke(buffer: Buffer, data: bytes) -> None:
    """Overwrite the buffer's bytes as they are now (N5); ValueError unless there is one byte for each."""
    buffer = instance("buffer", buffer, Buffer)
    if len(data) != buffer.nbytes:
        raise ValueError(f"{len(data)} bytes for a buffer of {buffer.nbytes}")
    buffer.memory.write(buffer.first, data)


def poison(byte: int | None) -> None:
    """Fill every later fresh memory, and freed memory, with this byte; None: leave it unspecified."""
    Poison.byte = byte


def live_bytes(device: Device) -> int:
    """Bytes of live memory the device made."""
    return instance("device", device, Device).live


def array(context: Context, node: Node) -> Array | None:
    """The array over the buffer the context binds for the node, released or not; None where it binds none."""
    location = instance("context", context, Context).buffers.get(instance("node", node, Node))
    return None if location is None else location.array


def run_counts(routine: Routine) -> dict[Node, int]:
    """How often it added to each gradient that it does not zero and has a buffer for, since that was last reset."""
    routine = instance("routine", routine, Routine)
    gradients = [node for node in routine.entry.accumulates if node not in routine.entry.zeroes]
    bound = {node: routine.locations[node] for node in gradients if node in routine.locations}
    return {node: routine.ledger.counts.get((routine.routine_id, at), 0) for node, at in bound.items()}
