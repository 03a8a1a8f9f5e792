"""Claims for reading and donation, exclusivity, and consumption (A8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from counterfoil_reference import checks
from counterfoil_reference.arguments import sequence
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.memory import Memory
from counterfoil_reference.work import check_uses
from counterfoil_spec.arguments import instance, text
from counterfoil_spec.interface import Access
from counterfoil_spec.refusals import refuse


class Claims:
    """What ``claims`` yields: the memory it holds, and which of it is held exclusive."""

    __slots__ = ("_exclusive", "_held", "ended")

    def __init__(self, held: list[Memory], exclusive: list[Memory]) -> None:
        self._held = held
        self._exclusive = exclusive
        self.ended = False

    def exclusive(self, buffer: Buffer) -> bool:
        """Whether the memory was donated and is held exclusive; refuses claims/ended, claims/not-claimed."""
        buffer = instance("buffer", buffer, Buffer)
        self._check_held("exclusive", buffer)
        return buffer.memory in self._exclusive

    def consume(self, buffer: Buffer, why: str) -> Buffer:
        """A live buffer over the same memory; every older one is dead, was ``why``.

        Needs a spanning buffer, not exclusivity. Refuses claims/ended, claims/not-claimed, memory/dead,
        memory/not-spanning.
        """
        buffer, why = instance("buffer", buffer, Buffer), text("why", why)
        self._check_held("consume", buffer)
        checks.check_live("consume", buffer)
        if not buffer.spans:
            raise refuse("memory/not-spanning", function="consume")
        memory = buffer.memory
        memory.end(why)
        memory.consumed = memory.exclusive
        return Buffer(memory, buffer.first, buffer.nbytes, buffer.device, memory.generation)

    def _check_held(self, function: str, buffer: Buffer) -> None:
        if self.ended:
            raise refuse("claims/ended", function=function)
        if buffer.memory not in self._held:
            raise refuse("claims/not-claimed", function=function)


@contextmanager
def claims(read: Iterable[Buffer] = (), donate: Iterable[Buffer] = ()) -> Iterator[Claims]:
    """Claim the memory of all the buffers, or of none, until the block ends.

    A donated buffer's memory is held exclusive if the buffer spans it, it is Read_write and not exported, and no
    other claim is held on it; otherwise it stays a counted claim. On entering, refuses memory/dead, memory/exclusive,
    claims/overlapping-donation and memory/lost.
    """
    reads, donations = sequence("read", read, Buffer), sequence("donate", donate, Buffer)
    named = (*reads, *donations)
    checks.check_live("claims", *named)
    checks.check_unheld("claims", *named)
    _check_donations(reads, donations)
    check_uses(reads, donations)
    with checks.claimed(*named):
        exclusive = [buffer.memory for buffer in donations if may_be_exclusive(buffer)]
        held = Claims([buffer.memory for buffer in named], exclusive)
        for memory in exclusive:
            memory.exclusive, memory.claims = True, 0
        try:
            yield held
        finally:
            held.ended = True
            for memory in exclusive:
                memory.exclusive, memory.consumed, memory.claims = False, False, 1


def may_be_exclusive(buffer: Buffer) -> bool:
    """Whether a donation, whose claim is counted already, holds the memory alone."""
    memory = buffer.memory
    return buffer.spans and memory.access is Access.READ_WRITE and not memory.exported and memory.claims == 1


def _check_donations(reads: tuple[Buffer, ...], donations: tuple[Buffer, ...]) -> None:
    """Refuse a donated buffer that shares a byte with another one named; positions count the reads first."""
    named = (*reads, *donations)
    for donated, buffer in enumerate(donations, start=len(reads)):
        for other, neighbour in enumerate(named):
            if other != donated and buffer.overlaps(neighbour):
                raise refuse("claims/overlapping-donation", donated=donated, other=other)
