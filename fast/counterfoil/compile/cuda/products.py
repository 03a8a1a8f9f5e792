"""Sums of products as matrix products: every loop is a row, a column, a term or a batch of one.

The rows are the loops that the left operand and the result use, the columns those of the right one and the result, the
terms those that are summed over. Several loops may make one of them, so that a convolution is a product as it stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.work import Work, stride
from counterfoil.compile.literals import is_float
from counterfoil.compile.nests import Loops
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.loops import Apply, Load
from counterfoil_spec.programs.projections import Affine

LEAST_EXTENT: Final = 8
"""Fewer rows, columns or terms are not worth tiles."""

LEAST_PRODUCTS: Final = 1 << 14
"""Fewer multiplications either."""

SIDE: Final = 16
"""A block is SIDE by SIDE threads."""

DEPTH: Final = 16
"""The terms of one tile; of the largest ones half as many, which registers suffice for."""

NARROW: Final = 1 << 31
"""More results, or terms, are not counted in 32 bits."""

WANTED: Final = 128
"""Tiles are halved until there are as many blocks."""


@dataclass(frozen=True, eq=False)
class Product:
    """``c[row, column] += sum over term of a[row, term] * b[term, column]``, once for each batch."""

    work: Work
    a: Load
    b: Load
    batches: Loops
    rows: Loops
    columns: Loops
    terms: Loops

    @cached_property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of one thread's part of a tile: the tile is SIDE times as large."""
        most = 8 if self.work.nest.node.dtype is float32 else 4
        rows, columns = (_fitting(points(loops), most) for loops in (self.rows, self.columns))
        while rows * columns > 4 and self._blocks(rows, columns) < WANTED:
            if rows >= columns:
                rows //= 2
            else:
                columns //= 2
        return rows, columns

    @property
    def depth(self) -> int:
        """Terms of one tile."""
        rows, columns = self.tile
        return DEPTH // 2 if rows * columns >= 64 else DEPTH

    @property
    def grid(self) -> int:
        """Blocks."""
        return self._blocks(*self.tile)

    def _blocks(self, rows: int, columns: int) -> int:
        tall, wide = -(-points(self.rows) // (SIDE * rows)), -(-points(self.columns) // (SIDE * columns))
        return tall * wide * points(self.batches)


def product_of(work: Work) -> Product | None:
    """The work as a matrix product, None where it is none or too small."""
    nest = work.nest
    if nest.accumulator != "add" or not work.accumulates or not is_float(nest.node.dtype):
        return None
    match nest.term:
        case Apply("mul", (Load() as left, Load() as right)):
            pass
        case _:
            return None
    if not left.node.dtype is right.node.dtype is nest.node.dtype or nest.points < LEAST_PRODUCTS:
        return None
    at_left, at_right = offset(left.node, left.index), offset(right.node, right.index)
    rows, columns = _only(work.parallel, at_left, at_right), _only(work.parallel, at_right, at_left)
    if not rows or not columns:
        return None
    if work.parallel[-1] in rows:  # the result's neighbours are columns
        left, right, rows, columns = right, left, columns, rows
    batches = tuple(loop for loop in work.parallel if loop not in rows and loop not in columns)
    found = Product(work, left, right, batches, rows, columns, work.serial)
    return found if _is_worth(found) and _is_guarded_by_terms(found) else None


def points(loops: Loops) -> int:
    """How many points the loops have."""
    return math.prod(extent for _, extent in loops)


def _only(loops: Loops, position: Affine, other: Affine) -> Loops:
    return tuple(loop for loop in loops if stride(position, loop[0]) and not stride(other, loop[0]))


def _is_worth(product: Product) -> bool:
    if max(product.work.threads, product.work.terms) >= NARROW:
        return False
    return min(points(loops) for loops in (product.rows, product.columns, product.terms)) >= LEAST_EXTENT


def _is_guarded_by_terms(product: Product) -> bool:
    """Whether its guards leave out terms alone, for every row and column: those then count as 0 times 0."""
    if product.work.outside or product.work.solved:
        return False
    free = {iterator for iterator, _ in (*product.rows, *product.columns)}
    return not any(it in free for guard in product.work.guards for entry in guard for it in entry.iterators)


def _fitting(extent: int, most: int) -> int:
    """The least power of two that covers the extent with SIDE threads, at most ``most``."""
    size = 1
    while size < most and size * SIDE < extent:
        size *= 2
    return size
