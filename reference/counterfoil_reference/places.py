"""The host, simulated devices, and CUDA devices, which this installation has none of (A9)."""

from __future__ import annotations

from typing import ClassVar, Final

from counterfoil_reference.buffers import Buffer, fresh
from counterfoil_reference.devices import Device
from counterfoil_spec.arguments import instance, integer, text
from counterfoil_spec.interface import MemoryKind
from counterfoil_spec.refusals import refuse


class Host(Device):
    """Where the program runs: its memory is addressed, and it submits no work."""

    is_host: ClassVar[bool] = True

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """Fresh host memory; all kinds are one."""
        return fresh(self, nbytes, kind)


class Simulated(Device):
    """A device with its own memory and an in-order timeline, performed only as something waits for it."""

    runs_work: ClassVar[bool] = True

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """Fresh memory; PINNED and MAPPED memory is addressed by the host, DEVICE memory of an addressable one too."""
        return fresh(self, nbytes, kind)


_HOST: Final = Host("host", addressable=True)


def host() -> Host:
    """The host: always the same object."""
    return _HOST


def simulated(name: str, addressable: bool = False) -> Simulated:
    """A new simulated device."""
    return Simulated(text("name", name), instance("addressable", addressable, bool))


def cuda(ordinal: int) -> Device:
    """Refuses memory/backend-unavailable."""
    integer("ordinal", ordinal)
    raise refuse(
        "memory/backend-unavailable", backend="cuda", why="the CUDA backend is not part of this installation"
    )
