"""Defects of the kernels: right elements in the right places, computed wrongly."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

KERNELS: Final = (
    Defect(
        "kernels/half-rounds-to-even",
        "fast/native/operation_float32.c",
        "#define ROUND roundf",
        "#define ROUND rintf",
        "round takes halves to the even integer instead of away from zero",
    ),
    Defect(
        "kernels/nan-is-less",
        "fast/native/operation_float.inc",
        "BINARY(op_maximum, x != x ? x : ",
        "BINARY(op_maximum, ",
        "maximum gives the other operand where the first is NaN",
    ),
    Defect(
        "kernels/odd-condition",
        "fast/native/pointwise.c",
        "out[i] = c[i] ? first : second;",
        "out[i] = c[i] & 1 ? first : second;",
        "where takes a bool stored as an even number for false",
    ),
    Defect(
        "kernels/reduces-in-place",
        "fast/native/arg.c",
        "if (dst->layout.size > 0 && cf_identical(dst, x)) return cf_door_refuse(operands, 2, CF_DECLINED);",
        "",
        "argmax and argmin write where they still read",
    ),
    Defect(
        "kernels/order-of-terms",
        "fast/native/arg.c",
        "cf_loop_build(&search.walk, walked, 1, true);",
        "cf_loop_build(&search.walk, walked, 1, false);",
        "argmax and argmin count positions in the order of memory instead of C order",
    ),
    Defect(
        "kernels/floor-division",
        "fast/native/operation_integer.inc",
        "return (INT)(x / y);",
        "return (INT)(x / y - (SIGNED && x % y != 0 && (x < 0) != (y < 0)));",
        "integer division rounds down instead of toward zero",
    ),
    Defect(
        "kernels/second-block",
        "fast/native/pointwise.c",
        "position = run->first[k] + done * stride;",
        "position = run->first[k] + done % BLOCK * stride;",
        "pointwise kernels compute every block from the first one's elements",
    ),
    Defect(
        "kernels/tile-edge",
        "fast/native/transpose.c",
        "at(from, whole_columns, 0), whole_rows, columns - whole_columns);",
        "at(from, whole_columns, 0), whole_rows - 1, columns - whole_columns);",
        "a transposing copy leaves out an element beside its last whole tile",
    ),
)
