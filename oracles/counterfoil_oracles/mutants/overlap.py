"""Defects of overlap: arrays that share a byte and are let in together, or share none and are kept apart."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

OVERLAP: Final = (
    Defect(
        "overlap/none",
        "fast/native/door.c",
        "    return cf_overlapping(written, other);",
        "    return false;",
        "the door no longer notices that a written operand shares bytes with another",
    ),
    Defect(
        "overlap/spans",
        "fast/native/door.c",
        "    return cf_overlapping(written, other);",
        "    return true;",
        "operands that lie between each other's elements are kept apart",
    ),
    Defect(
        "overlap/nibbles",
        "fast/native/overlap.c",
        "s.width = s.packed ? 1 : max(array->bits, 8);",
        "s.width = array->bits;",
        "elements narrower than a byte share a byte only where they share a bit",
    ),
    Defect(
        "overlap/transposed-alias",
        "fast/native/overlap.c",
        "    return p == q && same_strides(a, b);",
        "    return p == q;",
        "an array and its transpose count as identical",
    ),
    Defect(
        "overlap/shifted-alias",
        "fast/native/overlap.c",
        "    return p == q && same_strides(a, b);",
        "    return (p == q || p == q + a->bits) && same_strides(a, b);",
        "an array and the same one an element further count as identical",
    ),
    Defect(
        "overlap/written-pairs",
        "fast/native/door.c",
        "for (int j = k + 1; j < count; j++) {",
        "for (int j = written; j < count; j++) {",
        "two written operands are never compared with each other",
    ),
    Defect(
        "overlap/neighbouring-buffers",
        "fast/native/memory.c",
        "return p < q + (uintptr_t)b->nbytes && q < p + (uintptr_t)a->nbytes;",
        "return p <= q + (uintptr_t)b->nbytes && q <= p + (uintptr_t)a->nbytes;",
        "a buffer overlaps the one that begins where it ends",
    ),
    Defect(
        "overlap/two-strides",
        "fast/native/knapsack.c",
        "return x <= min(s->terms->extent[k] - 1, rest / a);",
        "return x < min(s->terms->extent[k] - 1, rest / a);",
        "a common byte at the last index of the larger of two steps is missed",
    ),
)
