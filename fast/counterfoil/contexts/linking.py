"""Link: which buffers a routine gets, and how what the context lacks is allocated (docs/contexts.md, section 2)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from counterfoil.contexts import census, moving, pools
from counterfoil.contexts.frontend import mentioned
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.compile import Plan
    from counterfoil.contexts.pools import Location, Pool
    from counterfoil.contexts.values import Value


class Links:
    """What a link found and made: places of the arguments the context did not bind, and fresh pools by kind."""

    __slots__ = ("constant", "places", "working")

    def __init__(self) -> None:
        self.places: dict[Node, Location] = {}
        self.working: list[Pool] = []
        self.constant: list[Pool] = []

    def undo(self) -> None:
        """Free what was allocated; nothing refers to it yet."""
        for pool in (*self.working, *self.constant):
            pool.free()


def link(value: Value, comp: Comp, plan: Plan, name: str, prelowered: bool) -> Links:
    """Find or allocate what the context lacks.

    Refuses compile/lacks-nodes, compile/merge-mismatch, compile/pool-cap, memory/exhausted. Whatever fails, what was
    allocated is freed. The caller holds the device's guard.
    """
    missing = [node for node in plan.arguments if node not in value.buffers]
    if missing:
        _check_allocatable(missing, comp, name, prelowered)
    _check_merge(value, plan, name)
    links = Links()
    read_only = set(plan.read_only)
    shareable = {node for node in missing if node in read_only and not node.context_owned}
    for node in shareable:
        found = cached(value, node)
        if found is not None:
            links.places[node] = found
    absent = [node for node in missing if node not in links.places]
    pools.check_cap(absent)
    try:
        _allocate(value, links, absent, shareable)
    except BaseException:
        links.undo()
        raise
    return links


def cached(value: Value, node: Node) -> Location | None:
    """Where a constant lies that some unit binds: a literal's by device, another by root (C6)."""
    cache = value._root.constants if node.literal is None else value.device.literals
    return cache.get(node)


def publish(value: Value, links: Links) -> None:
    """Enter fresh constants into their caches."""
    for pool in links.constant:
        for node, location in pool.locations.items():
            cache = value._root.constants if node.literal is None else value.device.literals
            cache[node] = location
            location.cache = cache


def _check_allocatable(missing: list[Node], comp: Comp, name: str, prelowered: bool) -> None:
    embedded = set(comp.embedded)
    lacking = [node for node in missing if node not in embedded and node.literal is None]
    if lacking and prelowered:
        named = mentioned(comp.code)
        lacking = [node for node in lacking if node in named]
    if lacking:
        raise refuse("compile/lacks-nodes", routine=name, nodes=[node.label for node in lacking])


def _check_merge(value: Value, plan: Plan, name: str) -> None:
    if plan.merge is None:
        return
    filled = value.frontier.fill
    if filled is None or filled.node is not plan.merge:
        label = None if filled is None else filled.node.label
        raise refuse("compile/merge-mismatch", routine=name, reads=plan.merge.label, filled=label)


def _allocate(value: Value, links: Links, absent: list[Node], shareable: Collection[Node]) -> None:
    """Working pools, then constant pools, then literals are uploaded where they were allocated."""
    for constant, made in ((False, links.working), (True, links.constant)):
        for placed in pools.packed(node for node in absent if (node in shareable) is constant):
            pool = pools.new_pool(value.device, placed, constant)
            made.append(pool)
            links.places |= pool.locations
            census.passed("delta-pool-allocated")
    census.passed("link-after-delta")
    for node in absent:
        if node.literal is not None:
            moving.store(links.places[node], pools.stored_literal(node))
