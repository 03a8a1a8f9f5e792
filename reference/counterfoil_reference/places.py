"""The host, simulated devices, and modelled CUDA devices (A9, docs/cuda.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from counterfoil_reference.buffers import Buffer, fresh
from counterfoil_reference.devices import Device
from counterfoil_reference.memory import Memory
from counterfoil_spec.arguments import instance, integer, text
from counterfoil_spec.backends import unavailable
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


class Cuda(Device):
    """A modelled CUDA device: a timeline as a simulated device's, and kernels run there on memory it addresses.

    ``borrows``: which memory of others it maps. By default host memory in whole pages, by its address here; a
    comparison sets what the other implementation found, whose addresses are others.
    """

    __slots__ = ("borrows", "ordinal")
    runs_work: ClassVar[bool] = True
    computes: ClassVar[bool] = True

    def __init__(self, ordinal: int) -> None:
        super().__init__(f"cuda:{ordinal}", addressable=False)
        self.ordinal = ordinal
        self.borrows: Callable[[Memory], bool] = whole_pages

    def maps(self, memory: Memory) -> bool:
        """Host memory that ``borrows`` takes; never another computing device's."""
        return memory.on_host and not memory.device.computes and self.borrows(memory)

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """Fresh memory; PINNED and MAPPED memory is addressed by the host."""
        return fresh(self, nbytes, kind)


PAGE: Final = 4096
"""Bytes of a page of host memory."""


def whole_pages(memory: Memory) -> bool:
    """Whether a memory is whole pages of the host's from a page's first byte on."""
    return memory.nbytes > 0 and memory.nbytes % PAGE == 0 and (memory.address or 0) % PAGE == 0


class Model:
    """The CUDA devices there are: those a checker asked for, else None."""

    devices: list[Cuda] | None = None


def model_cuda(devices: int | None) -> None:
    """Model that many CUDA devices from now on, new ones; None or 0: there are none."""
    Model.devices = [Cuda(ordinal) for ordinal in range(devices)] if devices else None


_HOST: Final = Host("host", addressable=True)


def host() -> Host:
    """The host: always the same object."""
    return _HOST


def simulated(name: str, addressable: bool = False) -> Simulated:
    """A new simulated device."""
    return Simulated(text("name", name), instance("addressable", addressable, bool))


def cuda(ordinal: int) -> Device:
    """The modelled CUDA device of that ordinal, always the same object.

    Refuses memory/backend-unavailable where none is modelled, memory/ordinal.
    """
    ordinal = integer("ordinal", ordinal)
    if Model.devices is None:
        raise unavailable("cuda", ordinal)
    if not 0 <= ordinal < len(Model.devices):
        raise refuse("memory/ordinal", ordinal=ordinal, devices=len(Model.devices))
    return Model.devices[ordinal]
