"""Where a routine's nodes are kept (docs/contexts.md, section 3): under a lineage's decisions, which are final."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

from counterfoil_reference.programs.coverage import first_reads, initializes, is_definite, last_writes, overwrites
from counterfoil_reference.programs.decisions import Decisions
from counterfoil_reference.programs.definitions import Stored, fan_in, kept, reached, reads_merge
from counterfoil_reference.programs.injective import further_loops, is_injective
from counterfoil_reference.programs.legality import illegality, setters_of
from counterfoil_reference.programs.views import Step, reads
from counterfoil_spec.limits import LOCAL_BYTES, MAX_INLINE_FANIN, MAX_INLINE_REDUCTION, MAX_VISITS
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Fill
from counterfoil_spec.programs.comps import by_uid
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.projections import greatest_extent
from counterfoil_spec.refusals import refuse

TOO_OFTEN, READ_FIRST, ONLY_READ, TOO_LONG, SCALAR, TOO_MANY, INLINED = 1, 36, 37, 39, 40, 41, 152
OBSERVABLE, DECLARED_VIRTUAL, DECLARED_NEVER, DECLARED_LOCAL, DECLARED_ON_DEVICE, MATERIALIZED = 19, 20, 21, 22, 23, 24


@dataclass(slots=True)
class Choice:
    """A routine's placement under way: its steps, what the lineage decided, and what was decided since."""

    routine: str
    steps: Sequence[Step]
    before: Decisions
    placements: dict[Node, Placement] = field(init=False)
    stored: dict[Node, tuple[Assignment, ...]] = field(init=False)
    unwritten: set[Node] = field(init=False)

    def __post_init__(self) -> None:
        self.placements = dict(self.before.placements)
        self.stored = dict(self.before.stored)
        self.unwritten = {node for reads in unwritten_reads(self.steps, self.stored) for node in reads}

    def mode(self, node: Node) -> Mode | None:
        """Where the node is kept, None while that is not decided."""
        placement = self.placements.get(node)
        return None if placement is None else placement.mode


def place(steps: Sequence[Step], decisions: Decisions, routine: str) -> Decisions:
    """The decisions after a routine: the lineage's, and one for each node it mentions.

    Refuses placement/local-read, placement/merge-template, placement/nothing-stored, placement/virtual-illegal.
    """
    choice = Choice(routine, steps, decisions)
    written = last_writes(steps)
    only_read = by_uid(node for step in steps for node, _ in reads(step) if node not in written)
    _refuse_reads(choice, only_read)
    for node in only_read:
        choice.placements.setdefault(node, Placement(Mode.ON_DEVICE, ONLY_READ))
    for node in written:
        _place_written(choice, node)
    return replace(decisions, placements=MappingProxyType(choice.placements), stored=MappingProxyType(choice.stored))


def unwritten_reads(steps: Sequence[Step], stored: Stored) -> Iterator[list[Node]]:
    """For each step, the nodes it reads that no step before has definitely written.

    A read of a node with a stored definition is one of all that it reaches, until the node is overwritten.
    """
    defined = dict(stored)
    written: set[Node] = set()
    for step in steps:
        found = dict.fromkeys(each for node in first_reads(step) for each in reached(node, defined))
        if initializes(step):
            found.pop(step.target, None)  # through a definition: read after it was initialized
        yield [node for node in found if node not in written]
        if is_definite(step):
            written.add(step.target)
        if overwrites(step):
            defined.pop(step.target, None)


def _refuse_reads(choice: Choice, only_read: Sequence[Node]) -> None:
    local = by_uid(node for node in choice.unwritten if choice.mode(node) is Mode.LOCAL)
    if local:
        raise refuse("placement/local-read", routine=choice.routine, nodes=local)
    templates = by_uid(node for node in choice.unwritten if reads_merge(node, choice.stored))
    if templates:
        raise refuse("placement/merge-template", routine=choice.routine, nodes=templates)
    undefined = [node for node in only_read if choice.mode(node) is None and node.intent is Intent.VIRTUAL]
    if undefined:
        raise refuse("placement/nothing-stored", routine=choice.routine, nodes=undefined)


# --- nodes the routine writes ----------------------------------------------------------------------------------------


