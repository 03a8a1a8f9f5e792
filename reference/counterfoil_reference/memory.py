"""Memory: bytes somebody made, with their claims, their order of work and their life (A8, A9, A11)."""

from __future__ import annotations

from counterfoil_reference.addresses import address_of
from counterfoil_reference.devices import Device
from counterfoil_reference.timeline import Stamps, is_reached
from counterfoil_spec.interface import Access


class Poison:
    """What fresh and freed memory is filled with: a byte, or None to leave it as it is."""

    byte: int | None = None


class Storage(bytearray):
    """Bytes a device made. They count as live there until they are given back, or nobody can reach them any more.

    Memory holds them, and so does every view of them: a view kept too long still sees its own bytes (A11).
    """

    device: Device | None = None

    def give_back(self) -> None:
        """Count the bytes as live no longer; a second time changes nothing."""
        if self.device is not None:
            self.device.live -= len(self)
            self.device = None

    def __del__(self) -> None:
        self.give_back()

    @property
    def viewed(self) -> bool:
        """Whether somebody holds a view: Python lets no bytearray grow while one does."""
        try:
            self.append(0)
        except BufferError:
            return True
        self.pop()
        return False


class Memory:
    """One memory; buffers name parts of it.

    ``claims`` counts claims, ``exclusive`` says that a donation holds it instead, ``consumed`` that this donation's
    holder took it, ``exported`` that it is outside the claims for good. Buffers of an older ``generation`` are dead,
    was ``why``. ``on_host``: the host addresses the bytes.
    """

    __slots__ = (
        "_address", "_poison", "access", "claims", "consumed", "data", "device", "exclusive", "exported",
        "generation", "nbytes", "on_host", "stamps", "why",
    )  # fmt: skip

    def __init__(self, device: Device, data: bytearray | memoryview, access: Access, on_host: bool) -> None:
        self.device = device
        self.data = data
        self.nbytes = len(data)
        self.access = access
        self.on_host = on_host
        self.stamps = Stamps()
        self.claims = 0
        self.exclusive = False
        self.consumed = False
        self.exported = False
        self.generation = 0
        self.why = ""
        self._address: int | None = None
        self._poison: int | None = None

    @property
    def address(self) -> int | None:
        """Where the host finds the first byte; None where it addresses none. Freed memory stays where it was."""
        if not self.on_host:
            return None
        if self._address is None:
            self._address = address_of(self.data)
        return self._address

    def read(self, first: int, nbytes: int) -> bytes:
        """The bytes as they are now."""
        return bytes(memoryview(self.data)[first : first + nbytes])

    def write(self, first: int, data: bytes) -> None:
        """Overwrite the bytes from ``first`` on."""
        self.data[first : first + len(data)] = data

    def view(self, first: int, nbytes: int, access: Access) -> memoryview:
        """The bytes themselves; read-only for READ."""
        view = memoryview(self.data)[first : first + nbytes]
        return view.toreadonly() if access is Access.READ else view

    def check_whole(self) -> None:
        """Refuse where the bytes are not all there any more, as a file's may be."""

    def end(self, why: str) -> None:
        """Make every buffer there is dead, was ``why``."""
        self.generation += 1
        self.why = why

    def free(self, why: str) -> None:
        """Give the bytes back at once; they stay where they are while a view or pending work can see them."""
        self.end(why)
        if isinstance(self.data, Storage):
            self.data.give_back()
            self._poison = Poison.byte
        self.settle()

    def settle(self) -> None:
        """Poison freed memory once no view and no pending work can see it."""
        if self._poison is None or not isinstance(self.data, Storage) or self._awaited() or self.data.viewed:
            return
        self.data[:] = bytes([self._poison]) * self.nbytes
        self._poison = None

    def _awaited(self) -> bool:
        return any(timeline.lost is None and not is_reached((timeline, n)) for timeline, n in self.stamps.uses.items())


def allocate(device: Device, nbytes: int, on_host: bool) -> Memory:
    """Fresh memory of a device, poisoned or zero; refuses memory/exhausted."""
    device.room(nbytes)
    try:
        storage = Storage(nbytes)
        if Poison.byte is not None:
            storage[:] = bytes([Poison.byte]) * nbytes
    except (MemoryError, OverflowError):
        raise device.exhausted(nbytes) from None
    storage.device = device
    device.live += nbytes
    return Memory(device, storage, Access.READ_WRITE, on_host)
