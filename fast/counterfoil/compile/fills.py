"""Fills that only start an accumulation: dropped, the accumulation starting from the number itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterfoil.compile.nests import Item, Nest, fill_value, touched
from counterfoil_spec.programs.nodes import Node


def absorbed(items: Sequence[Item]) -> list[Item]:
    """The items without fills that nothing sees: the next to touch the node covers it.

    A covering store that reads nothing of it drops the fill; a covering accumulation starts from its number.
    """
    result: list[Item | None] = list(items)
    pending: dict[Node, int] = {}
    for position, item in enumerate(items):
        seen = touched(item)
        if isinstance(item, Nest) and item.node in pending and item.covers():
            fill = items[pending[item.node]]
            assert isinstance(fill, Nest)
            if _overwrites(item):
                result[pending.pop(item.node)] = None
            elif item.accumulator is not None:
                result[pending.pop(item.node)] = None
                result[position] = replace(item, start=fill_value(fill))
        for node in seen:
            pending.pop(node, None)
        if isinstance(item, Nest) and item.is_fill and item.covers():
            pending[item.node] = position
    return [item for item in result if item is not None]


def _overwrites(nest: Nest) -> bool:
    return nest.accumulator is None and not nest.reductions and all(load.node is not nest.node for load in nest.loads)
