"""Defects of the order of answers: the right refusals, but not the first that applies."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

ORDER: Final = (
    Defect(
        "order/off-host-before-dtype",
        "fast/native/door.c",
        "    if (!dtypes_fit) answer = CF_WRONG_DTYPE;\n    else if",
        "    if (!dtypes_fit && !some_off_host(operands, count)) answer = CF_WRONG_DTYPE;\n    else if",
        "the door looks at where operands lie before their dtypes",
    ),
    Defect(
        "order/overlap-before-repeated",
        "fast/native/door.c",
        "    if (some_repeated(operands, written)) return CF_REPEATED_ELEMENTS;\n"
        "    if (some_conflict(operands, written, count)) return CF_OVERLAPPING;",
        "    if (some_conflict(operands, written, count)) return CF_OVERLAPPING;\n"
        "    if (some_repeated(operands, written)) return CF_REPEATED_ELEMENTS;",
        "the door looks for shared bytes before repeated elements",
    ),
    Defect(
        "order/shapes-before-claims",
        "fast/native/pointwise.c",
        "    int answer = cf_door_enter(operands, 1, count, cf_row_fits(",
        "    if (!one_shape(operands, count)) return CF_SHAPE_MISMATCH;\n"
        "    int answer = cf_door_enter(operands, 1, count, cf_row_fits(",
        "pointwise kernels compare shapes before the door",
    ),
    Defect(
        "order/lost-before-overlap",
        "fast/native/door.c",
        "    if (some_conflict(operands, written, count)) return CF_OVERLAPPING;",
        "    if (cf_door_lost(operands, written, count) >= 0) return CF_LOST;\n"
        "    if (some_conflict(operands, written, count)) return CF_OVERLAPPING;",
        "a lost operand is noticed before a shared byte",
    ),
    Defect(
        "order/declined-before-shapes",
        "fast/native/arg.c",
        "    bool fits = cf_split_axes(&split, x, axes, count) && cf_same_shape(dst, &split.kept);",
        "    if (dst->layout.size > 0 && cf_identical(dst, x)) return cf_door_refuse(operands, 2, CF_DECLINED);\n"
        "    bool fits = cf_split_axes(&split, x, axes, count) && cf_same_shape(dst, &split.kept);",
        "argmax and argmin decline a shared destination before they look at its shape",
    ),
    Defect(
        "order/shapes-before-dtypes",
        "fast/counterfoil/placement.py",
        "    if src.dtype is not dst.dtype:",
        "    if src.dtype is not dst.dtype and src.shape == dst.shape:",
        "a transfer compares shapes before dtypes",
    ),
)
