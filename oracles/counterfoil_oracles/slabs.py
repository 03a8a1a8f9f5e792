"""Merge slabs stay with their devices: grown once per half, so that no program allocates for what ran before it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

from counterfoil_spec.dtypes import float64
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import BackendUnavailable

SLAB_ELEMENTS: Final = 128
"""Elements of 8 bytes: more than any node of the machine's programs has."""

_grown: WeakSet[Any] = WeakSet()


def grow_slabs(half: Any) -> None:
    """Grow the merge slab of each device past what the machine's programs fill, once per half."""
    if half in _grown or not hasattr(half, "Context"):
        return
    _grown.add(half)
    node = Node("slab", (SLAB_ELEMENTS,), float64)
    with suppress(BackendUnavailable):
        for threads in (1, 2, 3):
            root = half.Context.cpu(threads=threads)
            filled = root.set_values(node, [0.0] * SLAB_ELEMENTS)
            root.copy_from(filled, node, into_merge_buffer=True)
            filled.release()
            root.release()
