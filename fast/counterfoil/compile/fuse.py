"""Neighbouring nests over the same space carried out in one pass, so that what one stores the next finds in cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.nests import Item, Nest, separates
from counterfoil.compile.schedule import collapsed
from counterfoil_spec.programs.loops import Load, Statement
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine

LONG_ENOUGH: Final = 64
"""An innermost loop this long is worth as much as a longer one."""


def groups(items: Iterable[Item]) -> list[list[Nest] | Statement]:
    """The items with runs of nests that may share their loops made one list, over the first one's iterators."""
    found: list[list[Nest] | Statement] = []
    for item in items:
        if not isinstance(item, Nest):
            found.append(item)
            continue
        last = found[-1] if found else None
        joined = _joined(last, item) if isinstance(last, list) else None
        if joined is None:
            found.append([item])
        else:
            found[-1] = joined
    return found


def is_accumulated_inside(nest: Nest) -> bool:
    """Whether its innermost loop adds terms to one element."""
    return bool(nest.loops) and nest.loops[-1][0] in nest.reductions


def _joined(group: Sequence[Nest], nest: Nest) -> list[Nest] | None:
    """The group with one more nest; None where that would change what is computed, or shorten the innermost loop."""
    first = group[0]
    if not nest.is_regular or not first.is_regular or not nest.loops:
        return None
    if is_accumulated_inside(first) or is_accumulated_inside(nest):
        return None
    if [extent for _, extent in nest.loops] != [extent for _, extent in first.loops]:
        return None
    bindings = {mine: theirs for (mine, _), (theirs, _) in zip(nest.loops, first.loops, strict=True)}
    renamed = nest.renamed(dict(bindings), first.loops)
    if not all(_are_independent(earlier, renamed) for earlier in group):
        return None
    joined = [*group, renamed]
    inner = _innermost(joined)
    if inner < LONG_ENOUGH and inner < max(_innermost(group), _innermost([nest])):
        return None
    return joined


def _innermost(group: Sequence[Nest]) -> int:
    return collapsed(group)[0].loops[-1][1]


def _are_independent(earlier: Nest, later: Nest) -> bool:
    """Whether points of different iterations share nothing that one of them writes."""
    if not _in_step(earlier, later.node, _positions(earlier, later.node), later.target, later):
        return False
    return _in_step(later, earlier.node, _positions(later, earlier.node), earlier.target, earlier)


def _in_step(other: Nest, node: Node, positions: Sequence[Affine], target: Affine, writer: Nest) -> bool:
    if not positions:
        return True
    return all(position == target for position in positions) and separates(target, writer.loops)


def _positions(nest: Nest, node: Node) -> list[Affine]:
    """Where the nest touches the node."""
    found = [offset(load.node, load.index) for load in nest.loads if isinstance(load, Load) and load.node is node]
    return [nest.target, *found] if nest.node is node else found


