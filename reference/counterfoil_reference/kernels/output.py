"""What every kernel does with its result: write it, and tell a watcher what else would have been right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from counterfoil_reference import elements
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept, Record, watched

Rooms = Callable[[], Sequence[Accept | None]]


def write(dst: Array, codes: Sequence[int], rooms: Rooms | None = None) -> None:
    """Store a code per element in C order; ``rooms`` is asked only while somebody watches (None: no room at all)."""
    elements.store_codes(dst, codes)
    log = watched()
    if log is not None:
        log.append(Record(dst, [None] * len(codes) if rooms is None else rooms()))


def never() -> bool:
    """For kernels that decline nothing."""
    return False
