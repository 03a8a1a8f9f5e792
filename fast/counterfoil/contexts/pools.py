"""Pools: nodes packed into buffers of a device, and the locations that the ledgers' records are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterfoil._native import ffi
from counterfoil.arrays import Array, blank
from counterfoil.buffers import Buffer, allocate, buffer_of
from counterfoil.contexts import census, moving
from counterfoil.numbers import loose_of_values, of_float
from counterfoil.views import NUMPY_DTYPES
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.limits import POOL_ALIGNMENT, POOL_CAP
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.backends import ContextDevice
    from counterfoil.contexts.roots import Record

Placed = list[tuple[Node, int]]
"""The nodes of one pool, each with its first byte there."""

_ADDRESS = ffi.typeof("uintptr_t")
_SHARED = ffi.typeof("cf_shared *")

_LIVE: Final[set[Pool]] = set()
"""The live pools: what nobody releases keeps its memory (context:178, context:182)."""


class Location:
    """A node's place in a pool: a concrete buffer. Compared by identity: places without bytes are places too.

    ``records``: what each root knows of it, by the root's number. ``shared``: what they all know, of a constant.
    ``cache``: where a constant is entered, a device's literals or a root's own.
    """

    __slots__ = ("__weakref__", "cache", "first", "node", "pool", "records", "shared")

    def __init__(self, pool: Pool, node: Node, first: int) -> None:
        self.pool = pool
        self.node = node
        self.first = first
        self.records: dict[int, Record] = {}
        self.cache: dict[Node, Location] = {}
        self.shared = ffi.new(_SHARED) if pool.constant else None

    @property
    def address(self) -> int:
        """Where its bytes begin."""
        return self.pool.address + self.first

    @property
    def array(self) -> Array:
        """The array over its bytes in place, of the node's dtype and padded extents; also of a dead buffer."""
        buffer, node = self.buffer, self.node
        array = blank(buffer, node.dtype)
        array._contiguous(node.dtype.code, node.dims, int(ffi.cast(_ADDRESS, buffer._c)))
        return array

    @property
    def buffer(self) -> Buffer:
        """Its bytes as a buffer, as dead as the pool."""
        return self.part(0, self.node.nbytes)

    def part(self, first: int, nbytes: int) -> Buffer:
        """Some of its bytes as a buffer, as dead as the pool."""
        pool = self.pool.buffer
        buffer = buffer_of(pool.memory, self.first + first, nbytes, pool.device, pool._c.addressable)
        buffer._c.generation = pool._c.generation
        return buffer


class Pool:
    """One allocation. ``holders``: how many units keep it, or of a constant pool bind an entry of it."""

    __slots__ = ("__weakref__", "address", "buffer", "constant", "device", "freed", "holders", "locations")

    def __init__(self, device: ContextDevice, constant: bool, buffer: Buffer) -> None:
        self.device = device
        self.constant = constant
        self.buffer = buffer
        self.address = int(ffi.cast(_ADDRESS, buffer.memory.c.base))
        self.locations: dict[Node, Location] = {}
        self.holders = 0
        self.freed = False

    @property
    def nbytes(self) -> int:
        """Its size."""
        return self.buffer.nbytes

    @property
    def addressable(self) -> bool:
        """Whether the host addresses its bytes."""
        return bool(self.buffer._c.addressable)

    def free(self) -> list[Location]:
        """Give its memory back: its buffers are dead, were ``released``. Consumed memory is its consumer's.

        The locations given up; the pool forgets them. Refuses memory/exclusive and memory/claimed: somebody is reading
        or writing it.
        """
        if self.buffer.dead is None:
            self.buffer.free("released")
        self.freed = True
        _LIVE.discard(self)
        self.device.count(-self.nbytes)
        census.pool_freed(self.constant, self.nbytes)
        given_up, self.locations = list(self.locations.values()), {}
        return given_up


def packed(nodes: Iterable[Node]) -> list[Placed]:
    """Nodes by bump into pools: offsets aligned, a pool closed when the next node would pass the cap."""
    pools: list[Placed] = []
    bump = 0
    for node in nodes:
        first = -(-bump // POOL_ALIGNMENT) * POOL_ALIGNMENT
        if not pools or first + node.nbytes > POOL_CAP:
            pools.append([])
            first = 0
        pools[-1].append((node, first))
        bump = first + node.nbytes
    return pools


def check_cap(nodes: Iterable[Node]) -> None:
    """Refuse compile/pool-cap for the first node that fits in no pool."""
    for node in nodes:
        if node.nbytes > POOL_CAP:
            raise refuse("compile/pool-cap", node=node.label, nbytes=node.nbytes, cap=POOL_CAP)


def new_pool(device: ContextDevice, placed: Placed, constant: bool = False) -> Pool:
    """A fresh pool, every byte zero or a margin's value (C3).

    Refuses memory/exhausted and memory/lost, changing nothing.
    """
    last, first = placed[-1]
    buffer = allocate(device.memory, first + last.nbytes)
    pool = Pool(device, constant, buffer)
    for node, offset in placed:
        pool.locations[node] = Location(pool, node, offset)
    moving.clear(pool)
    device.count(buffer.nbytes)
    _LIVE.add(pool)
    census.pool_allocated(constant, buffer.nbytes)
    return pool


def stored_literal(node: Node) -> np.ndarray[Any, Any]:
    """A literal's values as the node's dtype stores them (the store rule: an integer dtype saturates), unpadded."""
    assert node.literal is not None
    values = [int(value) if isinstance(value, bool) else value for value in node.literal]
    if node.dtype.kind is Kind.SIGNED:
        values = [_whole(node.dtype, value) for value in values]
    loose = loose_of_values(node.dtype, values)
    return np.frombuffer(loose, NUMPY_DTYPES[node.dtype]).reshape(node.shape)


def _whole(dtype: Dtype, value: float) -> int:
    """A number as an integer dtype stores it."""
    if isinstance(value, float):
        value = of_float(dtype, value)  # type: ignore[assignment]
    return min(max(int(value), int(dtype.min_value)), int(dtype.max_value))
