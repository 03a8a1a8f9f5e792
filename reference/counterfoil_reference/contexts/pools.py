"""Pools: nodes packed into buffers of a device, and the locations that the ledgers' records are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil_reference.arrays import Array
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.contexts import census, contents
from counterfoil_reference.layouts import Layout
from counterfoil_spec.limits import POOL_ALIGNMENT, POOL_CAP
from counterfoil_spec.programs.nodes import Node

if TYPE_CHECKING:
    from counterfoil_reference.contexts.ledger import Token
    from counterfoil_reference.contexts.roots import ContextDevice
    from counterfoil_reference.contexts.units import Unit

Placed = tuple[tuple[Node, int], ...]
"""The nodes of one pool, each with its first byte there."""


@dataclass(eq=False)
class Location:
    """A node's place in a pool: a concrete buffer. Compared by identity: places without bytes are places too.

    ``token``: the last write of a constant, by whichever root (context:57). ``event``: the number of its last write.
    """

    pool: Pool
    node: Node
    buffer: Buffer
    token: Token | None = None
    event: int = 0

    @property
    def array(self) -> Array:
        """The array over its bytes, of the node's dtype and padded extents."""
        return Array.over(self.node.dtype, Layout.contiguous(self.node.dims), self.buffer)


@dataclass(eq=False)
class Pool:
    """One allocation. ``holders``: the units that keep it; for a constant pool those that bind an entry of it."""

    device: ContextDevice
    constant: bool
    buffer: Buffer
    locations: dict[Node, Location] = field(default_factory=dict)
    holders: set[Unit] = field(default_factory=set)
    freed: bool = False

    @property
    def nbytes(self) -> int:
        """Its size."""
        return self.buffer.nbytes

    def free(self) -> None:
        """Give its memory back: its buffers are dead, were released. Consumed memory is its consumer's.

        Refuses memory/exclusive, memory/claimed: somebody is reading or writing it.
        """
        if self.buffer.dead is None:
            self.buffer.free("released")
        self.freed = True
        census.pool_freed(self)


def packed(nodes: Iterable[Node]) -> list[Placed]:
    """Nodes by bump into pools: offsets aligned, a pool closed when the next node would pass the cap."""
    pools: list[list[tuple[Node, int]]] = []
    bump = 0
    for node in nodes:
        first = aligned(bump)
        if not pools or first + node.nbytes > POOL_CAP:
            pools.append([])
            first = 0
        pools[-1].append((node, first))
        bump = first + node.nbytes
    return [tuple(pool) for pool in pools]


def aligned(nbytes: int) -> int:
    """The next multiple of the alignment."""
    return -(-nbytes // POOL_ALIGNMENT) * POOL_ALIGNMENT


def size_of(placed: Placed) -> int:
    """The bytes of a pool: up to the end of its last node."""
    node, first = placed[-1]
    return first + node.nbytes


def allocate(device: ContextDevice, placed: Placed, constant: bool = False) -> Pool:
    """A fresh pool, every byte zero or a margin's value (C3). Refuses memory/lost, exhausted, changing nothing."""
    buffer = device.place.buffer(size_of(placed))
    buffer.memory.write(0, bytes(buffer.nbytes))
    pool = Pool(device, constant, buffer)
    for node, first in placed:
        location = Location(pool, node, buffer.view(first, node.nbytes))
        pool.locations[node] = location
        contents.fill_margins(location.array, node)
    census.pool_allocated(pool)
    return pool


def freed_all(pools: Sequence[Pool]) -> None:
    """Undo allocations that nothing refers to yet."""
    for pool in pools:
        pool.free()
