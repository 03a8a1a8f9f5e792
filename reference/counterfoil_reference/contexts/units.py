"""Release units: what is released at once, and what it holds (docs/contexts.md, §1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from counterfoil_reference.contexts import census
from counterfoil_reference.contexts.pools import Location, Pool
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil_reference.contexts.ledger import Ledger
    from counterfoil_reference.contexts.values import Context
    from counterfoil_reference.lineage import Entry


class Unit:
    """The values that share their pools and their released mark.

    ``parent``: the nearest lifecycle ancestor. ``pools``: those it holds, in the order of allocation, the first
    ``base`` since it began, one more per allocating upload; ``given_up``: those a release already left.
    ``constants``: the constant pools that one of its values maps a node into. ``adopted``: ancestors it releases last;
    ``adopters``: the units that hold this one so. ``is_fork``: it shares the pools of the value it forked.
    """

    def __init__(self, ledger: Ledger, parent: Unit | None, pools: Iterable[Pool], is_fork: bool = False) -> None:
        self.ledger = ledger
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.pools = list(pools)
        self.base = len(self.pools)
        self.given_up: set[Pool] = set()
        self.constants: dict[Pool, None] = {}
        self.routines: tuple[int, ...] = ()
        self.allocations = 0
        self.adopted: list[Unit] = []
        self.adopters: set[Unit] = set()
        self.released = False
        self.is_fork = is_fork
        for pool in self.pools:
            pool.holders.add(self)
        census.unit_created()

    @property
    def ancestors(self) -> list[Unit]:
        """The lifecycle ancestors, nearest first."""
        found, unit = [], self.parent
        while unit is not None:
            found.append(unit)
            unit = unit.parent
        return found

    def begin(self, buffers: Mapping[Node, Location], lineage: Iterable[Entry]) -> None:
        """Bind the constants its first value maps, and keep its lineage's routines from retiring (C6, C17).

        A pool that a release gave up half way is bound by nobody any more.
        """
        for location in buffers.values():
            if location.pool.constant and not location.pool.freed:
                location.pool.holders.add(self)
                self.constants[location.pool] = None
        self.routines = tuple(entry.routine_id for entry in lineage)
        for routine_id in self.routines:
            self.ledger.living.setdefault(routine_id, set()).add(self)

    def keep(self, pool: Pool) -> None:
        """Hold one more pool: an allocating upload extends the unit (C16)."""
        pool.holders.add(self)
        self.pools.append(pool)
        self.allocations += 1

    def reaches(self, pool: Pool) -> bool:
        """Whether the pool is held by the unit or an ancestor, or is a constant pool the unit binds (C14)."""
        return self in pool.holders or any(ancestor in pool.holders for ancestor in self.ancestors)


def check_released(context: Context, operation: str) -> None:
    """The door every operation passes first: refuses release/dead-handle, release/dead-ancestor (context:176)."""
    if context.unit.released:
        raise refuse("release/dead-handle", operation=operation, context=context.name)
    for levels, unit in enumerate(context.unit.ancestors, start=1):
        if unit.released:
            raise refuse("release/dead-ancestor", operation=operation, context=context.name, levels=levels)


def fork(context: Context, pool: Pool) -> Unit:
    """The unit of an upload that allocates from a value that is not the tip (C16).

    It shares the pools that the value's unit held when the value was made, the constants, the adopted ancestors and
    the merge registrations, and has the same lifecycle ancestors.
    """
    origin = context.unit
    shared = [pool for pool in origin.pools[: origin.base + context.count] if pool not in origin.given_up]
    unit = Unit(origin.ledger, origin.parent, shared, is_fork=True)
    unit.keep(pool)
    unit.begin(context.buffers, context.lineage)
    for ancestor in origin.adopted:
        adopt(unit, ancestor)
    for consumers in origin.ledger.consumers.values():
        for owners in consumers.values():
            if origin in owners:
                owners.add(unit)
    return unit


def adopt(unit: Unit, ancestor: Unit) -> None:
    """Make the unit's release answer for an ancestor too (context:186)."""
    if ancestor not in unit.adopted:
        unit.adopted.append(ancestor)
        ancestor.adopters.add(unit)


def extended(context: Context, pool: Pool) -> tuple[Unit, int]:
    """The unit and the count of the value behind an upload that allocated that pool: the tip's unit, or a fork."""
    if context.count == context.unit.allocations:
        context.unit.keep(pool)
        return context.unit, context.unit.allocations
    unit = fork(context, pool)
    return unit, unit.allocations
