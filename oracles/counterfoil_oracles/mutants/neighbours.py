"""Defects of neighbour bits: a store that changes more than its element."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

NEIGHBOURS: Final = (
    Defect(
        "neighbours/part",
        "fast/native/element.c",
        "(uint8_t)((old & ~mask) | value)",
        "(uint8_t)(value | (mask & 0))",
        "storing a sub-byte element clears the others of its byte",
    ),
    Defect(
        "neighbours/tail",
        "fast/native/element.c",
        "    uint8_t *whole = data + (first + i) / per_byte;",
        "    bytes += (n - i) % per_byte != 0;\n    uint8_t *whole = data + (first + i) / per_byte;",
        "storing a run of sub-byte elements stores the whole of its last byte",
    ),
    Defect(
        "neighbours/copied-head",
        "fast/native/copy.c",
        "    int64_t head = -positions[0] & (per_byte - 1);",
        "    int64_t head = 0 & (per_byte - 1);",
        "a copy of sub-byte elements that begins inside a byte copies the whole byte",
    ),
    Defect(
        "neighbours/past-the-end",
        "fast/native/access.c",
        "    if (used % 8 != 0) array->data",
        "    if (used % 8 == 1) array->data",
        "the bits past the last element of a fresh sub-byte array are left as they were",
    ),
    Defect(
        "neighbours/head",
        "fast/native/element.c",
        "    for (; i < n && (first + i) % per_byte != 0; i++) store_part(bits, data, first + i, loose[i]);",
        "    first -= first % per_byte;",
        "storing a run of sub-byte elements begins at the start of its first byte",
    ),
)
