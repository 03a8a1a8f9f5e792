"""What is counted in the process: pools, units, compiles; and the seams at which a checker may make things fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

_guard: Final = threading.Lock()


class _Counters:
    """Counts since the process began; ``live`` has [pools, bytes] of working and of constant pools."""

    def __init__(self) -> None:
        self.live = {False: [0, 0], True: [0, 0]}
        self.pools_allocated = 0
        self.pools_freed = 0
        self.units_created = 0
        self.units_released = 0
        self.peak = 0
        self.compiles = 0
        self.callback: Callable[[str], object] | None = None

    @property
    def live_bytes(self) -> int:
        return self.live[False][1] + self.live[True][1]


_counters: Final = _Counters()


def census() -> dict[str, int]:
    """Live pools and bytes by kind, what was made and given back so far, and the highest live bytes (context:154)."""
    (working, working_bytes), (constant, constant_bytes) = _counters.live[False], _counters.live[True]
    return {
        "working_pools": working,
        "working_bytes": working_bytes,
        "constant_pools": constant,
        "constant_bytes": constant_bytes,
        "pools_allocated": _counters.pools_allocated,
        "pools_freed": _counters.pools_freed,
        "units_created": _counters.units_created,
        "units_released": _counters.units_released,
        "peak_pool_bytes": _counters.peak,
    }


def reset_peak() -> None:
    """Let the peak begin at what is live now."""
    _counters.peak = _counters.live_bytes


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
    with _guard:
        _counters.compiles += 1


def pool_allocated(constant: bool, nbytes: int) -> None:
    """A pool came to be."""
    with _guard:
        kind = _counters.live[constant]
        kind[0] += 1
        kind[1] += nbytes
        _counters.pools_allocated += 1
        _counters.peak = max(_counters.peak, _counters.live_bytes)


def pool_freed(constant: bool, nbytes: int) -> None:
    """A pool is no more."""
    with _guard:
        kind = _counters.live[constant]
        kind[0] -= 1
        kind[1] -= nbytes
        _counters.pools_freed += 1


def unit_created() -> None:
    """A release unit began."""
    with _guard:
        _counters.units_created += 1


def unit_released() -> None:
    """A release unit was released whole."""
    with _guard:
        _counters.units_released += 1
