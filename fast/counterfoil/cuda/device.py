"""CUDA devices: memory of three kinds, one stream, and work that Python enqueues on it.

``submit`` and ``current`` are for the rooms that compute; ``pointer`` and ``computing_device`` say where bytes are for
a device and which one a call runs on (``docs/cuda.md`` §4).
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from counterfoil import timeline as work_order
from counterfoil.buffers import Buffer, Memory, buffer_of
from counterfoil.cuda import driver
from counterfoil.cuda.memory import CudaMemory, Scribble
from counterfoil.cuda.pool import Pool
from counterfoil.cuda.probe import DriverFailed, require_ordinal
from counterfoil.cuda.stream import StreamTimeline
from counterfoil.devices import Device
from counterfoil.placement import touched
from counterfoil_spec.interface import MemoryKind

if TYPE_CHECKING:
    from counterfoil.arrays import Array
    from counterfoil.cuda.copies import Work
    from counterfoil.timeline import Order, Point

FORKED: Final = "the process was forked"
"""Why a parent's device is lost in its forked child."""


class Cuda(Device):
    """A CUDA device: ``cuda:<ordinal>``. ``arch`` names its architecture as compilers do, ``handle`` its stream."""

    __slots__ = (
        "_arrears", "_booking", "_side", "arch", "handle", "ordinal", "pool", "primary", "properties", "scribbles",
    )  # fmt: skip

    addressable = False
    runs_work = True
    computes = True

    timeline: StreamTimeline

    def __init__(self, ordinal: int) -> None:
        self.primary = driver.Primary(ordinal)
        name = f"cuda:{ordinal}"
        super().__init__(name, StreamTimeline(name, self.primary))
        self.ordinal = ordinal
        self.properties = driver.properties(self.primary)
        major, minor = self.properties["compute_capability"]
        self.arch = f"sm_{major}{minor}"
        self.handle = int(self.timeline.raw.handle)
        self.pool = Pool(self.primary, self.timeline)
        self._booking = threading.RLock()
        self._arrears = 0
        self.scribbles: deque[Scribble] = deque()
        with self.primary:
            self._side = driver.stream()

    @property
    def stream(self) -> StreamTimeline:
        """Its timeline."""
        return self.timeline

    def streams(self) -> tuple[driver.Stream, ...]:
        """Its streams that live: that of its timeline, and one that follows nothing. Captures have theirs meanwhile."""
        return self.timeline.raw, self._side

    @property
    def reached(self) -> int:
        """The number of the last submission that the driver is known to have done: this asks it."""
        self.timeline.look()
        return self.timeline.reached

    def current(self) -> driver.Primary:
        """For a ``with`` block in which the device is current, on any thread."""
        return self.primary

    def submit(
        self,
        issue: Callable[[], None],
        reads: Iterable[Buffer],
        writes: Iterable[Buffer],
        finish: Callable[[], None] | None = None,
        reached: Iterable[Point] = (),
    ) -> int:
        """One submission: its number.

        ``issue`` is called once, when it is given to the driver, with the device current, and enqueues on the device's
        stream. ``finish`` is the host's part, when that is done. ``reached``: points that must be reached before it is
        given, for an ``issue`` that has the host look at bytes. All of it, and the buffers, are kept until then.
        Refuses memory/lost.
        """
        inputs, outputs = list(reads), list(writes)

        def work(kept: object = (inputs, outputs)) -> None:  # host memory is mapped as long as its buffers live
            issue()

        return self.timeline.submit(work, touched(inputs, outputs), finish, tuple(reached))

    def queue(self, work: Callable[[], object], named: dict[Order, bool], plan: Callable[[Any], Work]) -> None:
        """Queue a movement of bytes as the device does it; refuses memory/exhausted and memory/lost."""
        try:
            planned = plan(self)
        except DriverFailed as failure:
            raise self.failed(failure) from None
        self.timeline.submit(planned.issue, named, planned.finish, planned.reached)

    def make_memory(self, nbytes: int, kind: MemoryKind) -> Memory:
        """Fresh memory; refuses memory/exhausted and memory/lost."""
        if not 0 < nbytes < 1 << 63:
            return super().make_memory(nbytes, kind)
        self._book(nbytes)
        try:
            return CudaMemory.fresh(self, nbytes, kind)
        except driver.OutOfMemory:
            raise self.exhausted(nbytes, self.live_bytes()) from None
        except DriverFailed as failure:
            raise self.failed(failure) from None
        finally:
            with self._booking:
                self._arrears -= nbytes

    def scratch(self, nbytes: int, kind: MemoryKind = MemoryKind.DEVICE) -> Buffer:
        """Memory for use within a submission, at least a byte: it counts nowhere.

        Refuses memory/exhausted and memory/lost.
        """
        try:
            memory = CudaMemory.fresh(self, max(nbytes, 1), kind, counted=False)
        except driver.OutOfMemory:
            raise self.exhausted(nbytes, self.live_bytes()) from None
        except DriverFailed as failure:
            raise self.failed(failure) from None
        return buffer_of(memory, 0, max(nbytes, 1), self, kind is not MemoryKind.DEVICE)

    def live_bytes(self) -> int:
        """Bytes of live memory the device made, but for that of work it is known to have done."""
        self.timeline.look()
        return super().live_bytes()

    def lose(self, why: str) -> None:
        """As on every device; what the driver has got runs out first, and what nobody uses goes back to it."""
        super().lose(why)
        with contextlib.suppress(DriverFailed):
            with self.primary:
                driver.require_sound(self.timeline.raw)
            self.pool.trim()

    def free_and_total(self) -> tuple[int, int]:
        """Bytes of the device's memory that the driver has free, and all of them; refuses memory/lost."""
        try:
            with self.primary:
                return driver.free_and_total()
        except DriverFailed as failure:
            raise self.failed(failure) from None

    def failed(self, failure: DriverFailed) -> Exception:
        """What a failure comes to: memory/lost where the device answers nothing any more, else the failure itself.

        Work of other libraries in the same context can end a device while nothing of its own is pending.
        """
        if self.timeline.why is None:
            try:
                with self.primary:
                    driver.require_sound(self.timeline.raw)
            except DriverFailed:
                self.timeline.lose(str(failure))
        return failure if self.timeline.why is None else self.timeline.lost()

    def bytes_of(self, buffer: Buffer, readonly: bool) -> Any:
        """What submitted work gets for a buffer (``docs/cuda.md`` §3)."""
        from counterfoil.cuda.exchange import DeviceBytes

        return DeviceBytes(self, pointer(buffer), buffer.nbytes, readonly)

    def on_the_side(self, call: Callable[[Any], None]) -> None:
        """Call with a stream that follows nothing, and wait for what was enqueued there alone."""
        with self.primary:
            while self.scribbles:
                self.scribbles.popleft().fill(self._side)
            call(self._side)
            driver.synchronize(self._side)

    def forsake(self) -> None:
        """In a forked child: it is lost, and what the driver made stays the parent's."""
        self._abandon()
        self.timeline.forsake(FORKED)

    def close(self) -> None:
        """At the end of the process: wait for the work, give back what nobody uses, and leave the rest to the end."""
        with contextlib.suppress(DriverFailed):
            self.timeline.close()
            self.pool.trim()
        self._abandon()

    def _abandon(self) -> None:
        """Keep what the driver made for ever: who gives it back may be of another thread, or ask a driver in vain."""
        for kept in (self.primary.context, self._side, *self.timeline.kept(), *self.pool.kept()):
            driver.abandon(kept)

    def _book(self, nbytes: int) -> None:
        """Count bytes that are about to be made; refuses memory/exhausted beyond the budget, after the work given."""
        if not self._booked(nbytes):
            if self.timeline.why is None:
                self.timeline.wait_for_given()
            if not self._booked(nbytes):
                raise self.exhausted(nbytes, self.live_bytes())

    def _booked(self, nbytes: int) -> bool:
        with self._booking:
            live = self.timeline.owner.live
            if self._budget is not None and live + self._arrears + nbytes > self._budget:
                return False
            self._arrears += nbytes
        return True


