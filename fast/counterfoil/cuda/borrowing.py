"""Borrows between the host and CUDA devices: the same memory under another device, as long as a borrower lives.

Host memory of whole pages is registered with the driver for that; it is unregistered when its last borrower is gone,
views and pending work included, and before the memory goes. A driver registers a page once: memories over pages that
are registered here already share the registration.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, Memory
from counterfoil.cuda import driver
from counterfoil.cuda.probe import DriverFailed
from counterfoil.devices import Device

if TYPE_CHECKING:
    from counterfoil import handles
    from counterfoil.cuda.device import Cuda

PAGE: Final = mmap.PAGESIZE
"""Bytes of a page."""


class Pages(NamedTuple):
    """Whole pages of the host's; ``readonly``: nobody writes them through this."""

    first: int
    end: int
    readonly: bool

    def cover(self, other: Pages) -> bool:
        """Whether what others are to do with theirs can be done through these."""
        return self.first <= other.first and other.end <= self.end and (other.readonly or not self.readonly)

    def meet(self, other: Pages) -> bool:
        """Whether they share a page."""
        return self.first < other.end and other.first < self.end


class Locked:
    """Pages that are locked and mapped for devices; while it lives, so does the memory.

    They are unlocked by a finalizer, which runs when no weak reference leads here any more (``__del__`` runs before
    that), and ``gone`` is set then.
    """

    __slots__ = ("__weakref__", "gone")

    def __init__(self, device: Cuda, pages: Pages, owner: handles.Owner) -> None:
        with device.primary:
            driver.register(pages.first, pages.end - pages.first, pages.readonly)
        self.gone = threading.Event()
        weakref.finalize(self, _unlock, device.primary, pages.first, owner, self.gone).atexit = False


class Registration(NamedTuple):
    """A memory's part of locked pages: where it lies for a device."""

    locked: Locked
    pointer: int


def _unlock(primary: driver.Primary, address: int, owner: handles.Owner, gone: threading.Event) -> None:
    """Unlock pages; ``owner`` holds them until then."""
    try:
        with primary:
            driver.unregister(address)
    except DriverFailed:
        pass  # the device's end: the pages are unlocked with it
    finally:
        gone.set()


class Borrowed(Buffer):
    """A buffer of a CUDA device over registered host memory. Its views hold the registration too."""

    __slots__ = ("registration",)

    def renewed(self) -> Buffer:
        """A buffer over the same bytes, alive now."""
        assert self.registration is not None
        return _registered(super().renewed(), self.registration)

    def _over(self, first: int, nbytes: int, device: Device, addressable: int) -> Buffer:
        made = super()._over(first, nbytes, device, addressable)
        if device is not self.device or self.registration is None:
            return made
        return _registered(made, self.registration)


_guard = threading.RLock()
_locked: dict[Pages, tuple[weakref.ref[Locked], threading.Event]] = {}
"""The locked pages that live, or are about to be unlocked."""


def borrowed(buffer: Buffer, device: Device) -> Buffer | None:
    """A buffer under another device, one of the two being a CUDA device; None where there is no such mapping."""
    if not buffer._c.addressable:
        return None
    if not device.computes:
        return buffer._over(0, buffer._c.nbytes, device, 1) if device.addressable else None
    registration = None if buffer.memory.device.computes else _registration(device, buffer.memory)
    if registration is None:
        return None
    return _registered(buffer._over(0, buffer._c.nbytes, device, 1), registration)


def _registration(device: Device, memory: Memory) -> Registration | None:
    """A memory's registration; None if it is not whole pages, or the driver refuses them."""
    from counterfoil.cuda.device import Cuda

    assert isinstance(device, Cuda)
    first = int(ffi.cast("uintptr_t", memory.c.base))
    if not memory.nbytes or memory.nbytes % PAGE or first % PAGE:
        return None
    pages = Pages(first, first + memory.nbytes, bool(memory.c.flags & lib.CF_MEMORY_READ))
    try:
        with _guard:
            found = _covering(pages)
            if found is None:
                found = Locked(device, pages, memory.owner)
                _locked[pages] = weakref.ref(found), found.gone
        with device.primary:
            return Registration(found, driver.mapped_here(first))
    except DriverFailed:  # among other reasons, some of the pages are locked already: by others, or not for this
        return None


def _covering(pages: Pages) -> Locked | None:
    """Locked pages that serve; those about to be unlocked that are in the way are waited for. Under the guard."""
    for known, (reference, gone) in list(_locked.items()):
        found = reference()
        if found is not None:
            if known.cover(pages):
                return found
        elif gone.is_set() or known.meet(pages):
            gone.wait()  # another thread unlocks them
            del _locked[known]
    return None


def _registered(made: Buffer, registration: Registration) -> Borrowed:
    result = object.__new__(Borrowed)
    result._c, result.memory, result.device = made._c, made.memory, made.device
    result.registration = registration
    return result
