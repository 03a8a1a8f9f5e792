"""What is counted in the process: pools, units, compiles; and the seams at which a checker may make things fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil_reference.contexts.pools import Pool


class _Counters:
    """The counts since the process began, and the pools that are live."""

    def __init__(self) -> None:
        self.live: dict[Pool, int] = {}
        self.pools_allocated = 0
        self.pools_freed = 0
        self.units_created = 0
        self.units_released = 0
        self.peak = 0
        self.compiles = 0
        self.callback: Callable[[str], object] | None = None


_counters = _Counters()


def census() -> dict[str, int]:
    """The live pools and bytes by kind, what was made and given back so far, and the highest live bytes."""
    live = _counters.live
    working = [nbytes for pool, nbytes in live.items() if not pool.constant]
    constant = [nbytes for pool, nbytes in live.items() if pool.constant]
    return {
        "working_pools": len(working),
        "working_bytes": sum(working),
        "constant_pools": len(constant),
        "constant_bytes": sum(constant),
        "pools_allocated": _counters.pools_allocated,
        "pools_freed": _counters.pools_freed,
        "units_created": _counters.units_created,
        "units_released": _counters.units_released,
        "peak_pool_bytes": _counters.peak,
    }


def reset_peak() -> None:
    """Let the peak begin at what is live now (context:154)."""
    _counters.peak = sum(_counters.live.values())


def inject(callback: Callable[[str], object] | None) -> None:
    """Call this with the name of every seam as it is passed; what it raises propagates. None: nothing any more."""
    _counters.callback = callback


def passed(seam: str) -> None:
    """A seam is passed."""
    if _counters.callback is not None:
        _counters.callback(seam)


def compile_count() -> int:
    """Code generations completed in this process (context:47)."""
    return _counters.compiles


def compiled() -> None:
    """One more code generation was completed."""
    _counters.compiles += 1


def pool_allocated(pool: Pool) -> None:
    """A pool came to be."""
    _counters.live[pool] = pool.nbytes
    _counters.pools_allocated += 1
    _counters.peak = max(_counters.peak, sum(_counters.live.values()))


def pool_freed(pool: Pool) -> None:
    """A pool is no more."""
    del _counters.live[pool]
    _counters.pools_freed += 1


def unit_created() -> None:
    """A release unit began."""
    _counters.units_created += 1


def unit_released() -> None:
    """A release unit was released whole."""
    _counters.units_released += 1


def live_pools() -> tuple[Pool, ...]:
    """The pools that are live, in the order in which they were allocated."""
    return tuple(_counters.live)
