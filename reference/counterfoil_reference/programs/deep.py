"""Programs nested deeper than Python's stack: Virtual nodes inlined into each other by the hundred."""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

DEPTH: Final = 200_000
"""Calls that such a program may nest."""

STACK_BYTES: Final = 1 << 29
"""Address space of the thread that handles it; only what is used becomes memory."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_one_at_a_time: Final = threading.Lock()


def deep(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, called once more on a larger stack where Python's does not suffice: it must leave no trace then."""

    @functools.wraps(function)
    def called(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **named)
        except RecursionError:
            with _one_at_a_time:
                return _on_larger_stack(lambda: function(*arguments, **named))

    return called


def _on_larger_stack(work: Callable[[], Result]) -> Result:
    """What ``work`` returns or raises, on a thread of its own; the process's limits are as before afterwards."""
    results: list[Result] = []
    failures: list[BaseException] = []

    def carry_out() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # the caller's to handle, whatever it is
            failures.append(failure)

    context = contextvars.copy_context()  # what the caller has in force, watching among it
    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(DEPTH)
    try:
        thread = threading.Thread(target=context.run, args=(carry_out,))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    for failure in failures:
        raise failure
    return results[0]
