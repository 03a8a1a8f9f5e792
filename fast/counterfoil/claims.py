"""Claims on buffers, and donation (A8)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType

from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, Memory, kill
from counterfoil.layouts import list_of
from counterfoil_spec.arguments import instance, text
from counterfoil_spec.refusals import refuse


class Claims:
    """Claims on the memory of buffers while a ``with`` block runs: all of them or none."""

    __slots__ = ("_active", "_donate", "_entered", "_exclusive", "_held", "_read")

    def __init__(self, read: list[Buffer], donate: list[Buffer]) -> None:
        self._read = read
        self._donate = donate
        self._exclusive: list[Buffer] = []
        self._held: list[Buffer] = []
        self._active = False
        self._entered = threading.Lock()

    def __enter__(self) -> Claims:
        if not self._entered.acquire(blocking=False):
            raise RuntimeError("these claims are held already")
        try:
            self._take([*self._read, *self._donate])
            self._active = True
            for buffer in self._donate:
                if lib.cf_donate(buffer._c):
                    self._exclusive.append(buffer)
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._active:
            raise RuntimeError("these claims are not held")
        self._give_back()

    def _take(self, named: list[Buffer]) -> None:
        """Counted claims on all of them, or none; refuses what is wrong with one."""
        handles, where = [buffer._c for buffer in named], ffi.new("int *")
        answer = lib.cf_claims_take(handles, ffi.NULL, len(handles), where)
        if answer:
            raise named[where[0]].claim_refusal("claims", answer)
        self._held = named
        self._require_donations_apart(named)
        for position, buffer in enumerate(named):
            buffer.require_found(position >= len(self._read))

    def _give_back(self) -> None:
        """End the claims held, if any."""
        held, exclusive = self._held, self._exclusive
        self._held, self._exclusive, self._active = [], [], False
        for buffer in exclusive:
            buffer.memory.consumed = False
            lib.cf_donate_end(buffer._c)
        lib.cf_claims_release([buffer._c for buffer in held], len(held))
        self._entered.release()

    def exclusive(self, buffer: Buffer) -> bool:
        """Whether the memory was donated and is held exclusive; refuses claims/ended and claims/not-claimed."""
        memory = self._memory("exclusive", buffer)
        return any(donated.memory is memory for donated in self._exclusive)

    def consume(self, buffer: Buffer, why: str) -> Buffer:
        """A live buffer over the same memory; every older one is dead, was ``why``.

        Refuses claims/ended, claims/not-claimed, memory/dead and memory/not-spanning.
        """
        instance("buffer", buffer, Buffer)
        words = text("why", why)
        memory = self._memory("consume", buffer)
        buffer.require_alive("consume")
        if not lib.cf_buffer_spans(buffer._c):
            raise refuse("memory/not-spanning", function="consume")
        result = kill(buffer, words)
        memory.consumed = any(donated.memory is memory for donated in self._exclusive)
        return result

    def _memory(self, function: str, buffer: Buffer) -> Memory:
        memory = instance("buffer", buffer, Buffer).memory
        if not self._active:
            raise refuse("claims/ended", function=function)
        if not any(held.memory is memory for held in self._held):
            raise refuse("claims/not-claimed", function=function)
        return memory

    def _require_donations_apart(self, named: list[Buffer]) -> None:
        for donated in range(len(self._read), len(named)):
            for other, buffer in enumerate(named):
                if other != donated and lib.cf_buffers_overlap(named[donated]._c, buffer._c):
                    raise refuse("claims/overlapping-donation", donated=donated, other=other)


def claims(read: Iterable[Buffer] = (), donate: Iterable[Buffer] = ()) -> Claims:
    """Claims on the memory of ``read`` and ``donate``, checked and taken on entering the ``with`` block.

    A donated buffer is held exclusive if it spans its memory, the memory is Read_write and not exported, and nobody
    else holds a claim. Refuses memory/dead, memory/exclusive, claims/overlapping-donation and memory/lost.
    """
    return Claims(list_of("read", read, Buffer), list_of("donate", donate, Buffer))
