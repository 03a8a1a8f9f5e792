"""When garbage is collected: never inside a program, so that what is live is the same from run to run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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


def settle_imports() -> None:
    """Leave everything that exists now out of later collections, which makes them cheap."""
    gc.collect()
    gc.freeze()
