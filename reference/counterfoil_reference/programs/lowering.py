"""Steps as the loop IR, naively: one nest per executed step, a nest before it where the target starts as neutral."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from counterfoil_reference.programs.definitions import Stored
from counterfoil_reference.programs.replaying import accumulated, applied, fetched, nest, operand
from counterfoil_reference.programs.views import Patch, RowAccumulate, Step, accesses
from counterfoil_spec.programs.assignments import Accumulate, Constant, Embed, Fill, Offsets
from counterfoil_spec.programs.loops import Load, Lowered, Number, Statement, Store, Zero
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import NEUTRAL
from counterfoil_spec.programs.projections import Index, at, fixed
from counterfoil_spec.programs.symbols import Iterator as LoopIterator


def lowered(steps: Sequence[Step], stored: Stored) -> Lowered:
    """One kernel that carries out the steps whose targets have no stored definition, in order."""
    executed = [step for step in steps if step.target not in stored]
    return Lowered(tuple(statement for step in executed for statement in _step(step, stored)))


def _step(step: Step, stored: Stored) -> Iterator[Statement]:
    if isinstance(step, Patch):
        yield from _definition(step.target, (at(step.symbol),), step.definition)
    elif isinstance(step, Accumulate):
        if step.initialize:
            front = (at(step.symbol),) if isinstance(step, RowAccumulate) else ()
            yield from _definition(step.target, front, Constant(NEUTRAL[step.accumulator]))
        yield from _accumulation(step, stored)
    else:
        definition = step.definition
        assert isinstance(definition, Constant | Fill | Offsets | Embed), "a Fetch of a Row is an Accumulate"
        yield from _definition(step.target, (), definition)


def _definition(node: Node, front: Index, definition: Constant | Fill | Offsets | Embed) -> Iterator[Statement]:
    """The elements whose index begins with ``front`` get the definition's, by their position among them."""
    shape = node.shape[len(front) :]
    if isinstance(definition, Fill) and definition.values:
        places = itertools.product(*map(range, shape))
        for place, value in zip(places, definition.values, strict=True):
            yield Store(node, (*front, *map(fixed, place)), Number(value))
    elif isinstance(definition, Fill) or (not front and _is_zero(definition)):
        yield Zero(node)  # a Fill of no values is of a node without elements
    else:
        loops = [(LoopIterator(f"i{axis}"), extent) for axis, extent in enumerate(shape)]
        index = tuple(at(iterator) for iterator, _ in loops)
        yield from nest(loops, (Store(node, (*front, *index), fetched(definition, index, shape)),))


def _is_zero(definition: Constant | Offsets | Embed) -> bool:
    """Whether every element is +0."""
    return isinstance(definition, Constant) and definition.value == 0 and math.copysign(1, definition.value) > 0


def _accumulation(step: Accumulate, stored: Stored) -> Iterator[Statement]:
    target, index = step.target, step.projections.target
    arguments = [operand(given, where, stored) for given, where in accesses(step)]
    value = accumulated(step.accumulator, Load(target, index), applied(step.operation, arguments))
    yield from nest(step.projections.product, (Store(target, index, value),))
