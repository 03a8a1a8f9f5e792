"""Short rows: works that each run over the same rows, and over few places of a row, one thread a row.

So a softmax over some classes, with its gradient, is a kernel or two and not eight: such works last no longer than it
takes to launch them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.mapping import digits
from counterfoil.compile.cuda.work import Work
from counterfoil.compile.nests import Loops, Nest
from counterfoil_spec.programs.loops import Load
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Iterator

SHORT: Final = 16
"""Places of a row that one thread carries out."""

MOST_POINTS: Final = 1 << 16
"""Works of more points use the device better with a thread for each."""


def in_rows(group: Sequence[Work], work: Work) -> list[Work] | None:
    """All of the works, a thread for each of the rows they have in common; None where that cannot be."""
    works = [*group, work]
    if any(each.guards or each.solved or each.threads * each.terms > MOST_POINTS for each in works):
        return None
    rows = min((each.parallel for each in works), key=len)
    if not all(_has_rows(each, rows) for each in works):
        return None
    found = [_by_rows(each, rows) for each in works]
    return found if _keep_to_their_row(found, rows) else None


def _has_rows(work: Work, rows: Loops) -> bool:
    """Whether its outermost loops are as the rows, and few places are left inside, each carried out once."""
    outer, inner = work.parallel[: len(rows)], work.parallel[len(rows) :]
    if [extent for _, extent in outer] != [extent for _, extent in rows]:
        return False
    once = work.nest.is_disjoint and not work.nest.reductions
    if not once and (inner or not work.accumulates):
        return False
    return math.prod(extent for _, extent in inner) * work.terms <= SHORT


def _by_rows(work: Work, rows: Loops) -> Work:
    bindings: dict[Iterator, Iterator | int] = {
        mine: theirs for (mine, _), (theirs, _) in zip(work.parallel, rows, strict=False)
    }
    return work.renamed(bindings, rows, (*work.parallel[len(rows) :], *work.serial))


def _keep_to_their_row(works: Sequence[Work], rows: Loops) -> bool:
    """Whether every node that one of them stores to is touched by each thread at places of its own alone."""
    return all(_is_confined(work.nest.node, works, rows) for work in works)


def _is_confined(node: Node, works: Sequence[Work], rows: Loops) -> bool:
    iterators = {iterator for iterator, _ in rows}
    places: set[tuple[object, ...]] = set()
    low, high = math.inf, -math.inf
    for work in works:
        for position in _positions(work.nest, node):
            places.add(tuple(term for term in position.terms if term[1] in iterators or term[1] not in work.extents))
            least, most = _span(position, work, iterators)
            low, high = min(low, least), max(high, most)
    if len(places) != 1:
        return False
    found = digits(Affine(tuple(next(iter(places)))), rows)  # type: ignore[arg-type]
    alone = len(found) == len(rows) and all(len(digit.loops) == 1 for digit in found)
    return alone and all(digit.unit > high - low for digit in found)


def _positions(nest: Nest, node: Node) -> Iterable[Affine]:
    if nest.node is node:
        yield nest.target
    for load in nest.loads:
        if isinstance(load, Load) and load.node is node:
            yield offset(load.node, load.index)


def _span(position: Affine, work: Work, iterators: set[Iterator]) -> tuple[int, int]:
    """The least and the greatest position that the places of one row reach, from where the row begins."""
    low = high = position.offset
    for factor, variable in position.terms:
        if isinstance(variable, Iterator) and variable not in iterators:
            reach = factor * (work.extents[variable] - 1)
            low, high = low + min(0, reach), high + max(0, reach)
    return low, high
