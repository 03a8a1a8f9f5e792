"""When garbage is collected: never inside a program, so that what is live is the same from run to run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def between_programs() -> Iterator[None]:
    """Collect no cycles inside the block, and all of them at its end.

    A cycle that holds memory would otherwise be collected in the middle of a step, when one half has run it and the
    other has not.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
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
    live = [half.inspection.live_bytes(half.host()) for half in halves]
    held = [half.host().buffer(max(live) - mine) for half, mine in zip(halves, live, strict=True) if mine < max(live)]
    try:
        yield
    finally:
        held.clear()


def settle_imports() -> None:
    """Leave everything that exists now out of later collections, which makes them cheap."""
    gc.collect()
    gc.freeze()
