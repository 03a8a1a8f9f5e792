"""Who reads and who writes what in a routine, in program order, the lineage's definitions replayed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from counterfoil.compile.decisions import Decisions
from counterfoil.compile.injective import Product, is_injective
from counterfoil.compile.views import Step, step_of
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Index

Definitions = Mapping[Node, Sequence[Step]]
"""The setters of Virtual nodes, in order."""


def reached(nodes: Iterable[Node], definitions: Definitions) -> dict[Node, None]:
    """The nodes, and what their definitions read, and what theirs do."""
    found = dict.fromkeys(nodes)
    pending = list(found)
    while pending:
        for step in definitions.get(pending.pop(), ()):
            fresh = [node for node, _ in step.reads if node not in found]
            found |= dict.fromkeys(fresh)
            pending += fresh
    return found


class Accesses:
    """``read``: the nodes that operands read. ``unwritten``: those read before they are definitely written, what stored
    definitions read included. ``writers``: the positions of each node's writes. ``inherited``: the lineage's
    definitions."""

    def __init__(self, steps: Sequence[Step], decisions: Decisions) -> None:
        self.steps = tuple(steps)
        self.inherited = {node: tuple(step_of(it) for it in stored) for node, stored in decisions.stored.items()}
        self.read: dict[Node, None] = {}
        self.unwritten: set[Node] = set()
        self.writers: dict[Node, list[int]] = {}
        self._occurrences: dict[Node, list[tuple[Index, Product]]] = {}
        self._first_reads: dict[Node, int] = {}
        self._definite: set[Node] = set()
        defined = dict(self.inherited)
        for position, step in enumerate(self.steps):
            self._note(position, step, defined)

    def setters(self, node: Node) -> list[tuple[int, Step]]:
        """The node's setters with their positions: this routine's, and in front, at -1, the lineage's unless the first
        of them overwrites."""
        own = [(position, self.steps[position]) for position in self.writers.get(node, ())]
        if own and own[0][1].overwrites:
            return own
        return [*((-1, step) for step in self.inherited.get(node, ())), *own]

    def by_last_write(self) -> list[Node]:
        """The nodes written, in the order of their last write."""
        return sorted(self.writers, key=lambda node: self.writers[node][-1])

    def visits(self, node: Node, limit: int) -> int:
        """Reads per element: 1 for each injective occurrence, 2 for any other; counting stops above the limit."""
        total = 0
        for index, product in self._occurrences.get(node, ()):
            total += 1 if total <= limit and is_injective(index, product) else 2
            if total > limit:
                break
        return total

    def readers_before(self, node: Node, position: int) -> Iterator[Step]:
        """The steps before a position that write other nodes."""
        return (step for step in self.steps[: max(position, 0)] if step.target is not node)

    def is_read_before(self, node: Node, position: int) -> bool:
        """Whether an operand of a step before a position that writes another node is the node itself."""
        return self._first_reads.get(node, position) < position

    def _note(self, position: int, step: Step, defined: dict[Node, tuple[Step, ...]]) -> None:
        target = step.target
        first = dict.fromkeys(node for node, _ in step.reads if node is not target)
        if step.reads_target:
            first[target] = None
        for node in reached(first, defined) if defined else first:
            if node not in self._definite and not (node is target and step.initializes):
                self.unwritten.add(node)
        for node, index in step.reads:
            self.read[node] = None
            if node is not target:
                self._first_reads.setdefault(node, position)
            if node is not target or index != step.index:
                self._occurrences.setdefault(node, []).append((index, step.product))
        self.writers.setdefault(target, []).append(position)
        if step.is_definite:
            self._definite.add(target)
            if step.overwrites:
                defined.pop(target, None)
