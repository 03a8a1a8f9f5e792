"""Where each node of a routine is kept (docs/contexts.md section 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator as Walk
from collections.abc import Sequence
from typing import Final

from counterfoil.compile.accesses import Accesses, reached
from counterfoil.compile.decisions import Decisions
from counterfoil.compile.views import Step
from counterfoil_spec.limits import LOCAL_BYTES, MAX_INLINE_FANIN, MAX_INLINE_REDUCTION, MAX_VISITS
from counterfoil_spec.programs.assignments import Constant, Fetch, Fill
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.projections import greatest_extent
from counterfoil_spec.refusals import refuse

_READ_EARLY: Final = 36


def place(accesses: Accesses, decisions: Decisions, routine: str) -> dict[Node, Placement]:
    """The placements of every node of the lineage after this routine.

    Refuses placement/local-read, placement/merge-template, placement/nothing-stored, placement/virtual-illegal.
    """
    return _Placing(accesses, decisions, routine).decided()


class _Placing:
    """One routine's decisions, taken one node after the other."""

    def __init__(self, accesses: Accesses, decisions: Decisions, routine: str) -> None:
        self._accesses = accesses
        self._decisions = decisions
        self._routine = routine
        self._placements = dict(decisions.placements)
        self._definitions: dict[Node, Sequence[Step]] = dict(accesses.inherited)
        self._read_by_definitions = {
            node for setters in accesses.inherited.values() for step in setters for node, _ in step.reads
        }

    def decided(self) -> dict[Node, Placement]:
        """Everything, nodes only read first."""
        self._refuse_reads()
        for node in by_uid(node for node in self._accesses.read if node not in self._accesses.writers):
            self._placements.setdefault(node, Placement(Mode.ON_DEVICE, 37))
        for node in self._accesses.by_last_write():
            if node not in self._placements:
                self._placements[node] = self._written(node)
            elif self._is_virtual(node):
                self._require_legal(node)
            if self._is_virtual(node):
                self._define(node)
        return self._placements

    def _define(self, node: Node) -> None:
        setters = [step for _, step in self._accesses.setters(node)]
        self._definitions[node] = setters
        self._read_by_definitions.update(each for step in setters for each, _ in step.reads)

    def _refuse_reads(self) -> None:
        """Refuse what no decision could make right: reads of scratch, of merge templates, of nothing."""
        accesses, placed = self._accesses, self._decisions.placements
        local = [node for node in accesses.unwritten if node in placed and placed[node].mode is Mode.LOCAL]
        templates = [
            node for node in accesses.unwritten if any(step.merges for step in accesses.inherited.get(node, ()))
        ]
        nothing = [
            node for node in accesses.read
            if node not in placed and node not in accesses.writers and node.intent is Intent.VIRTUAL
        ]  # fmt: skip
        for rule, nodes in (("local-read", local), ("merge-template", templates), ("nothing-stored", nothing)):
            if nodes:
                labels = [node.label for node in by_uid(nodes)]
                raise refuse(f"placement/{rule}", routine=self._routine, nodes=labels)

    def _written(self, node: Node) -> Placement:
        """The decision for a node this routine writes and the lineage has not decided: the first that applies."""
        declared = node.intent
        early = node in self._accesses.unwritten
        if declared is Intent.ON_DEVICE:
            return Placement(Mode.ON_DEVICE, 23)
        if node in self._decisions.materialized:
            return Placement(Mode.ON_DEVICE, 24)
        if early and declared is Intent.VIRTUAL:
            raise self._illegal(node, _READ_EARLY)
        if early:
            return Placement(Mode.ON_DEVICE, _READ_EARLY)
        if declared is Intent.LOCAL:
            return Placement(Mode.LOCAL, 22)
        if declared is Intent.VIRTUAL:
            self._require_legal(node)
            return Placement(Mode.VIRTUAL, 20)
        if declared is Intent.NEVER_VIRTUAL:
            return _kept(node, 21)
        return self._undeclared(node)

    def _undeclared(self, node: Node) -> Placement:
        if node.observable:
            return Placement(Mode.ON_DEVICE, 19)
        if self._is_constant_scalar(node):
            return Placement(Mode.VIRTUAL, 40)
        preferred = node in self._decisions.inline or node in self._decisions.footprint
        code = (None if preferred else self._too_large(node)) or self._why_illegal(node)
        return Placement(Mode.VIRTUAL, 152) if code is None else _kept(node, code)

    def _is_constant_scalar(self, node: Node) -> bool:
        writers = self._accesses.writers[node]
        step = self._accesses.steps[writers[0]]
        if node.size != 1 or len(writers) != 1 or step.row is not None or not isinstance(step.assignment, Fetch):
            return False
        return isinstance(step.assignment.definition, (Constant, Fill))

    def _too_large(self, node: Node) -> int | None:
        """The cap that speaks against inlining, None if none does."""
        if self._accesses.visits(node, MAX_VISITS) > MAX_VISITS:
            return 1
        setters = [step for _, step in self._accesses.setters(node)]
        if any(_reduction(step) > MAX_INLINE_REDUCTION for step in setters):
            return 39
        return 41 if self._fan_in(node, setters) > MAX_INLINE_FANIN else None

    def _fan_in(self, node: Node, setters: Sequence[Step]) -> int:
        """The distinct nodes without a definition that the setters read, through those with one."""
        found = reached((each for step in setters for each, _ in step.reads if each is not node), self._definitions)
        return sum(1 for each in found if each is not node and each not in self._definitions)

    def _is_virtual(self, node: Node) -> bool:
        placement = self._placements.get(node)
        return placement is not None and placement.mode is Mode.VIRTUAL

    def _require_legal(self, node: Node) -> None:
        code = self._why_illegal(node)
        if code is not None:
            raise self._illegal(node, code)

    def _illegal(self, node: Node, code: int) -> Exception:
        return refuse("placement/virtual-illegal", routine=self._routine, node=node.label, reason=code)

    def _why_illegal(self, node: Node) -> int | None:
        """The first of the codes 5, 6, 8, 9, 10 that holds, None where the node may be inlined."""
        setters = self._accesses.setters(node)
        return next((code for code, holds in self._faults(node, setters) if holds), None)

    def _faults(self, node: Node, setters: Sequence[tuple[int, Step]]) -> Walk[tuple[int, bool]]:
        yield 5, not all(step.is_onto for _, step in setters)
        yield 6, any(step.is_symbolic for _, step in setters)
        yield 8, any(self._reads_elsewhere(node, step) for _, step in setters)
        last = setters[-1][0]
        yield 9, self._is_read_before(node, last)
        yield 10, any(self._is_overtaken(node, position, step) for position, step in setters)

    def _is_read_before(self, node: Node, position: int) -> bool:
        """Whether a step before that position, which writes another node, reads it, through definitions too."""
        if self._accesses.is_read_before(node, position):
            return True
        return node in self._read_by_definitions and any(
            node in reached((each,), self._definitions)
            for step in self._accesses.readers_before(node, position) for each, _ in step.reads
        )  # fmt: skip

    def _reads_elsewhere(self, node: Node, setter: Step) -> bool:
        """Whether a setter reads its node at another position, or through another node's definition."""
        if any(each is node and index != setter.index for each, index in setter.reads):
            return True
        return node in self._read_by_definitions and any(
            each is not node and node in reached((each,), self._definitions) for each, _ in setter.reads
        )

    def _is_overtaken(self, node: Node, position: int, setter: Step) -> bool:
        """Whether a leaf of the setter is written after it."""
        writers = self._accesses.writers
        leaves = reached((each for each, _ in setter.reads if each is not node), self._definitions)
        return any(leaf in writers and writers[leaf][-1] > position for leaf in leaves)


def _kept(node: Node, code: int) -> Placement:
    fits = node.nbytes <= LOCAL_BYTES and not node.observable
    return Placement(Mode.LOCAL if fits else Mode.ON_DEVICE, code)


def _reduction(step: Step) -> int:
    """The points of the loops that the target's index does not use."""
    if step.index is None:
        return 1
    used = {iterator for entry in step.index for iterator in entry.iterators}
    return math.prod(greatest_extent(extent) for iterator, extent in step.product if iterator not in used)

