"""Which elements the threads of emitted kernels touch, point by point: what one writes is no other thread's affair.

The works of a kernel are walked over all their points, however their loops are joined, decomposed and shared out in the
text. A thread is a point of the parallel loops; who adds up its terms together meets at barriers before the result is
stored. The threads of a tile read one another's operands: those are to be written by none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.generate import grouped
from counterfoil.compile.cuda.strategy import Way, way_of
from counterfoil.compile.cuda.work import Work
from counterfoil_spec.programs.loops import Load, Lowered
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Iterator as LoopIterator
from counterfoil_spec.programs.symbols import Symbol

Values = Mapping[LoopIterator | Symbol, int]
Touch = tuple[Node, int, bool]
"""A node, the position of an element in it, whether it is written."""

MOST_POINTS = 1 << 15
"""Kernels of more points are not walked."""


def races(segments: Sequence[Lowered], bindings: Mapping[Symbol, int]) -> list[str]:
    """The elements that one thread of a kernel writes and another one touches, in words."""
    found: list[str] = []
    for place, group in enumerate(grouped(segments)):
        works = [item for item in group if isinstance(item, Work)]
        if works and sum(work.threads * work.terms for work in works) <= MOST_POINTS:
            found += [f"k{place}: {each}" for each in _races(works, bindings)]
    return found


def _races(works: Sequence[Work], bindings: Mapping[Symbol, int]) -> Iterator[str]:
    loops = works[0].parallel
    if any(work.parallel != loops for work in works):
        yield "its works have different threads"
        return
    if way_of(works[0]) is Way.TILES:
        shared = {load.node for load in works[0].nest.loads}
        yield from (f"{work.nest.node.label} is an operand of a tile" for work in works if work.nest.node in shared)
    touched: dict[tuple[Node, int], set[int]] = {}
    written: set[tuple[Node, int]] = set()
    for thread, point in enumerate(itertools.product(*(range(extent) for _, extent in loops))):
        values = {**bindings, **dict(zip((iterator for iterator, _ in loops), point, strict=True))}
        for node, position, writes in _touches(works, values):
            touched.setdefault((node, position), set()).add(thread)
            if writes:
                written.add((node, position))
    for node, position in sorted(written, key=lambda each: (each[0].uid, each[1])):
        threads = sorted(touched[node, position])
        if len(threads) > 1:
            yield f"threads {threads[:4]} meet at {node.label}[{position}]"


def _touches(works: Sequence[Work], values: Values) -> Iterator[Touch]:
    """What one thread touches."""
    for work in works:
        inner = [loop for loop in work.extents.items() if loop[0] not in values]
        nest = work.nest
        if nest.accumulator is not None and not _leaves_out(work.outside, values):
            free = {variable for _, variable in nest.target.terms} <= set(values)
            if free:  # the start, or a sum without terms
                yield nest.node, _at(nest.target, values), True
        for point in itertools.product(*(range(extent) for _, extent in inner)):
            here = {**values, **dict(zip((iterator for iterator, _ in inner), point, strict=True))}
            if _leaves_out(work.guards, here) or not _solves(work, here):
                continue
            yield nest.node, _at(nest.target, here), True
            for load in nest.loads:
                if isinstance(load, Load):
                    yield load.node, _at(offset(load.node, load.index), here), False


def _leaves_out(guards: Sequence[tuple[Affine, Affine]], values: Values) -> bool:
    return any(_at(left, values) >= _at(right, values) for left, right in guards)


def _solves(work: Work, values: Values) -> bool:
    return all(_at(each.dividend, values) == values[each.iterator] * each.divisor for each in work.solved)


def _at(entry: Affine, values: Values) -> int:
    return entry.offset + sum(factor * values[variable] for factor, variable in entry.terms)
