"""The constant cache of a device: literals by node, what else a root only reads by root and node (context:57, C6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil_spec.programs.nodes import Node

if TYPE_CHECKING:
    from counterfoil_reference.contexts.ledger import Ledger
    from counterfoil_reference.contexts.pools import Location, Pool


class ConstantCache:
    """Where constants lie that some unit binds."""

    def __init__(self) -> None:
        self._literals: dict[Node, Location] = {}
        self._own: dict[tuple[Ledger, Node], Location] = {}

    def find(self, ledger: Ledger, node: Node) -> Location | None:
        """The cached place of a node that a routine only reads, or None."""
        return self._own.get((ledger, node)) if node.literal is None else self._literals.get(node)

    def put(self, ledger: Ledger, pool: Pool) -> None:
        """Cache every entry of a fresh constant pool."""
        for node, location in pool.locations.items():
            if node.literal is None:
                self._own[ledger, node] = location
            else:
                self._literals[node] = location

    def drop(self, pool: Pool) -> None:
        """Forget the entries of a pool that is freed."""
        self._literals = {node: where for node, where in self._literals.items() if where.pool is not pool}
        self._own = {key: where for key, where in self._own.items() if where.pool is not pool}
