"""When garbage is collected: never inside a program, so that what is live is the same from run to run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from counterfoil_oracles.slabs import grow_slabs


@contextmanager
def between_programs(*halves: Any) -> Iterator[None]:
    """Collect no cycles inside the block, and all of them at its end; the halves start with their memory level.

    A cycle that holds memory would otherwise be collected in the middle of a step, when one half has run it and the
    other has not.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with level_memory(*halves):
            yield
    finally:
        gc.collect()
        if was_enabled:
            gc.enable()


@contextmanager
def level_memory(*halves: Any) -> Iterator[None]:
    """As much live host memory in every half at the start of the block.

    What ran before in the process may have left more in one of them; budgets, and refusals over them, name bytes.
    """
    for half in halves:
        grow_slabs(half)
    live = [half.inspection.live_bytes(half.host()) for half in halves]
    most = max(live, default=0)
    held = [half.host().buffer(most - mine) for half, mine in zip(halves, live, strict=True) if mine < most]
    try:
        yield
    finally:
        held.clear()


def settle_imports() -> None:
    """Leave everything that exists now out of later collections, which makes them cheap."""
    gc.collect()
    gc.freeze()
