"""Zero elision: fills that only start an accumulation are no kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterfoil.compile.cuda.items import Item
from counterfoil.compile.cuda.work import Work
from counterfoil.compile.nests import fill_value, touched
from counterfoil_spec.programs.nodes import Node


def elided(items: Sequence[Item]) -> list[Item]:
    """The items without fills that nothing sees: the next to touch the node covers it.

    A covering store that reads nothing of it drops the fill; a covering accumulation starts from its number.
    """
    result: list[Item | None] = list(items)
    pending: dict[Node, tuple[int, float | None]] = {}
    for position, item in enumerate(items):
        if isinstance(item, Work) and item.nest.node in pending and item.covers():
            place, value = pending[item.nest.node]
            if _overwrites(item):
                result[place] = None
            elif item.accumulates:
                result[place] = None
                result[position] = replace(item, nest=replace(item.nest, start=value))
        for node in touched(item.nest if isinstance(item, Work) else item):
            pending.pop(node, None)
        if isinstance(item, Work) and item.nest.is_fill and item.covers():
            pending[item.nest.node] = position, fill_value(item.nest)
    return [item for item in result if item is not None]


def _overwrites(work: Work) -> bool:
    nest = work.nest
    return work.is_map and nest.accumulator is None and all(load.node is not nest.node for load in nest.loads)
