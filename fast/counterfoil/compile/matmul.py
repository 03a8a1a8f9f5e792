"""Sums of products recognised as matrix products: rows by terms times terms by columns, transposed or batched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.literals import is_float
from counterfoil.compile.nests import Loops, Nest, separates
from counterfoil_spec.programs.loops import Apply, Load
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Iterator

LEAST_PRODUCTS: Final = 2048
"""Fewer multiplications are not worth a call."""

LEAST_EXTENT: Final = 4
"""Fewer columns, or terms, either."""


@dataclass(frozen=True, eq=False)
class Product:
    """``c[i, j] += sum over p of a[i, p] * b[p, j]`` inside ``outer`` loops, those that b uses first; columns of c are
    contiguous.

    Strides are in elements: ``a_row``, ``a_term``, ``b_term``, ``b_column``, ``c_row``.
    """

    nest: Nest
    a: Load
    b: Load
    outer: Loops
    rows: int
    columns: int
    terms: int
    a_row: int
    a_term: int
    b_term: int
    b_column: int
    c_row: int
    inner: tuple[Iterator, ...]

    @property
    def outer_of_b(self) -> int:
        """How many of the outer loops b uses."""
        at_b = offset(self.b.node, self.b.index)
        return sum(1 for iterator, _ in self.outer if _stride(at_b, iterator))

    @property
    def starts_at_zero(self) -> bool:
        """Whether one call gives the whole sum, from 0."""
        return self.nest.start == 0 and not any(iterator in self.nest.reductions for iterator, _ in self.outer)


def arranged(nest: Nest) -> Product | None:
    """The nest as a matrix product, None where it is none or too small."""
    if nest.accumulator != "add" or not nest.is_regular or nest.points < LEAST_PRODUCTS:
        return None
    match nest.term:
        case Apply("mul", (Load() as left, Load() as right)):
            pass
        case _:
            return None
    if not is_float(nest.node.dtype) or not left.node.dtype is right.node.dtype is nest.node.dtype:
        return None
    return _with_left(nest, left, right) or _with_left(nest, right, left)


def _with_left(nest: Nest, a: Load, b: Load) -> Product | None:
    """With that operand on the left: its rows are the result's."""
    at_a, at_b, at_c = (offset(load.node, load.index) for load in (a, b, nest.store))
    columns = [loop for loop in nest.loops if _stride(at_c, loop[0]) == 1 and not _stride(at_a, loop[0])
               and _stride(at_b, loop[0])]  # fmt: skip
    terms = [loop for loop in nest.loops if loop[0] in nest.reductions and _stride(at_a, loop[0])
             and _stride(at_b, loop[0])]  # fmt: skip
    rows = [loop for loop in nest.loops if loop[0] not in nest.reductions and _stride(at_a, loop[0])
            and not _stride(at_b, loop[0])]  # fmt: skip
    if not columns or not terms or not rows:
        return None
    column, term, row = (max(found, key=lambda loop: loop[1]) for found in (columns, terms, rows))
    if min(column[1], term[1]) < LEAST_EXTENT or not separates(at_c, (row, column)):
        return None
    inner = (row[0], column[0], term[0])
    others = [loop for loop in nest.loops if loop[0] not in inner]
    outer = tuple(sorted(others, key=lambda loop: not _stride(at_b, loop[0])))
    return Product(
        nest, a, b, outer, row[1], column[1], term[1],
        _stride(at_a, row[0]), _stride(at_a, term[0]), _stride(at_b, term[0]), _stride(at_b, column[0]),
        _stride(at_c, row[0]), inner,
    )  # fmt: skip


def _stride(position: Affine, iterator: Iterator) -> int:
    return next((factor for factor, variable in position.terms if variable is iterator), 0)
