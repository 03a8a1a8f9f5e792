"""Memories and buffers: who holds the bytes, on which device they count, and how a view keeps them alive."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from counterfoil import handles
from counterfoil._native import ffi, lib
from counterfoil.timeline import Order, lost_point, perform, take_raised
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integer, text
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.refusals import Refusal, refuse

if TYPE_CHECKING:
    from counterfoil.cuda.borrowing import Registration
    from counterfoil.devices import Device

_BUFFER = ffi.typeof("cf_buffer *")
_MEMORY = ffi.typeof("cf_memory *")
_new, _blank = ffi.new, object.__new__
_make = lib.cf_buffer_make

# Serialises deaths with their words, budgets, and the first stamp of a memory.
_guard = threading.RLock()
_poison: int | None = None


class Memory:
    """Bytes of a device, shared by all buffers over them.

    ``owner`` holds the core's record and the bytes: it goes after all who can reach them, and views of the bytes hold
    it themselves. ``why`` are the latest words of whoever ended the older buffers. ``consumed``: the donation that
    holds the memory exclusive has consumed it. ``opaque``: the host has no address for it; ``pointer`` is a CUDA
    device's.
    """

    why: str | None = None
    order: Order | None = None
    consumed = False
    opaque = False
    pointer = 0

    def __init__(self, owner: handles.Owner, device: Device, nbytes: int) -> None:
        self.owner = owner
        self.c = ffi.cast(_MEMORY, owner.address)
        self.device = device
        self.nbytes = nbytes

    def ordered(self) -> Order:
        """The order of work of the memory, which the core's waits find from now on."""
        with _guard:
            if self.order is None:
                self.order = Order(self.c, self.owner.settle)
                self._handle = ffi.new_handle(self.order)
                self.c.handle = self._handle
        return self.order

    def points(self, writing: bool) -> list[Any]:
        """What an access of the memory must follow."""
        return [] if self.order is None else self.order.points(writing)

    def require_whole(self) -> None:
        """Refuse memory/file where a mapped file was cut short."""
        check = getattr(self.owner.keep, "require_whole", None)
        if check is not None:
            check(self.nbytes)

    def bytes_at(self, offset: int, nbytes: int) -> memoryview:
        """Writable bytes of the memory, which stay allocated while the view lives."""
        self.require_whole()
        return memoryview(self.owner)[offset : offset + nbytes]

    def store(self, offset: int, data: bytes | memoryview) -> None:
        """Overwrite bytes as they are now."""
        self.bytes_at(offset, len(data))[:] = data

    def poison(self, byte: int) -> None:
        """Fill the memory with a byte, once no view and no pending work can see it."""
        self.owner.poison(byte)

    def share(self) -> None:
        """Other libraries get the memory."""