def pointer(buffer: Buffer) -> int:
    """The address of a buffer's bytes for its device: of its own memory of any kind, or of what it borrowed."""
    base = buffer.memory.pointer if buffer.registration is None else buffer.registration.pointer
    return base + int(buffer._c.offset) if buffer._c.nbytes else 0


def computing_device(arrays: Iterable[Array]) -> Cuda | None:
    """The one CUDA device that addresses all operands that have an element, where the host does not; else None."""
    found: Device | None = None
    off_host = False
    for array in arrays:
        if not array._c.layout.size:
            continue
        buffer = array._buffer
        device = buffer.device if buffer.device.computes else buffer.memory.device  # which made PINNED memory
        if found is not None and device is not found:
            return None
        found = device
        off_host = off_host or not buffer._c.addressable
    return found if off_host and isinstance(found, Cuda) else None


# --- the devices of this process -------------------------------------------------------------------------------------

_devices: dict[int, Cuda] = {}
_opening = threading.RLock()


def opened(ordinal: int) -> Cuda:
    """The device of an ordinal, always the same object; refuses memory/backend-unavailable and memory/ordinal."""
    device = _devices.get(ordinal)
    if device is None:
        require_ordinal(ordinal)
        with _opening:
            device = _devices.get(ordinal)
            if device is None:
                device = _devices[ordinal] = Cuda(ordinal)
    return device


def reopen() -> None:
    """For checkers: forget the devices that were lost, so that the next ``cuda(n)`` opens them anew."""
    with _opening:
        for ordinal in [ordinal for ordinal, device in _devices.items() if device.timeline.why is not None]:
            del _devices[ordinal]


def _forsake_all() -> None:
    for device in _devices.values():
        device.forsake()


def _close_all() -> None:
    for device in _devices.values():
        if device.timeline.why != FORKED:
            device.close()


work_order.forked.append(_forsake_all)
atexit.register(_close_all)