def _place_written(choice: Choice, node: Node) -> None:
    mode = choice.mode(node)
    if mode is None:
        placement = choice.placements[node] = _first_rule(choice, node)
        mode = placement.mode
    elif mode is Mode.VIRTUAL:
        _require_legal(choice, node)
    if mode is Mode.VIRTUAL:
        writes = [setter.step for setter in setters_of(node, choice.steps, choice.stored)]
        choice.stored[node] = kept([write for write in writes if isinstance(write, Accumulate | Fetch)])


def _require_legal(choice: Choice, node: Node) -> None:
    code = illegality(node, choice.steps, choice.stored)
    if code is not None:
        raise refuse("placement/virtual-illegal", routine=choice.routine, node=node, reason=code)


def _first_rule(choice: Choice, node: Node) -> Placement:
    """The first of the rules 1 to 11 that applies."""
    intent = node.intent
    if intent is Intent.ON_DEVICE:
        return Placement(Mode.ON_DEVICE, DECLARED_ON_DEVICE)
    if node in choice.before.materialized:
        return Placement(Mode.ON_DEVICE, MATERIALIZED)
    if node in choice.unwritten:
        if intent is Intent.VIRTUAL:
            raise refuse("placement/virtual-illegal", routine=choice.routine, node=node, reason=READ_FIRST)
        return Placement(Mode.ON_DEVICE, READ_FIRST)
    if intent is Intent.LOCAL:
        return Placement(Mode.LOCAL, DECLARED_LOCAL)
    if intent is Intent.VIRTUAL:
        _require_legal(choice, node)
        return Placement(Mode.VIRTUAL, DECLARED_VIRTUAL)
    if intent is Intent.NEVER_VIRTUAL:
        return _kept(node, DECLARED_NEVER)
    if node.observable:
        return Placement(Mode.ON_DEVICE, OBSERVABLE)
    return _by_policy(choice, node)


def _by_policy(choice: Choice, node: Node) -> Placement:
    """The rules 8 to 11, for nodes that nothing was declared of."""
    if _is_constant_scalar(choice.steps, node):
        return Placement(Mode.VIRTUAL, SCALAR)
    preferred = node in choice.before.inline or node in choice.before.footprint
    reason = None if preferred else _over_caps(choice, node)
    if reason is None:
        reason = illegality(node, choice.steps, choice.stored)
    return Placement(Mode.VIRTUAL, INLINED) if reason is None else _kept(node, reason)


def _kept(node: Node, reason: int) -> Placement:
    """Scratch where the node is small and not observable, else a buffer."""
    small = node.nbytes <= LOCAL_BYTES and not node.observable
    return Placement(Mode.LOCAL if small else Mode.ON_DEVICE, reason)


def _is_constant_scalar(steps: Sequence[Step], node: Node) -> bool:
    writes = [step for step in steps if step.target is node]
    if node.size != 1 or len(writes) != 1:
        return False
    only = writes[0]
    return isinstance(only, Fetch) and isinstance(only.definition, Constant | Fill)


def _over_caps(choice: Choice, node: Node) -> int | None:
    """The code of the first cap of the default policy that the node is over."""
    writes = [setter.step for setter in setters_of(node, choice.steps, choice.stored)]
    if visits(choice.steps, node) > MAX_VISITS:
        return TOO_OFTEN
    if max(map(_reduction, writes)) > MAX_INLINE_REDUCTION:
        return TOO_LONG
    if fan_in(node, writes, choice.stored) > MAX_INLINE_FANIN:
        return TOO_MANY
    return None


def visits(steps: Sequence[Step], node: Node) -> int:
    """How often the steps' operands read one element of the node: 1 per injective index, 2 per other, summed.

    What an assignment to the node reads of it at its own target index does not count.
    """
    total = 0
    for step in steps:
        if isinstance(step, Accumulate):
            for operand, index in reads(step):
                if operand is node and not (step.target is node and index == step.projections.target):
                    total += 1 if is_injective(index, step.projections.product) else 2
    return total


def _reduction(step: Step) -> int:
    """The points of the loops that the target's index does not use."""
    if not isinstance(step, Accumulate):
        return 1
    further = further_loops(step.projections.target, step.projections.product)
    return prod(greatest_extent(extent) for _, extent in further)
