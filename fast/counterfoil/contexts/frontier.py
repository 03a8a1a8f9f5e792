"""The compile frontier of a value: what a routine compiled next would depend on (context:99, context:101)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from counterfoil_spec.programs.nodes import Node

if TYPE_CHECKING:
    from counterfoil.contexts.roots import Registration


class Fill(NamedTuple):
    """What fills the merge buffer: the node, the id of the copy, and the number by which the slab knows it."""

    node: Node
    transfer: Registration
    number: int


class Frontier:
    """A node's last writer along one lineage, its readers since, and the fill of the merge buffer. Immutable."""

    __slots__ = ("fill", "readers", "writers")

    def __init__(
        self,
        writers: dict[Node, Registration] | None = None,
        readers: dict[Node, tuple[Registration, ...]] | None = None,
        fill: Fill | None = None,
    ) -> None:
        self.writers = writers or {}
        self.readers = readers or {}
        self.fill = fill

    def dependencies(self, reads: Iterable[Node], writes: Iterable[Node], merge: Node | None) -> list[Registration]:
        """The writers of what is read or written, the readers of what is written, the fill that is read; by id."""
        found: dict[int, Registration] = {}
        for node in reads:
            if node in self.writers:
                found[self.writers[node].id] = self.writers[node]
        for node in writes:
            if node in self.writers:
                found[self.writers[node].id] = self.writers[node]
            found |= {reader.id: reader for reader in self.readers.get(node, ())}
        if merge is not None and self.fill is not None:
            found[self.fill.transfer.id] = self.fill.transfer
        return [found[number] for number in sorted(found)]

    def after(self, routine: Registration, reads: Iterable[Node], writes: Iterable[Node]) -> Frontier:
        """The frontier behind a routine."""
        writers, readers = dict(self.writers), dict(self.readers)
        for node in writes:
            writers[node] = routine
            readers.pop(node, None)
        for node in reads:
            if writers.get(node) is not routine:
                readers[node] = (*readers.get(node, ()), routine)
        return Frontier(writers, readers, self.fill)

    def without(self, node: Node) -> Frontier:
        """The frontier behind an upload or an ordinary copy: nobody is waited for on account of the node."""
        writers, readers = dict(self.writers), dict(self.readers)
        writers.pop(node, None)
        readers.pop(node, None)
        return Frontier(writers, readers, self.fill)

    def filled(self, fill: Fill) -> Frontier:
        """The frontier behind a fill of the merge buffer."""
        return Frontier(self.writers, self.readers, fill)
