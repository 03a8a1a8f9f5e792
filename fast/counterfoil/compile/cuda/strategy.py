"""How a work's terms are shared out among threads, by its shape, and long sums with few results cut in two steps."""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.products import DEPTH, NARROW, product_of
from counterfoil.compile.cuda.work import Work, split, stride
from counterfoil.compile.nests import Loops, Nest
from counterfoil_spec.programs.loops import Apply, Load, Store
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import at
from counterfoil_spec.programs.symbols import Iterator

WORTH_SHARING: Final = 32
"""Fewer terms are added up by one thread."""

MANY: Final = 1 << 16
"""This many threads fill a device: more would only share out what is small already."""

LONG: Final = 1024
"""A sum of more terms takes a block, if its neighbours are not many."""

BLOCKS: Final = 256
"""Blocks that fill a device."""

LEAST_PART: Final = 2048
"""A part of a sum that is cut has no fewer terms."""

LEAST_DEPTH: Final = 96
"""A part of a matrix product that is cut has no fewer terms."""

PARTIAL_BYTES: Final = 1 << 26
"""Most bytes of partial results."""


class Way(enum.Enum):
    """Who adds up one result's terms."""

    THREAD = "a thread"
    WARP = "the lanes of a warp"
    BLOCK = "the threads of a block"
    COLUMNS = "the rows of a block whose columns are neighbouring results"
    TILES = "tiles of a matrix product"


COMBINED: Final = {"add": "add", "sub": "add", "mul": "mul", "max": "max", "min": "min"}
"""What combines partial results."""


def way_of(work: Work) -> Way:
    """Who adds up."""
    if not work.serial or not work.is_sum or work.threads >= NARROW:
        return Way.THREAD
    if product_of(work) is not None:
        return Way.TILES
    if work.terms < WORTH_SHARING:
        return Way.THREAD
    along, across = _neighbours(work, work.serial), _neighbours(work, work.parallel)
    if work.threads >= 32 and across >= along:
        return Way.THREAD if work.threads >= MANY else Way.COLUMNS
    return Way.BLOCK if work.terms > LONG and work.threads < BLOCKS * 32 else Way.WARP


def parted(work: Work) -> list[Work]:
    """The work, or two: partial results of a long sum with few results, then their sums."""
    way = way_of(work)
    parts = _parts(work, way)
    if parts < 2:
        return [work]
    loop = max(work.serial, key=lambda each: each[1])
    size = _part(loop[1], min(parts, loop[1]))
    pieces = -(-loop[1] // size)
    if pieces < 2 or pieces * work.threads * work.nest.node.dtype.bits // 8 > PARTIAL_BYTES:
        return [work]
    return _cut(work, loop, size)


def _part(extent: int, parts: int) -> int:
    """The size of about so many parts: such that all are equal, and whole tiles, where that can be had."""
    counts = [count for count in range(parts, max(1, parts // 2), -1) if extent % count == 0]
    sizes = [extent // count for count in counts]
    tidy = [size for size in sizes if size % DEPTH == 0] + sizes
    return tidy[0] if tidy else -(-extent // parts // DEPTH) * DEPTH if extent > parts * DEPTH else -(-extent // parts)


def _cut(work: Work, loop: tuple[Iterator, int], size: int) -> list[Work]:
    cut, piece = split(work, loop, size)
    accumulator, node, index = work.nest.accumulator, work.nest.node, work.nest.store.index
    assert accumulator is not None
    partial = Node("partial", [extent for _, extent in cut.parallel], node.dtype)
    place = tuple(at(iterator) for iterator, _ in cut.parallel)
    first = Store(partial, place, Apply(accumulator, (Load(partial, place), cut.nest.term)))
    total = Apply(COMBINED[accumulator], (Load(node, index), Load(partial, place)))
    loops: Loops = (*work.parallel, piece)
    return [
        replace(cut, nest=Nest(cut.nest.loops, first, neutral(accumulator))),
        Work(Nest(loops, Store(node, index, total), work.nest.start), work.parallel, (piece,), work.outside),
    ]


def neutral(accumulator: str) -> float:
    """What partial results start from: it changes no term."""
    return {"add": 0.0, "sub": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}[accumulator]


def _parts(work: Work, way: Way) -> int:
    """In how many parts its terms are added up."""
    if way is Way.TILES:
        product = product_of(work)
        assert product is not None
        return min(BLOCKS // product.grid, work.terms // LEAST_DEPTH)
    blocks = {Way.BLOCK: work.threads, Way.WARP: -(-work.threads // 8), Way.COLUMNS: -(-work.threads // 32)}.get(way)
    return 1 if blocks is None else min(BLOCKS // blocks, work.terms // LEAST_PART)


def _neighbours(work: Work, loops: Loops) -> int:
    """How many of the terms' loads are neighbours in memory from one point of the innermost loop to the next."""
    if not loops:
        return 0
    positions = [offset(load.node, load.index) for load in work.nest.loads]
    return sum(abs(stride(position, loops[-1][0])) == 1 for position in positions)
