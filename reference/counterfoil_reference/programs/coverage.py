"""What an assignment surely writes, and which nodes a routine reads before it has."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil_reference.programs.injective import further_loops, has_symbolic_extent, is_onto
from counterfoil_reference.programs.views import Patch, RowAccumulate, Step, reads
from counterfoil_spec.programs.assignments import Accumulate
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import greatest_extent


def is_definite(step: Step) -> bool:
    """Whether every element of the target is written, whatever the bindings."""
    if isinstance(step, Patch | RowAccumulate):
        return False
    if not isinstance(step, Accumulate) or step.initialize:
        return True
    projections = step.projections
    if step.accumulator != "arg2" or has_symbolic_extent(projections.product):
        return False
    runs = all(greatest_extent(extent) for _, extent in further_loops(projections.target, projections.product))
    return is_onto(step.target, projections.target, projections.product) and (runs or step.target.size == 0)


def reads_target_first(step: Step) -> bool:
    """Whether the step reads its own target as it was before."""
    if not isinstance(step, Accumulate) or initializes(step):
        return False
    if step.accumulator != "arg2" and not step.initialize:
        return True
    return any(node is step.target for node, _ in reads(step))


def initializes(step: Step) -> bool:
    """Whether the whole target starts from a neutral value, so that whatever is read of it is read after that."""
    return isinstance(step, Accumulate) and step.initialize and not isinstance(step, RowAccumulate)


def overwrites(step: Step) -> bool:
    """Whether nothing of the target's former value is left or looked at."""
    return is_definite(step) and not reads_target_first(step)


def first_reads(step: Step) -> list[Node]:
    """The nodes a step reads as they are before it: its operands, and its target where it accumulates into it."""
    found = dict.fromkeys(node for node, _ in reads(step) if node is not step.target)
    if reads_target_first(step):
        found[step.target] = None
    return list(found)


def last_writes(steps: Sequence[Step]) -> dict[Node, int]:
    """The nodes written, each with the place of its last write, in the order of those."""
    places = {step.target: place for place, step in enumerate(steps)}
    return dict(sorted(places.items(), key=lambda item: item[1]))
