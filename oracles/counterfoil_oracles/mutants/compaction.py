"""Defects of to_device: which bytes it copies, and with which strides."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

COMPACTION: Final = (
    Defect(
        "to-device/signs",
        "fast/native/placement.c",
        "bool down = from->strides[axis] < 0;",
        "bool down = false;",
        "a compacted copy turns negative strides round",
    ),
    Defect(
        "to-device/order",
        "fast/native/placement.c",
        "at > 0 && magnitude(layout->strides[axes[at - 1]]) < step;",
        "at > 0 && layout->strides[axes[at - 1]] < layout->strides[axis];",
        "a compacted copy orders its axes by stride instead of by its magnitude",
    ),
    Defect(
        "to-device/ties",
        "fast/native/placement.c",
        "at > 0 && magnitude(layout->strides[axes[at - 1]]) < step;",
        "at > 0 && magnitude(layout->strides[axes[at - 1]]) <= step;",
        "axes of one stride change places in a compacted copy",
    ),
    Defect(
        "to-device/repeats",
        "fast/native/placement.c",
        "if (layout->strides[axis] != 0) count *= layout->shape[axis];",
        "count *= layout->shape[axis];",
        "elements that an axis of stride 0 repeats are counted once each",
    ),
    Defect(
        "to-device/exact-fit",
        "fast/native/placement.c",
        "out->keep = last - first <= need;",
        "out->keep = last - first < need;",
        "a source whose byte range is just what it needs is compacted",
    ),
)
