"""Devices: the host, the disk, and simulated ones with a timeline of their own (A9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterfoil import handles
from counterfoil.buffers import Buffer, Memory, allocate
from counterfoil.timeline import Order, Timeline
from counterfoil_spec.arguments import instance, integer, text, within
from counterfoil_spec.interface import MemoryKind
from counterfoil_spec.refusals import Refusal, refuse

MOST_WORK = (1 << 63) - 1


class Device:
    """A memory and, for simulated and CUDA devices, an in-order timeline. Compared by identity.

    ``addressable``: the host addresses its own memory. ``runs_work``: it has a timeline. ``computes``: it runs kernels.
    ``makes_memory``: ``buffer`` gives memory of any size (the disk's bytes need a file).
    """

    addressable = True
    runs_work = False
    computes = False
    makes_memory = True

    __slots__ = ("__weakref__", "_budget", "timeline")

    def __init__(self, name: str, timeline: Timeline | None = None) -> None:
        self.timeline = Timeline(name) if timeline is None else timeline
        self._budget: int | None = None

    @property
    def name(self) -> str:
        """The name given, ``host`` or ``disk``."""
        return self.timeline.name

    @property
    def submitted(self) -> int:
        """The number of the last submission; 0 before the first."""
        return self.timeline.submitted

    @property
    def reached(self) -> int:
        """The number of the last submission performed."""
        return self.timeline.reached

    @property
    def budget(self) -> int | None:
        """Most live bytes, None for no limit. Lowering it below what is live frees nothing."""
        return self._budget

    @budget.setter
    def budget(self, nbytes: int | None) -> None:
        if nbytes is not None:
            nbytes = integer("budget", nbytes)
            if nbytes < 0:
                raise refuse("memory/negative-budget", budget=nbytes)
        self._budget = nbytes

    def advance(self, count: int) -> None:
        """Perform the next ``count`` pending submissions, or all there are, each after those it must follow.

        Refuses arguments/integer-range outside [0, 2^63 - 1], and memory/lost.
        """
        self.timeline.advance(within("count", integer("count", count), 0, MOST_WORK))

    def lose(self, why: str) -> None:
        """Drop pending work; the device's memory, and what must follow unfinished work, raises Lost from now on.

        Refuses memory/cannot-be-lost for the host and the disk. A second loss keeps the first reason.
        """
        words = text("why", why)
        if not self.runs_work:
            raise refuse("memory/cannot-be-lost", device=self.name)
        self.timeline.lose(words)

    def buffer(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """Fresh memory of ``nbytes`` bytes with unspecified contents.

        Refuses memory/negative-size, memory/makes-no-memory, memory/lost and memory/exhausted.
        """
        size = integer("nbytes", nbytes)
        instance("kind", kind, MemoryKind)
        if size < 0:
            raise refuse("memory/negative-size", nbytes=size)
        return allocate(self, size, kind)

    def make_memory(self, nbytes: int, kind: MemoryKind) -> Memory:
        """Fresh memory, live on the device; refuses memory/exhausted where there is none."""
        owner = handles.memory(self.timeline.owner, nbytes) if nbytes < 1 << 63 else None
        if owner is None:
            raise self.exhausted(nbytes, self.live_bytes())
        return Memory(owner, self, nbytes)

    def queue(self, work: Callable[[], object], named: dict[Order, bool], plan: Callable[[Any], Any]) -> None:
        """Queue a movement of bytes that names memories: ``work`` does it on the host. ``plan``: for CUDA devices."""
        self.timeline.submit(work, named)

    def bytes_of(self, buffer: Buffer, readonly: bool) -> Any:
        """What submitted work gets for a buffer: a view of its bytes."""
        return buffer.bytes().toreadonly() if readonly else buffer.bytes()

    def live_bytes(self) -> int:
        """Bytes of live memory the device made."""
        return self.timeline.owner.live

    def exhausted(self, nbytes: int, used: int) -> Refusal:
        """The refusal memory/exhausted for an allocation."""
        return refuse("memory/exhausted", device=self.name, nbytes=nbytes, used=used, budget=self._budget)

    def __repr__(self) -> str:
        return f"<device {self.name}>"

    def __reduce__(self) -> str:
        raise TypeError(f"{self!r} is not copied or pickled: devices are compared by identity")


class Simulated(Device):
    """A simulated device: memory of its own, and work that stays pending until something waits for it."""

    __slots__ = ("addressable",)
    runs_work = True

    def __init__(self, name: str, addressable: bool) -> None:
        super().__init__(name)
        self.addressable = addressable


_HOST = Device("host")


def host() -> Device:
    """The host: always the same object, named ``host``."""
    return _HOST


def simulated(name: str, addressable: bool = False) -> Simulated:
    """A new simulated device. Two calls give two devices, whatever the names."""
    called = text("name", name)
    instance("addressable", addressable, bool)
    return Simulated(called, addressable)


def cuda(ordinal: int) -> Device:
    """The CUDA device of that ordinal, always the same object; refuses memory/backend-unavailable and memory/ordinal.

    A driver that fails raises ``counterfoil.cuda.DriverFailed``.
    """
    number = integer("ordinal", ordinal)
    from counterfoil.cuda import device, probe

    probe.require()
    return device.opened(number)
