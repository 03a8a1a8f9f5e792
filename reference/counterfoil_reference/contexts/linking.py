"""Link: which buffers a routine gets, and how what is missing is allocated (docs/contexts.md, §2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil_reference.contexts import census, contents, pools
from counterfoil_reference.contexts.pools import Location, Pool
from counterfoil_reference.programs import Plan
from counterfoil_spec.limits import POOL_CAP
from counterfoil_spec.programs.assignments import Accumulate, Code, Row, leaves
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.values import Context


@dataclass(frozen=True)
class Links:
    """What a link found and made: places of arguments the context did not bind, and the fresh pools of them."""

    found: dict[Node, Location]
    working: list[Pool]
    constant: list[Pool]

    @property
    def fresh(self) -> list[Pool]:
        """The fresh pools in the order of allocation."""
        return [*self.working, *self.constant]

    @property
    def locations(self) -> dict[Node, Location]:
        """The places of what the context did not bind."""
        allocated = {node: where for pool in self.fresh for node, where in pool.locations.items()}
        return {**self.found, **allocated}


def mentioned(code: Code) -> set[Node]:
    """The nodes that assignments name: targets, operands (of the merge buffer too), rows' parents, slice parents."""
    named: set[Node] = set()
    for leaf in leaves(code):
        named.add(leaf.target)
        if isinstance(leaf, Accumulate):
            named |= {operand.node for operand in leaf.operands}
        elif isinstance(leaf.definition, Row):
            named.add(leaf.definition.parent)
    return named | {node.slice_of[0] for node in named if node.slice_of is not None}


def link(context: Context, comp: Comp, plan: Plan, name: str, prelowered: bool) -> Links:
    """Allocate what the context lacks. Refuses compile/lacks-nodes, compile/merge-mismatch, compile/pool-cap,
    memory/exhausted; whatever fails, what was allocated is freed."""
    missing = [node for node in plan.arguments if node not in context.buffers]
    _check_allocatable(missing, comp, name, prelowered)
    _check_merge(context, plan, name)
    shared = {node for node in missing if node in plan.read_only and not node.context_owned}
    cached = {node: context.device.constants.find(context.ledger, node) for node in missing if node in shared}
    found = {node: location for node, location in cached.items() if location is not None}
    absent = [node for node in missing if node not in found]
    _check_cap(absent)
    links = Links(found, [], [])
    try:
        _allocate(context, links, absent, shared)
    except BaseException:
        pools.freed_all(links.fresh)
        raise
    return links


def _check_allocatable(missing: Iterable[Node], comp: Comp, name: str, prelowered: bool) -> None:
    named = mentioned(comp.code)
    lacking = [
        node.label
        for node in missing
        if node not in comp.embedded and node.literal is None and not (prelowered and node not in named)
    ]
    if lacking:
        raise refuse("compile/lacks-nodes", routine=name, nodes=lacking)


def _check_merge(context: Context, plan: Plan, name: str) -> None:
    filled = context.frontier.merge
    if plan.merge is not None and (filled is None or filled[0] is not plan.merge):
        label = None if filled is None else filled[0].label
        raise refuse("compile/merge-mismatch", routine=name, reads=plan.merge.label, filled=label)


def _check_cap(nodes: Iterable[Node]) -> None:
    for node in nodes:
        if node.nbytes > POOL_CAP:
            raise refuse("compile/pool-cap", node=node.label, nbytes=node.nbytes, cap=POOL_CAP)


def _allocate(context: Context, links: Links, absent: list[Node], shared: set[Node]) -> None:
    """Working pools, then constant pools, then the literals are uploaded where they were allocated."""
    for group, constant in ((links.working, False), (links.constant, True)):
        for placed in pools.packed(node for node in absent if (node in shared) is constant):
            group.append(pools.allocate(context.device, placed, constant))
            census.passed("delta-pool-allocated")
    census.passed("link-after-delta")
    for pool in links.fresh:
        for node, location in pool.locations.items():
            if node.literal is not None:
                contents.store_literal(location.array, node)
