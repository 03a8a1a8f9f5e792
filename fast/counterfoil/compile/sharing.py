"""The heads of loops, and which of them threads share."""

from __future__ import annotations

from typing import Final

from counterfoil.compile.emit import Function
from counterfoil.compile.nests import Loops

PARALLEL_POINTS: Final = 1 << 20
"""Fewer points are not worth waking a second thread for, which takes some 50 us."""

CHUNK_POINTS: Final = 1 << 15
"""The least points of one thread's share."""


def open_loops(function: Function, loops: Loops, points: int, hot: bool) -> None:
    """The heads of loops; the outermost one over a thread's share where ``points`` (0 for a nest that is not to be
    shared) are many. ``hot``: no point of the innermost depends on another, and vector code pays."""
    for level, (iterator, extent) in enumerate(loops):
        if hot and level == len(loops) - 1:
            function.line("#pragma omp simd")
        if level == 0 and points >= PARALLEL_POINTS and extent > 1:
            function.share(iterator, extent, max(1, -(-CHUNK_POINTS * extent // points)))
        else:
            function.loop(iterator, extent)


def close_loops(function: Function, count: int) -> None:
    """The ends of that many loops."""
    for _ in range(count):
        function.close()
