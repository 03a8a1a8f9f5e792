"""Borrows between the host and CUDA devices: the same memory under another device, as long as a borrower lives.

Host memory of whole pages is registered with the driver for that; it is unregistered when its last borrower is gone,
views and pending work included, and before the memory goes.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from typing import TYPE_CHECKING, Final

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


class Registration:
    """Pages that are locked and mapped for devices, at ``pointer``; while it lives, so does the memory.

    They are unlocked by a finalizer, which runs when no weak reference leads here any more (``__del__`` runs before
    that), and ``gone`` is set then.
    """

    __slots__ = ("__weakref__", "gone", "pointer")

    def __init__(self, device: Cuda, memory: Memory) -> None:
        base = int(ffi.cast("uintptr_t", memory.c.base))
        with device.primary:
            self.pointer = driver.register(base, memory.nbytes, bool(memory.c.flags & lib.CF_MEMORY_READ))
        self.gone = threading.Event()
        weakref.finalize(self, _unlock, device.primary, base, memory.owner, self.gone).atexit = False


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
_registrations: weakref.WeakKeyDictionary[Memory, tuple[weakref.ref[Registration], threading.Event]]
_registrations = weakref.WeakKeyDictionary()


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
    """The registration of a memory, made where there is none; None if it is not whole pages, or the driver refuses."""
    from counterfoil.cuda.device import Cuda

    assert isinstance(device, Cuda)
    if not memory.nbytes or memory.nbytes % PAGE or int(ffi.cast("uintptr_t", memory.c.base)) % PAGE:
        return None
    with _guard:
        known = _registrations.get(memory)
        found = None if known is None else known[0]()
        if found is None:
            if known is not None:
                known[1].wait()  # another thread is about to unlock the pages
            try:
                found = Registration(device, memory)
            except DriverFailed:
                return None
            _registrations[memory] = weakref.ref(found), found.gone
    return found


def _registered(made: Buffer, registration: Registration) -> Borrowed:
    result = object.__new__(Borrowed)
    result._c, result.memory, result.device = made._c, made.memory, made.device
    result.registration = registration
    return result
