"""Merge slabs stay with their devices: grown once per half, so that no program allocates for what ran before it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

from counterfoil_oracles.cuda.setting import Setting, devices_of
from counterfoil_spec.dtypes import float64
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import BackendUnavailable, Lost

SLAB_ELEMENTS: Final = 128
"""Elements of 8 bytes: more than any node of the machine's programs has."""

_grown: WeakSet[Any] = WeakSet()


def grow_slabs(half: Any) -> None:
    """Grow the merge slab of each device past what the machine's programs fill, once per half."""
    if half in _grown or not hasattr(half, "Context"):
        return
    _grown.add(half)
    with suppress(BackendUnavailable):
        for threads in (1, 2, 3):
            _grow(half.Context.cpu(threads=threads))


def grow_cuda_slabs(half: Any) -> None:
    """The same of the CUDA devices that programs use, before each program: some may be new."""
    if Setting.devices and hasattr(half, "Context"):
        with suppress(BackendUnavailable, Lost):
            for device in devices_of(half):
                _grow(half.Context.cuda(device.ordinal))


def _grow(root: Any) -> None:
    node = Node("slab", (SLAB_ELEMENTS,), float64)
    filled = root.set_values(node, [0.0] * SLAB_ELEMENTS)
    root.copy_from(filled, node, into_merge_buffer=True)
    filled.release()
    root.release()
