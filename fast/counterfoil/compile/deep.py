"""Programs nested deeper than Python's stack: definitions inlined into each other by the hundred."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

DEPTH: Final = 200_000
"""Calls that such a program may nest."""

STACK_BYTES: Final = 1 << 29
"""Address space of the thread that handles it; only what is used becomes memory."""

Result = TypeVar("Result")

_lock: Final = threading.Lock()


def deeply(work: Callable[[], Result]) -> Result:
    """What ``work`` returns or raises; where Python's stack does not suffice, done again on a larger one."""
    try:
        return work()
    except RecursionError:
        with _lock:
            return _on_large_stack(work)


def _on_large_stack(work: Callable[[], Result]) -> Result:
    results: list[Result] = []
    failures: list[BaseException] = []

    def carry_out() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # handed to the caller's thread, whatever it is
            failures.append(failure)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(DEPTH)
    try:
        thread = threading.Thread(target=carry_out)
        thread.start()
        threading.stack_size(size)
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failures:
        raise failures[0]
    return results[0]
