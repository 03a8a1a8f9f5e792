"""Dask's worker looks at the stacks of its threads a hundred times a second, and holds what it looks at meanwhile.

A frame held keeps memory alive that a program has dropped, so that one half frees it at another step than the other:
a difference that no half made. Whoever runs programs in a worker's process has the sampling stopped around them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from counterfoil_oracles.campaigns.clusters import distributed

_SECONDS: Final = 30.0


@contextmanager
def unsampled() -> Iterator[None]:
    """No stacks are sampled in the block; outside of a worker nothing is done."""
    sampler, loop = _sampler()
    if sampler is None:
        yield
        return
    _on(loop, sampler.stop)
    try:
        yield
    finally:
        _on(loop, sampler.start)


def _sampler() -> tuple[Any, Any]:
    """The worker's sampling and the loop that does it; None twice where there is none."""
    try:
        worker = distributed.get_worker()
    except ValueError:
        return None, None
    return worker.periodic_callbacks.get("profile"), worker.loop


def _on(loop: Any, call: Callable[[], None]) -> None:
    """Have the loop's own thread make a call, and wait for it: no sample is being taken when this returns."""
    done = threading.Event()

    def calling() -> None:
        call()
        done.set()

    loop.add_callback(calling)
    if not done.wait(_SECONDS):
        raise RuntimeError("the worker's loop does not answer")
