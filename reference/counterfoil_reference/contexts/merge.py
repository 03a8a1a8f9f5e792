"""The merge buffer of a device: one slab, filled by device-to-device copies (context:101, C18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil_reference import checks
from counterfoil_reference.arrays import Array
from counterfoil_reference.buffers import Buffer
from counterfoil_reference.devices import Device
from counterfoil_reference.layouts import Layout
from counterfoil_spec.interface import Access
from counterfoil_spec.programs.nodes import Node

if TYPE_CHECKING:
    from counterfoil_reference.contexts.ledger import Ledger
    from counterfoil_reference.contexts.pools import Location


class Slab:
    """The bytes on the device's ``place``, and which fill of which root they hold."""

    def __init__(self, place: Device) -> None:
        self._place = place
        self._buffer: Buffer | None = None
        self._fill: tuple[Ledger, int] | None = None

    def reserve(self, nbytes: int) -> None:
        """Grow to at least that many bytes, keeping what it holds; refuses memory/exhausted."""
        if self._buffer is not None and self._buffer.nbytes >= nbytes:
            return
        grown = self._place.buffer(nbytes)
        grown.memory.write(0, bytes(nbytes))
        if self._buffer is not None:
            checks.wait(self._buffer, Access.READ)
            grown.memory.write(0, self._buffer.memory.read(0, self._buffer.nbytes))
        self._buffer = grown

    def wait(self) -> None:
        """Wait for what a fill must follow; refuses memory/lost."""
        assert self._buffer is not None
        checks.wait(self._buffer, Access.READ_WRITE)

    def replace(self, source: Location, ledger: Ledger, transfer: int) -> None:
        """Take a node's bytes, its padding included, after ``wait``."""
        assert self._buffer is not None
        self._buffer.memory.write(0, source.buffer.memory.read(source.buffer.first, source.buffer.nbytes))
        self._fill = (ledger, transfer)

    def holds(self, ledger: Ledger, transfer: int) -> bool:
        """Whether it holds that fill of that root."""
        return self._fill == (ledger, transfer)

    def array_of(self, node: Node) -> Array:
        """What it holds, laid out as the node's buffer."""
        assert self._buffer is not None
        return Array.over(node.dtype, Layout.contiguous(node.dims), self._buffer)
