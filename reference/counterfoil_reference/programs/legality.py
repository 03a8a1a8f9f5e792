"""Whether a node can be inlined: the codes that say why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterfoil_reference.programs.coverage import overwrites
from counterfoil_reference.programs.definitions import Stored, reached, reached_from, setters
from counterfoil_reference.programs.injective import has_symbolic_extent, is_onto
from counterfoil_reference.programs.views import Patch, Step, reads
from counterfoil_spec.programs.assignments import Accumulate
from counterfoil_spec.programs.nodes import Node

NO_MAP, SYMBOLIC, ELSEWHERE, READ_EARLY, LEAF_WRITTEN = 5, 6, 8, 9, 10
INHERITED = -1


@dataclass(frozen=True, slots=True)
class Setter:
    """A write of a node: its place among the routine's steps, INHERITED for one of an earlier routine."""

    place: int
    step: Step


def setters_of(node: Node, steps: Sequence[Step], stored: Stored) -> list[Setter]:
    """The node's setters: the lineage's, unless the routine's first write drops them, then all the routine's."""
    own = [Setter(place, step) for place, step in enumerate(steps) if step.target is node]
    if own and overwrites(own[0].step):
        return own
    return [*(Setter(INHERITED, step) for step in setters(node, stored)), *own]


def illegality(node: Node, steps: Sequence[Step], stored: Stored) -> int | None:
    """Why the node cannot be inlined, the first of the codes 5, 6, 8, 9, 10 that applies; None where it can."""
    found = setters_of(node, steps, stored)
    if not all(_is_map(setter.step) for setter in found):
        return NO_MAP
    if any(isinstance(s.step, Accumulate) and has_symbolic_extent(s.step.projections.product) for s in found):
        return SYMBOLIC
    if any(_reads_elsewhere(node, setter.step, stored) for setter in found):
        return ELSEWHERE
    last = max(setter.place for setter in found)
    others = [step for step in steps[: max(last, 0)] if step.target is not node]
    if node in reached_from((operand for step in others for operand, _ in reads(step)), stored):
        return READ_EARLY
    if any(_leaf_is_written(node, setter, steps, stored) for setter in found):
        return LEAF_WRITTEN
    return None


def _is_map(step: Step) -> bool:
    if isinstance(step, Accumulate):
        return is_onto(step.target, step.projections.target, step.projections.product)
    return not isinstance(step, Patch)


def _reads_elsewhere(node: Node, step: Step, stored: Stored) -> bool:
    """Whether a setter reads the node at another index than its target's, or through another node's definition."""
    for operand, index in reads(step):
        if operand is node:
            if isinstance(step, Accumulate) and index != step.projections.target:
                return True
        elif node in reached(operand, stored):
            return True
    return False


def _leaf_is_written(node: Node, setter: Setter, steps: Sequence[Step], stored: Stored) -> bool:
    operands = [operand for operand, _ in reads(setter.step) if operand is not node]
    leaves = set(reached_from(operands, stored))
    return any(step.target in leaves for step in steps[setter.place + 1 :])