class Buffer:
    """Bytes of a memory: ``nbytes`` from an offset. Views and borrows share memory, claims and order of work."""

    __slots__ = ("__weakref__", "_c", "device", "memory")

    _c: Any
    memory: Memory
    device: Device
    registration: Registration | None = None

    def __init__(self) -> None:
        raise TypeError("buffers are made by device.buffer")

    @property
    def nbytes(self) -> int:
        """The length in bytes."""
        return int(self._c.nbytes)

    @property
    def access(self) -> Access:
        """What the memory admits."""
        return Access.READ if self.memory.c.flags & lib.CF_MEMORY_READ else Access.READ_WRITE

    @property
    def dead(self) -> str | None:
        """Why the buffer is dead (the latest consumer's words), or None."""
        if not lib.cf_buffer_dead(self._c):
            return None
        if self.memory.why is None:
            with _guard:  # another thread is about to say why
                pass
        return self.memory.why

    @property
    def claims(self) -> tuple[int, bool, bool]:
        """(counted claims, held exclusive, exported) of the memory; exclusive memory counts 0 claims."""
        state = ffi.new("bool[2]")
        count = lib.cf_claims_state(self.memory.c, state, state + 1)
        return count, state[0], state[1]

    def view(self, first: int, nbytes: int) -> Buffer:
        """``nbytes`` bytes from ``first``; refuses memory/dead and memory/view-range."""
        start, length = integer("first", first), integer("nbytes", nbytes)
        self.require_alive("view")
        if start < 0 or length < 0 or start + length > self._c.nbytes:
            raise refuse("memory/view-range", first=start, nbytes=length, length=self.nbytes)
        return self._over(start, length, self.device, self._c.addressable)

    def overlaps(self, other: Buffer) -> bool:
        """Whether the two share a byte, by memory or by host address."""
        return bool(lib.cf_buffers_overlap(self._c, instance("other", other, Buffer)._c))

    def wait(self, access: Access) -> None:
        """Perform what an access of this kind to the memory must follow; refuses memory/dead and memory/lost."""
        writing = instance("access", access, Access) is Access.READ_WRITE
        self.require_alive("wait")
        self.reach(writing)

    def export(self) -> memoryview:
        """The bytes, read-only for Read memory; the memory is never exclusive again.

        Refuses memory/dead, memory/exclusive (unless its holder consumed it), arrays/not-on-host and memory/lost.
        """
        return self.hand_out("export")

    def borrow(self, device: Device) -> Buffer | None:
        """The same memory under another device where the host addresses both, None where it does not.

        The buffer itself on its own device. Refuses memory/dead and memory/lost.
        """
        from counterfoil.devices import Device

        instance("device", device, Device)
        self.require_alive("borrow")
        for owner in (self.device, self.memory.device, device):
            if owner.timeline.why is not None:
                raise owner.timeline.lost()
        if device is self.device:
            return self
        if device.computes or self.device.computes:
            from counterfoil.cuda.borrowing import borrowed

            return borrowed(self, device)
        if not (device.addressable and self.device.addressable):
            return None
        return self._over(0, self._c.nbytes, device, 1)

    def free(self, why: str) -> None:
        """Give the memory back: every buffer of it is dead, was ``why``.

        Refuses memory/dead, memory/exclusive, memory/claimed and memory/not-spanning.
        """
        words = text("why", why)
        with _guard:
            count = lib.cf_retire(self._c) if lib.cf_buffer_spans(self._c) else _unretired(self._c, self.memory.c)
            if not count:
                self.memory.why = words
        if count == -2:
            self.require_alive("free")
        if count == -1:
            raise refuse("memory/exclusive", function="free")
        if count > 0:
            raise refuse("memory/claimed", function="free", claims=count)
        if count == _NOT_SPANNING:
            raise refuse("memory/not-spanning", function="free")
        _release(self.memory)

    # --- for the other rooms -----------------------------------------------------------------------------------------

    def require_alive(self, function: str) -> None:
        """Refuse memory/dead."""
        if lib.cf_buffer_dead(self._c):
            raise refuse("memory/dead", function=function, why=self.dead)

    def require_found(self, writing: bool) -> None:
        """Refuse memory/lost where the access is known to be lost; performs nothing."""
        if lib.cf_buffer_lost(self._c, writing):
            raise self.lost(writing)

    def lost(self, writing: bool) -> Refusal:
        """The refusal memory/lost of a lost access: its device, its memory's, or the one whose work was dropped."""
        for device in (self.device, self.memory.device):
            if device.timeline.why is not None:
                return device.timeline.lost()
        timeline = lost_point(self.memory.points(writing))
        assert timeline is not None, "the core found an access lost that is not"
        return timeline.lost()

    def reach(self, writing: bool) -> None:
        """Perform what the access must follow; refuses memory/lost."""
        self.require_found(writing)
        perform(self.memory.points(writing))

    def hand_out(self, function: str) -> memoryview:
        """``export``, named as ``function``."""
        held = self.claimed(function, exporting=True)
        try:
            if self.device.runs_work or self.device.timeline.name != "host":
                raise refuse("arrays/not-on-host", function=function, device=self.device.name)
            self.reach(self.access is Access.READ_WRITE)
            lib.cf_export(self._c)
            self.memory.share()
        finally:
            if held:
                lib.cf_release(self._c)
        return self.bytes()

    def claimed(self, function: str, writing: bool = False, exporting: bool = False) -> bool:
        """Take a counted claim; refuses memory/dead, memory/exclusive and memory/read-only.

        ``exporting``: exclusive memory whose holder consumed it passes without a claim, and the answer is False.
        """
        answer = lib.cf_claim(self._c, writing)
        if not answer:
            return True
        if answer == Answer.HELD_EXCLUSIVE and exporting and self.memory.consumed:
            return False
        raise self.claim_refusal(function, answer)

    def claim_refusal(self, function: str, answer: int) -> Refusal:
        """The refusal of a claim that the core did not grant."""
        if answer == Answer.DEAD_BUFFER:
            return refuse("memory/dead", function=function, why=self.dead)
        if answer == Answer.HELD_EXCLUSIVE:
            return refuse("memory/exclusive", function=function)
        return refuse("memory/read-only", function=function)

    def bytes(self) -> memoryview:
        """The bytes as they are, read-only for Read memory, alive while the view lives."""
        view = self.memory.bytes_at(self._c.offset, self._c.nbytes)
        return view.toreadonly() if self.access is Access.READ else view

    def part(self, first: int, nbytes: int) -> Buffer:
        """Bytes of it that the caller knows to lie in it, as dead as it is."""
        return self._over(first, nbytes, self.device, self._c.addressable)

    def renewed(self) -> Buffer:
        """A buffer over the same bytes, alive now."""
        return buffer_of(self.memory, self._c.offset, self._c.nbytes, self.device, self._c.addressable)

    def _over(self, first: int, nbytes: int, device: Device, addressable: int) -> Buffer:
        result = buffer_of(self.memory, self._c.offset + first, nbytes, device, addressable)
        result._c.generation = self._c.generation
        return result

    def __repr__(self) -> str:
        why = self.dead
        return f"<buffer of {self.nbytes} bytes on {self.device.name}{'' if why is None else f', dead: {why}'}>"


