"""When garbage is collected: never inside a program, so that what is live is the same from run to run."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from counterfoil_oracles.cuda.setting import align, devices_of, reopen
from counterfoil_oracles.slabs import grow_cuda_slabs, grow_slabs


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
    """As much live memory of the host and of each CUDA device in every half at the start of the block.

    What ran before in the process may have left more in one of them; budgets, and refusals over them, name bytes.
    """
    for half in halves:
        grow_slabs(half)
    reopen(halves)
    for half in halves:
        grow_cuda_slabs(half)
    align(halves)
    held = [each for devices in zip(*map(_places, halves), strict=True) for each in _filled_up(halves, devices)]
    try:
        yield
    finally:
        held.clear()


def _places(half: Any) -> list[Any]:
    return [half.host(), *devices_of(half)]


def _filled_up(halves: Sequence[Any], devices: Sequence[Any]) -> Iterator[Any]:
    """Memory that makes as much live on one device of each half."""
    live = [half.inspection.live_bytes(device) for half, device in zip(halves, devices, strict=True)]
    for device, mine in zip(devices, live, strict=True):
        if mine < max(live):
            yield device.buffer(max(live) - mine)


def settle_imports() -> None:
    """Leave everything that exists now out of later collections, which makes them cheap."""
    gc.collect()
    gc.freeze()
