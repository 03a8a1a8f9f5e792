"""The compile frontier of a context value: which routines a routine compiled next would depend on (context:99)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from counterfoil_spec.programs.nodes import Node


def _nobody() -> Mapping[Node, int]:
    return MappingProxyType({})


def _no_readers() -> Mapping[Node, frozenset[int]]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Frontier:
    """Along one lineage: a node's last writer, the readers since that write, and what fills the merge buffer."""

    last_writer: Mapping[Node, int] = field(default_factory=_nobody)
    last_readers: Mapping[Node, frozenset[int]] = field(default_factory=_no_readers)
    merge: tuple[Node, int] | None = None

    def dependencies(self, reads: Iterable[Node], writes: Iterable[Node], merge: Node | None = None) -> frozenset[int]:
        """Law run/depends: the writers of what it reads and writes, the readers of what it writes, the fill it reads.

        ``merge`` is the node whose merge buffer the routine reads; that the frontier records that node is looked at
        before (compile/merge-mismatch).
        """
        writes = tuple(writes)
        writers = {self.last_writer[node] for node in (*reads, *writes) if node in self.last_writer}
        readers = {reader for node in writes for reader in self.last_readers.get(node, ())}
        fills = {self.merge[1]} if merge is not None and self.merge is not None else set()
        return frozenset(writers | readers | fills)

    def after(self, routine_id: int, reads: Iterable[Node], writes: Iterable[Node]) -> Frontier:
        """The frontier behind that routine: it wrote its writes, and read what it read and did not write."""
        writes = frozenset(writes)
        writer = {**self.last_writer, **dict.fromkeys(writes, routine_id)}
        readers = {node: since for node, since in self.last_readers.items() if node not in writes}
        for node in reads:
            if node not in writes:
                readers[node] = readers.get(node, frozenset()) | {routine_id}
        return Frontier(MappingProxyType(writer), MappingProxyType(readers), self.merge)

    def written_from_outside(self, node: Node) -> Frontier:
        """The frontier behind an upload or an ordinary copy: nobody is waited for on account of the node any more."""
        writer = {each: at for each, at in self.last_writer.items() if each is not node}
        readers = {each: since for each, since in self.last_readers.items() if each is not node}
        return Frontier(MappingProxyType(writer), MappingProxyType(readers), self.merge)

    def filled(self, node: Node, transfer: int) -> Frontier:
        """The frontier behind a fill of the merge buffer from that node (context:101)."""
        return replace(self, merge=(node, transfer))


def unmet(dependencies: Iterable[int], executed: Collection[int]) -> list[int]:
    """Rule run/dependencies (context:99): the ids a routine depends on that have not run, in order."""
    return sorted(each for each in dependencies if each not in executed)