_NOT_SPANNING = -3


def buffer_of(memory: Memory, offset: int, nbytes: int, device: Device, addressable: int) -> Buffer:
    """A buffer of bytes that the caller knows to lie in the memory."""
    buffer = _blank(Buffer)
    buffer._c = c = _new(_BUFFER)
    _make(c, memory.c, offset, nbytes, device.timeline.c, addressable)
    buffer.memory = memory
    buffer.device = device
    return buffer


def allocate(device: Device, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
    """Fresh memory; refuses memory/makes-no-memory, memory/lost and memory/exhausted."""
    if nbytes and not device.makes_memory:
        raise refuse("memory/makes-no-memory", device=device.name, nbytes=nbytes)
    if device.timeline.why is not None:
        raise device.timeline.lost()
    if device._budget is None or not nbytes or device.computes:
        memory = device.make_memory(nbytes, kind)
    else:
        with _guard:
            used = device.live_bytes()
            if used + nbytes > device._budget:
                raise device.exhausted(nbytes, used)
            memory = device.make_memory(nbytes, kind)
    if _poison is not None:
        memory.poison(_poison)
    return buffer_of(memory, 0, nbytes, device, device.addressable or kind is not MemoryKind.DEVICE)


def adopt(device: Device, base: Any, nbytes: int, keep: object, flags: int) -> Buffer:
    """A buffer over foreign bytes that ``keep`` holds; they do not count as the device's."""
    address = int(ffi.cast("uintptr_t", base))
    memory = Memory(handles.adopted(device.timeline.owner, address, nbytes, flags, keep), device, nbytes)
    return buffer_of(memory, 0, nbytes, device, device.addressable)


def poison() -> int | None:
    """The byte that fresh and freed memory is filled with, None for none."""
    return _poison


def set_poison(byte: int | None) -> None:
    """The byte that fresh and freed memory is filled with, None for none."""
    global _poison
    _poison = byte


def kill(buffer: Buffer, why: str) -> Buffer:
    """Consume: every buffer of the memory is dead, was ``why``; a live one over the same bytes."""
    with _guard:
        lib.cf_consume(buffer._c)
        buffer.memory.why = why
    return buffer.renewed()


def access_lost(buffer: Buffer, writing: bool) -> BaseException:
    """What to raise when the core answered CF_LOST for one buffer: what its wait raised, or memory/lost."""
    return take_raised() or buffer.lost(writing)


def _unretired(buffer: Any, memory: Any) -> int:
    """The answer of cf_retire for a buffer that does not span its memory."""
    state = ffi.new("bool[2]")
    count = lib.cf_claims_state(memory, state, state + 1)
    if lib.cf_buffer_dead(buffer):
        return -2
    return -1 if state[0] else count or _NOT_SPANNING


def _release(memory: Memory) -> None:
    """Freed memory counts no longer, and is poisoned once no view and no pending work can see it."""
    memory.owner.forget()
    if _poison is not None:
        memory.poison(_poison)
