"""Defects of the bounds: limits off by one, and checks left out."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

BOUNDS: Final = (
    Defect(
        "bounds/last-position",
        "fast/native/bounds.h",
        "if (greatest >= CF_LIMIT) return CF_SPAN_PAST;",
        "if (greatest > CF_LIMIT) return CF_SPAN_PAST;",
        "a layout may reach position 2^53, one past the last",
    ),
    Defect(
        "bounds/most-elements",
        "fast/native/bounds.h",
        "if (extents[axis] > CF_LIMIT / product) return false;",
        "if (extents[axis] >= CF_LIMIT / product) return false;",
        "a shape of exactly 2^53 elements is refused",
    ),
    Defect(
        "bounds/slice-end",
        "fast/native/bounds.h",
        "    return count - 1 <= room;",
        "    return count - 1 <= room + 1;",
        "a slice may take one element past the end of its axis",
    ),
    Defect(
        "bounds/partial-byte",
        "fast/native/bounds.h",
        "return span_hi / per_byte + (span_hi % per_byte != 0) <= nbytes;",
        "return span_hi / per_byte <= nbytes;",
        "a sub-byte array may end in a byte that its buffer does not have",
    ),
    Defect(
        "bounds/windows",
        "fast/native/bounds.h",
        "return cf_index_of((extent - 1 - dilation * (size - 1)) / step + 1);",
        "return cf_index_of((extent - dilation * (size - 1)) / step + 1);",
        "an axis has a window more where another element would have made room for it",
    ),
    Defect(
        "bounds/alignment",
        "fast/native/array.c",
        "mask = alignments[dtype] - 1u,",
        "mask = 0u,",
        "elements may lie across the multiples of their alignment",
    ),
    Defect(
        "bounds/view-end",
        "fast/counterfoil/buffers.py",
        "if start < 0 or length < 0 or start + length > self._c.nbytes:",
        "if start < 0 or length < 0 or length > self._c.nbytes:",
        "a view may begin anywhere as long as it is no longer than its buffer",
    ),
)
