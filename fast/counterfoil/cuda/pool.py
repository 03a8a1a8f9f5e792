"""Memory of a CUDA device: what the driver gives is kept, and used again once nobody uses it.

Allocations of a driver are slow, and giving them back waits for the device: so freed memory stays here, by kind and
size, until the driver has no room, and page-locked memory of the host's up to a bound, as the host tells of no lack
before it is too late. A submission keeps the memory it names until it is reached, so memory that comes
back has no work left, unless other libraries had it: their work nobody knows, and it is given back to the driver, after
everything on the device.

A lease ends in a finalizer, which may run anywhere: it only appends to a queue, which the next allocation looks at.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from counterfoil.cuda import driver
from counterfoil_spec.interface import MemoryKind

if TYPE_CHECKING:
    from counterfoil.cuda.driver import Primary
    from counterfoil.cuda.stream import StreamTimeline

SMALL: Final = 512
"""Sizes are multiples of this, and what a device addresses memory by at most."""

LARGE: Final = 2 << 20
"""From here on, sizes are multiples of this: the driver's pages."""

MOST_LOCKED: Final = 1 << 30
"""Page-locked bytes that are kept while nobody uses them."""

_MOST: Final = (1 << 63) - 1  # bytes that any memory can have: where an object counts its own, it takes no more

_STEPS: Final = 4  # sizes between two powers of two

_DEVICE: Final = MemoryKind.DEVICE.value

Key = tuple[str, int]
"""A kind of memory by its value, whose hash is quick, and a size."""


class Chunk:
    """An allocation of the driver's: its kind and size, what keeps it, its address, and its address for devices."""

    __slots__ = ("address", "kept", "key", "pointer")

    def __init__(self, kind: MemoryKind, size: int, kept: Any, address: int, pointer: int) -> None:
        self.key: Key = (kind._value_, size)
        self.kept = kept
        self.address = address
        self.pointer = pointer


class Lease:
    """A chunk while some memory is made of it. ``shared``: other libraries had it."""

    __slots__ = ("_pool", "chunk", "shared")

    def __init__(self, pool: Pool, chunk: Chunk) -> None:
        self._pool = pool
        self.chunk = chunk
        self.shared = False

    def __del__(self) -> None:
        self._pool.returned.append((self.chunk, self.shared))


class Pool:
    """The chunks of a device that nobody uses, by kind and size."""

    def __init__(self, primary: Primary, timeline: StreamTimeline) -> None:
        self._primary = primary
        self._timeline = timeline
        self._guard = threading.RLock()  # a finalizer may come in, and allocate
        self._free: dict[Key, list[Chunk]] = {}
        self._others: list[Chunk] = []
        self._locked = 0  # page-locked bytes among the free
        self._all: set[Chunk] = set()
        self.returned: deque[tuple[Chunk, bool]] = deque()

    def kept(self) -> list[object]:
        """What the driver made for it: all memory there is, in use or not."""
        return [chunk.kept for chunk in list(self._all)]

    def take(self, kind: MemoryKind, nbytes: int) -> Lease:
        """A chunk of at least ``nbytes``, which are more than 0.

        Where the driver has no room: gives back what nobody uses, collects garbage, waits for what the driver has got
        to do, and tries once more. Raises OutOfMemory, and memory/lost.
        """
        size = rounded(nbytes)
        try:
            return self._take(kind, size)
        except driver.OutOfMemory:
            pass
        self.make_room()
        return self._take(kind, size)

    def make_room(self) -> None:
        """Give back to the driver all that nobody uses, or would use no longer after the work it has got."""
        gc.collect()
        self._timeline.wait_for_given()
        self.trim()

    def trim(self) -> None:
        """Give back to the driver what nobody uses."""
        with self._guard:
            self._gather()
            chunks = self._dropped(list(self._free))
        with self._primary:
            self._disown()
            for chunk in chunks:
                self._give_back(chunk)

    def cached_bytes(self) -> int:
        """Bytes that nobody uses."""
        with self._guard:
            self._gather()
            return sum(size * len(chunks) for (_, size), chunks in self._free.items())

    def _take(self, kind: MemoryKind, size: int) -> Lease:
        if self._locked > MOST_LOCKED:
            self._unlock()
        found = self._found((kind._value_, size))
        if found is None:
            self._timeline.look()
            found = self._found((kind._value_, size))
        if found is None:
            with self._primary:
                self._disown()
                found = _made(kind, size)
            self._all.add(found)
        return Lease(self, found)

    def _found(self, key: Key) -> Chunk | None:
        with self._guard:
            if self.returned:
                self._gather()
            chunks = self._free.get(key)
            if not chunks:
                return None
            self._locked -= key[1] if key[0] != _DEVICE else 0
            return chunks.pop()

    def _gather(self) -> None:
        """Keep what came back, under the guard; what others had aside."""
        while self.returned:
            chunk, shared = self.returned.popleft()
            if shared:
                self._others.append(chunk)
                continue
            self._free.setdefault(chunk.key, []).append(chunk)
            self._locked += chunk.key[1] if chunk.key[0] != _DEVICE else 0

    def _dropped(self, keys: list[Key]) -> list[Chunk]:
        """The chunks of some kinds and sizes, which are kept no longer, under the guard."""
        dropped = [chunk for key in keys for chunk in self._free.pop(key, ())]
        self._locked -= sum(chunk.key[1] for chunk in dropped if chunk.key[0] != _DEVICE)
        return dropped

    def _unlock(self) -> None:
        """Give back the page-locked memory that nobody uses."""
        with self._guard:
            chunks = self._dropped([key for key in self._free if key[0] != _DEVICE])
        with self._primary:
            for chunk in chunks:
                self._give_back(chunk)

    def _disown(self) -> None:
        """Give back to the driver what others had, once all of the device's work is done; the device is current."""
        with self._guard:
            others, self._others = self._others, []
        if others:
            driver.synchronize_all()
        for chunk in others:
            self._give_back(chunk)

    def _give_back(self, chunk: Chunk) -> None:
        self._all.discard(chunk)
        driver.free(chunk.kept)


def rounded(nbytes: int) -> int:
    """The size of the chunk for so many bytes: at most a quarter more, by steps that are few."""
    step = 1 << max(nbytes - 1, 1).bit_length() - 1
    step = max(step // _STEPS, LARGE if nbytes > LARGE else SMALL)
    return -(-nbytes // step) * step


def _made(kind: MemoryKind, size: int) -> Chunk:
    """A fresh chunk, the device being current; raises OutOfMemory."""
    if size > _MOST:
        raise driver.OutOfMemory("more than any memory has")
    if kind is MemoryKind.DEVICE:
        kept, address = driver.allocate(size)
        return Chunk(kind, size, kept, address, address)
    kept, address, pointer = driver.allocate_host(size, combined=kind is MemoryKind.MAPPED)
    return Chunk(kind, size, kept, address, pointer)
