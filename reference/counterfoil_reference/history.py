"""The accumulation history of a root: how often a routine added to a buffer since its last reset (context:61, C8).

Counts are a mapping from (routine id, location of a concrete buffer) to a number of runs, immutable: each function
returns new counts. ``location_of`` gives the location of the buffer a routine binds for a gradient, None where it has
none (a Virtual or Local gradient is not counted).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from types import MappingProxyType

from counterfoil_reference.lineage import Entry
from counterfoil_spec.programs.nodes import Node

Counts = Mapping[tuple[int, Hashable], int]
LocationOf = Callable[[Node], Hashable | None]

NOTHING_COUNTED: Counts = MappingProxyType({})


def overdrawn(entry: Entry, counts: Counts, location_of: LocationOf) -> list[Node]:
    """Rule gradients/without-reset (context:61): the gradients the routine may not add to again before a reset.

    Those it accumulates, does not zero, and has a buffer for that it added to as often as its comp allows for that
    gradient (C4). By uid.
    """
    found = []
    for gradient in sorted(entry.accumulates, key=lambda node: node.uid):
        location = location_of(gradient)
        if gradient in entry.zeroes or location is None:
            continue
        if counts.get((entry.routine_id, location), 0) >= entry.allowance(gradient):
            found.append(gradient)
    return found


def counted(entry: Entry, counts: Counts, location_of: LocationOf) -> Counts:
    """The counts after a run (timing runs too, C13): buffers it zeroes start again, those it only adds to gain one."""
    for gradient in entry.zeroes:
        location = location_of(gradient)
        if location is not None:
            counts = reset(counts, location)
    after = dict(counts)
    for gradient in entry.accumulates:
        location = location_of(gradient)
        if location is not None and gradient not in entry.zeroes:
            after[entry.routine_id, location] = after.get((entry.routine_id, location), 0) + 1
    return MappingProxyType(after)


def reset(counts: Counts, location: Hashable) -> Counts:
    """The counts after a write from outside of that buffer: every routine may add to it afresh (context:61)."""
    return MappingProxyType({key: count for key, count in counts.items() if key[1] != location})


def withdrawn(counts: Counts, before: Counts, locations: Collection[Hashable]) -> Counts:
    """The counts after a run is rolled back (C5): at the buffers it wrote they are what they were before it.

    ``before`` are the counts before that run; nothing touched those buffers since (run/rollback-overtaken).
    """
    kept = {key: count for key, count in counts.items() if key[1] not in locations}
    restored = {key: count for key, count in before.items() if key[1] in locations}
    return MappingProxyType(kept | restored)


def retired(counts: Counts, routine_id: int) -> Counts:
    """The counts once no live lineage holds that routine (C17)."""
    return MappingProxyType({key: count for key, count in counts.items() if key[0] != routine_id})
