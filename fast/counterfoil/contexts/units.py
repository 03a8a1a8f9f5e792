"""Release units: what is released at once, and what it holds (docs/contexts.md, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from counterfoil._native import ffi, lib
from counterfoil.contexts import census
from counterfoil_spec.refusals import refuse

if TYPE_CHECKING:
    from counterfoil.contexts.pools import Pool
    from counterfoil.contexts.roots import Registration
    from counterfoil.contexts.values import Value

_UNIT = ffi.typeof("cf_unit *")


class Unit:
    """The values that share their pools and their released mark, which the core reads along the chain of parents.

    ``pools``: those it holds, in the order of allocation, the first ``base`` since it began, one more per allocating
    upload; ``given_up``: how many of them a release already left. ``constants``: constant pools that one of its values
    maps a node into. ``routines``: those of its lineage. ``adopted``: ancestors it releases last; ``adopters``: how
    many units hold this one so. ``is_fork``: it shares the pools of the value it forked.
    """

    __slots__ = (
        "adopted", "adopters", "allocations", "base", "c", "constants", "depth", "given_up", "is_fork", "parent",
        "pools", "routines",
    )  # fmt: skip

    def __init__(self, parent: Unit | None, pools: Iterable[Pool], is_fork: bool = False) -> None:
        self.c = ffi.new(_UNIT)
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        if parent is not None:
            self.c.parent = parent.c
        self.pools: list[Pool] = []
        self.given_up = 0
        self.constants: dict[Pool, None] = {}
        self.routines: tuple[Registration, ...] = ()
        self.adopted: list[Unit] = []
        self.adopters = 0
        self.is_fork = is_fork
        for pool in pools:
            self._hold(pool)
        self.base = len(self.pools)
        self.allocations = 0
        census.unit_created()

    @property
    def released(self) -> bool:
        """Whether it was released whole."""
        return bool(lib.cf_unit_released(self.c) == 0)

    @property
    def ancestors(self) -> Iterator[Unit]:
        """The lifecycle ancestors, nearest first."""
        unit = self.parent
        while unit is not None:
            yield unit
            unit = unit.parent

    def begin(self, value: Value) -> None:
        """Bind the constants its first value maps, and keep its lineage's routines from retiring (C6, C17)."""
        for pool in value.constants:
            if not pool.freed:
                pool.holders += 1
                self.constants[pool] = None
        self.routines = tuple(value._root.names[entry.routine_id] for entry in value.lineage)
        for registration in self.routines:
            registration.units += 1

    def keep(self, pool: Pool) -> None:
        """Hold one more pool: an allocating upload extends the unit (C16)."""
        self._hold(pool)
        self.allocations += 1

    def holds(self, pool: Pool) -> bool:
        """Whether it keeps that pool, or binds an entry of it."""
        return pool in self.constants or pool in self.pools[self.given_up :]

    def reaches(self, pool: Pool) -> bool:
        """Whether the unit or a lifecycle ancestor holds the pool (C14)."""
        return self.holds(pool) or any(ancestor.holds(pool) for ancestor in self.ancestors)

    def _hold(self, pool: Pool) -> None:
        pool.holders += 1
        self.pools.append(pool)


def check_released(value: Value, operation: str) -> None:
    """The door every operation passes first: refuses release/dead-handle, release/dead-ancestor (context:176)."""
    levels = lib.cf_unit_released(value._unit.c)
    if levels >= 0:
        raise released_refusal(value, operation, levels)


def released_refusal(value: Value, operation: str, levels: int) -> Exception:
    """The refusal of a value whose unit, or ancestor so many levels up, was released."""
    if levels == 0:
        return refuse("release/dead-handle", operation=operation, context=value.name)
    return refuse("release/dead-ancestor", operation=operation, context=value.name, levels=levels)


def extended(value: Value, pool: Pool) -> Unit:
    """The unit of the value behind an upload that allocated that pool: the tip's own, or a fork (C16)."""
    if value.count == value._unit.allocations:
        value._unit.keep(pool)
        return value._unit
    return _fork(value, pool)


def adopt(unit: Unit, ancestor: Unit) -> None:
    """Make the unit's release answer for an ancestor too (context:186)."""
    if ancestor not in unit.adopted:
        unit.adopted.append(ancestor)
        ancestor.adopters += 1


def _fork(value: Value, pool: Pool) -> Unit:
    """It shares the pools its origin held when the value was made and has not given up, its constants, adopted
    ancestors and merge registrations, and has the same lifecycle ancestors."""
    origin = value._unit
    unit = Unit(origin.parent, origin.pools[origin.given_up : origin.base + value.count], is_fork=True)
    unit.keep(pool)
    unit.begin(value)
    for ancestor in origin.adopted:
        adopt(unit, ancestor)
    for consumers in value._root.consumers.values():
        for owners in consumers.values():
            if origin in owners:
                owners.add(unit)
    return unit
