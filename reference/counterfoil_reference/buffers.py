"""Buffers: bytes of a memory under a device. Views and borrows share memory, claims and order of work."""

from __future__ import annotations

from counterfoil_reference import checks
from counterfoil_reference.devices import Device
from counterfoil_reference.memory import Memory, allocate
from counterfoil_spec.arguments import instance, integer, text
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.refusals import refuse


class Buffer:
    """``nbytes`` bytes of ``memory`` from byte ``first`` on, as ``device`` sees them."""

    __slots__ = ("device", "first", "generation", "memory", "nbytes")

    def __init__(self, memory: Memory, first: int, nbytes: int, device: Device, generation: int) -> None:
        self.memory = memory
        self.first = first
        self.nbytes = nbytes
        self.device = device
        self.generation = generation

    @property
    def access(self) -> Access:
        """What the memory admits."""
        return self.memory.access

    @property
    def dead(self) -> str | None:
        """Why the buffer is dead (the latest consumer's words), or None."""
        return self.memory.why if self.generation < self.memory.generation else None

    @property
    def claims(self) -> tuple[int, bool, bool]:
        """(counted claims, held exclusive, exported) of the memory."""
        return self.memory.claims, self.memory.exclusive, self.memory.exported

    @property
    def address(self) -> int | None:
        """Where the host finds the first byte, or None where it addresses none."""
        return None if self.memory.address is None else self.memory.address + self.first

    @property
    def spans(self) -> bool:
        """Whether the buffer covers all of its memory."""
        return self.first == 0 and self.nbytes == self.memory.nbytes

    def view(self, first: int, nbytes: int) -> Buffer:
        """``nbytes`` bytes from ``first`` on; refuses memory/dead, memory/view-range."""
        first, nbytes = integer("first", first), integer("nbytes", nbytes)
        checks.check_live("view", self)
        if first < 0 or nbytes < 0 or first + nbytes > self.nbytes:
            raise refuse("memory/view-range", first=first, nbytes=nbytes, length=self.nbytes)
        return Buffer(self.memory, self.first + first, nbytes, self.device, self.generation)

    def overlaps(self, other: object) -> bool:
        """Whether the two share a byte, by memory or by host address; no bytes share none."""
        other = instance("other", other, Buffer)
        one, two = common_starts(self, other)
        if one is None or two is None or self.nbytes == 0 or other.nbytes == 0:
            return False
        return one < two + other.nbytes and two < one + self.nbytes

    def wait(self, access: Access) -> None:
        """Perform what an access of this kind must follow, and no more; refuses memory/dead, memory/lost."""
        access = instance("access", access, Access)
        checks.check_live("wait", self)
        checks.wait(self, access)

    def export(self) -> memoryview:
        """The bytes themselves, after one wait; the memory is never exclusive again (A11).

        Refuses memory/dead, memory/exclusive (unless the holder consumed the memory: then this is its buffer),
        arrays/not-on-host and memory/lost.
        """
        self.check_export("export")
        return self.hand_out()

    def check_export(self, function: str) -> None:
        """What export refuses before the wait."""
        checks.check_live(function, self)
        if not self.memory.consumed:
            checks.check_unheld(function, self)
        if not self.device.is_host:
            raise refuse("arrays/not-on-host", function=function, device=self.device.name)

    def hand_out(self) -> memoryview:
        """Wait once and put the memory outside the claims for good; raises memory/lost."""
        checks.wait(self, self.access)
        self.memory.exported = True
        return self.memory.view(self.first, self.nbytes, self.access)

    def borrow(self, device: object) -> Buffer | None:
        """The same bytes under ``device``: itself on its own device, None where ``device`` cannot map the memory.

        The host and addressable devices map each other's memory (A9), and host memory of a device that computes; such a
        device maps whole pages of host memory (docs/cuda.md, §2). Refuses memory/dead, memory/lost.
        """
        device = instance("device", device, Device)
        checks.check_live("borrow", self)
        checks.check_devices(self)
        if device.lost is not None:
            raise device.loss()
        if device is self.device:
            return self
        if not device.maps(self.memory):
            return None
        return Buffer(self.memory, self.first, self.nbytes, device, self.generation)

    def free(self, why: str) -> None:
        """Give the memory back: every buffer of it is dead, was ``why``.

        Refuses memory/dead, memory/exclusive, memory/claimed, memory/not-spanning.
        """
        why = text("why", why)
        checks.check_live("free", self)
        checks.check_unheld("free", self)
        if self.memory.claims:
            raise refuse("memory/claimed", function="free", claims=self.memory.claims)
        if not self.spans:
            raise refuse("memory/not-spanning", function="free")
        self.memory.free(why)

    def __repr__(self) -> str:
        return f"<buffer of {self.nbytes} bytes on {self.device.name}>"


def common_starts(one: Buffer, other: Buffer) -> tuple[int | None, int | None]:
    """Where both begin, counted alike: within one memory, else by host address (None where there is none)."""
    if one.memory is other.memory:
        return one.first, other.first
    return one.address, other.address


def buffer_of(memory: Memory) -> Buffer:
    """The buffer over all of a fresh memory, on the device that made it."""
    return Buffer(memory, 0, memory.nbytes, memory.device, memory.generation)


def fresh(device: Device, nbytes: int, kind: MemoryKind) -> Buffer:
    """What ``Device.buffer`` gives: refuses memory/negative-size, makes-no-memory, lost, exhausted, in this order."""
    nbytes, kind = integer("nbytes", nbytes), instance("kind", kind, MemoryKind)
    if nbytes < 0:
        raise refuse("memory/negative-size", nbytes=nbytes)
    device.makes(nbytes)
    if device.lost is not None:
        raise device.loss()
    on_host = device.addressable or (kind is not MemoryKind.DEVICE and not device.is_disk)
    return buffer_of(allocate(device, nbytes, on_host))
