"""Memory of CUDA devices: what a lease of the pool or another library holds, and its bytes as a checker sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil import handles
from counterfoil._native import lib
from counterfoil.buffers import Memory
from counterfoil.cuda import driver
from counterfoil.cuda.pool import Lease
from counterfoil_spec.interface import MemoryKind

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda
    from counterfoil.cuda.driver import Stream


class CudaMemory(Memory):
    """Memory that a CUDA device addresses at ``pointer``. ``opaque``: the host does not address it."""

    device: Cuda

    def __init__(self, owner: handles.Owner, device: Cuda, nbytes: int, pointer: int, opaque: bool) -> None:
        super().__init__(owner, device, nbytes)
        self.pointer = pointer
        self.opaque = opaque

    @classmethod
    def fresh(cls, device: Cuda, nbytes: int, kind: MemoryKind, counted: bool = True) -> CudaMemory:
        """Memory of the device's pool, live on it if ``counted``. Raises OutOfMemory, DriverFailed and memory/lost."""
        lease = device.pool.take(kind, nbytes)
        opaque = kind is MemoryKind.DEVICE
        owner = handles.adopted(device.timeline.owner, lease.chunk.address, nbytes, 0, lease, counted, opaque)
        return cls(owner, device, nbytes, lease.chunk.pointer, opaque)

    def bytes_at(self, offset: int, nbytes: int) -> memoryview:
        """The bytes, or where the host does not address them a read-only copy of what is there now."""
        if not self.opaque:
            return super().bytes_at(offset, nbytes)
        copied = bytearray(nbytes)
        if nbytes:
            self.device.on_the_side(lambda side: driver.to_host(copied, self.pointer + offset, side))
        return memoryview(copied).toreadonly()

    def store(self, offset: int, data: bytes | memoryview) -> None:
        """Overwrite bytes as they are now, whatever is queued."""
        if not self.opaque:
            super().store(offset, data)
        elif len(data):
            self.device.on_the_side(lambda side: driver.to_device(self.pointer + offset, data, side))

    def poison(self, byte: int) -> None:
        """Fill the memory with a byte, once no pending work can see it."""
        if not self.opaque:
            super().poison(byte)
        elif self.nbytes and self.device.timeline.why is None:
            scribble = Scribble(self, byte)
            if self.order is not None:
                self.order.settled = scribble
            scribble.look()
            if self.device.scribbles:
                self.device.on_the_side(lambda side: None)

    def share(self) -> None:
        """Other libraries get the memory: what they do with it nobody knows."""
        keep = self.owner.keep
        if isinstance(keep, Lease):
            keep.shared = True


class Scribble:
    """Fills memory with a byte once no pending work can see it: it is queued then, and done before anybody looks."""

    __slots__ = ("_byte", "_c", "_device", "_nbytes", "_owner", "_pointer", "_queued")

    def __init__(self, memory: CudaMemory, byte: int) -> None:
        self._owner = memory.owner  # which holds the bytes
        self._c = memory.c
        self._device = memory.device
        self._pointer = memory.pointer
        self._nbytes = memory.nbytes
        self._byte = byte
        self._queued = False

    def __call__(self) -> None:
        """Pending work of the memory was performed or dropped."""
        self._owner.settle()
        self.look()

    def look(self) -> None:
        """Queue the fill, once, if there is no pending work."""
        if not self._queued and not lib.cf_memory_pending_uses(self._c):
            self._queued = True
            self._device.scribbles.append(self)

    def fill(self, side: Stream) -> None:
        """Enqueue the fill."""
        driver.fill(self._pointer, self._byte, self._nbytes, side)
