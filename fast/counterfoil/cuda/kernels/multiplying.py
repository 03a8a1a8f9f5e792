"""matmul on a device: cuBLAS for floats where it is there and takes the layouts, own tiles (``fast/cuda/matmul.cu``).

Tiles are as large as leaves enough of them to occupy a device. Where even small ones are few, the terms are split and
the sums of the splits are added up in order: the same call gives the same bits (N4).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.cuda import calls, cubins
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels import library
from counterfoil.cuda.kernels.library import Matrices
from counterfoil.cuda.kernels.walks import Walk, walk, wide
from counterfoil.cuda.launch import Function
from counterfoil.cuda.sources import Defines, Source
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import Family
from counterfoil_spec.kernels import Kernel as Row

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

Extents = tuple[int, ...]

_FEW: Final = 128
"""Blocks that occupy most devices."""
_LEAST_SPLIT: Final = 512
_GROUP: Final = 4


class Tile(NamedTuple):
    """Rows, columns and terms of a tile; rows and columns of a thread."""

    m: int
    n: int
    k: int
    rows: int
    columns: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.m // self.rows) * (self.n // self.columns)


TILES: Final = {4: (Tile(128, 128, 8, 8, 8), Tile(64, 64, 16, 4, 4), Tile(32, 32, 16, 2, 2)),
                8: (Tile(64, 64, 8, 4, 4), Tile(32, 32, 16, 2, 2))}  # fmt: skip
"""By bytes of the computing format, the largest first."""


class Side(NamedTuple):
    """How a panel is read: whether its terms rather than its lines are neighbours, and whether four at a time."""

    terms: bool
    vector: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A product as the kernel takes it. ``batch`` walks dst, a and b."""

    product: library.Product
    starts: tuple[int, int, int]
    batch: Walk
    tile: Tile
    splits: int
    chunk: int
    parts: int = 0

    @property
    def tiles(self) -> tuple[int, int]:
        """Tiles down and across."""
        return -(-self.product.m // self.tile.m), -(-self.product.n // self.tile.n)

    def packed(self) -> bytes:
        """A ``cf_matmul``."""
        product = self.product
        sides = (product.dst, product.a, product.b)
        addresses = (*(side.address for side in sides), self.parts)
        extents = (product.m, product.n, product.k, self.chunk, product.matrices)
        strides = [stride for side in sides for stride in (side.row, side.column)]
        head = struct.pack("@4Q5q3q6q2q", *addresses, *extents, *self.starts, *strides, *self.tiles)
        return head + self.batch.packed((0, 1)) + self.batch.packed((2, 3))


def plan(device: Cuda, row: Row, dst: Array, sources: Sequence[Array]) -> calls.Launch | Answer:
    """A product over the last two axes; Shape_mismatch, or Declined for a destination identical to a source (A5)."""
    a, b = sources
    if product_shape(a.shape, b.shape) != dst.shape:
        return Answer.SHAPE_MISMATCH
    if not dst.size:
        return calls.nothing
    if any(source.size and lib.cf_identical(dst._c, source._c) for source in (a, b)):
        return Answer.DECLINED
    call = call_of(dst, a, b)
    ready = _by_library(device, call, dst.dtype)
    if ready is not None:
        return ready
    text = _text(call)
    tiles = cubins.function(device, text, "cf_matmul_tiles")
    if call.splits == 1:
        return lambda: _enqueue(call, tiles)
    parts = cubins.function(device, text, "cf_matmul_parts")
    scratch = device.scratch(call.splits * dst.size * (8 if dst.dtype.bits == 64 else 4))
    return lambda: _enqueue(replace(call, parts=pointer(scratch)), tiles, parts)


def _text(call: Call) -> str:
    return source(call, side_of(call, 1), side_of(call, 2)).text


def product_shape(a: Extents, b: Extents) -> Extents | None:
    """The shape of a product, batch axes broadcast from the right, or None where there is none."""
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        return None
    rank = max(len(a), len(b)) - 2
    pairs = list(zip(_filled(a, rank), _filled(b, rank), strict=True))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        return None
    return (*(y if x == 1 else x for x, y in pairs), a[-2], b[-1])


def _filled(shape: Extents, rank: int) -> Extents:
    return (1,) * (rank + 2 - len(shape)) + shape[:-2]


def call_of(dst: Array, a: Array, b: Array) -> Call:
    """The call: the tile, the splits, and the batch as one walk."""
    layouts = (dst.layout, a.layout, b.layout)
    rank = len(dst.shape) - 2
    strides = [(0,) * (rank + 2 - layout.rank) + layout.strides[:-2] for layout in layouts]
    batch = walk(dst.shape[:-2], strides)
    starts = tuple(layout.offset + start for layout, start in zip(layouts, batch.starts, strict=True))
    steps = batch.axes[-1].strides if batch.axes else (0, 0, 0)
    sides = [
        Matrices(pointer(array.buffer), layout.strides[-2], layout.strides[-1], step)
        for array, layout, step in zip((dst, a, b), layouts, steps, strict=True)
    ]
    m, n, k, matrices = dst.shape[-2], dst.shape[-1], a.shape[-1], math.prod(dst.shape[:-2])
    product = library.Product(dst.dtype, m, n, k, matrices, *sides)
    tile = tile_of(m, n, matrices, 8 if dst.dtype.bits == 64 else 4)
    return Call(product, (starts[0], starts[1], starts[2]), batch, tile, *split(product, tile))


def tile_of(m: int, n: int, matrices: int, width: int) -> Tile:
    """The largest tile of which there are enough, else the smallest."""
    fitting = [tile for tile in TILES[width] if _count(m, n, matrices, tile) >= _FEW]
    return fitting[0] if fitting else TILES[width][-1]


def split(product: library.Product, tile: Tile) -> tuple[int, int]:
    """How many splits of the terms, and the terms of each: whole panels."""
    blocks = _count(product.m, product.n, product.matrices, tile)
    wanted = min(2 * _FEW // blocks, product.k // _LEAST_SPLIT)
    if wanted <= 1:
        return 1, product.k
    chunk = -(-product.k // wanted // 64) * 64
    return -(-product.k // chunk), chunk


def _count(m: int, n: int, matrices: int, tile: Tile) -> int:
    return -(-m // tile.m) * -(-n // tile.n) * matrices


def side_of(call: Call, operand: int) -> Side:
    """How the panels of a (operand 1) or b (operand 2) are read."""
    side = (call.product.a, call.product.b)[operand - 1]
    along, across = (side.column, side.row) if operand == 1 else (side.row, side.column)
    terms = abs(along) == 1 or (abs(across) != 1 and abs(along) <= abs(across))
    near, far = (along, across) if terms else (across, along)
    bits = call.product.dtype.bits
    width = bits // 8
    steps = [far, *(axis.strides[operand] for axis in call.batch.axes)]
    aligned = (side.address + call.starts[operand] * width) % max(1, min(16, _GROUP * width)) == 0
    vector = bits >= 8 and near == 1 and aligned and all(step % _GROUP == 0 for step in steps)
    return Side(terms, vector)


def source(call: Call, a: Side, b: Side) -> Source:
    """The instance for a call."""
    flags = {"CF_SPLIT": call.splits > 1, "CF_WIDE": wide(call.product.matrices)}
    return instance(
        call.product.dtype, call.tile, a, b, call.batch.capacity, [flag for flag, on in flags.items() if on]
    )


def instance(dtype: Dtype, tile: Tile, a: Side, b: Side, batch: int, flags: Sequence[str] = ()) -> Source:
    """The instance for a dtype, a tile, the two sides and the capacity of the walk over the batch; flags: CF_SPLIT,
    CF_WIDE."""
    numbers = {"CF_TILE_M": tile.m, "CF_TILE_N": tile.n, "CF_TILE_K": tile.k, "CF_REG_M": tile.rows,
               "CF_REG_N": tile.columns, "CF_A_TERMS": a.terms, "CF_A_VECTOR": a.vector, "CF_B_TERMS": b.terms,
               "CF_B_VECTOR": b.vector, "CF_BATCH": batch}  # fmt: skip
    defines: Defines = (("CF_DTYPE", f"CF_{dtype.name.upper()}"), *((key, str(int(x))) for key, x in numbers.items()))
    return Source("matmul.cu", (*defines, *((flag, "1") for flag in flags)))


def _by_library(device: Cuda, call: Call, dtype: Dtype) -> calls.Launch | None:
    """The product by cuBLAS; a batch of more than one axis is left to the tiles.

    What cuBLAS refuses when it is asked goes to tiles too, which need no memory then.
    """
    if len(call.batch.axes) > 1:
        return None
    product = call.product
    moved = [
        replace(side, address=side.address + start * dtype.bits // 8)
        for side, start in zip((product.dst, product.a, product.b), call.starts, strict=True)
    ]

    def by_tiles() -> calls.Launch:
        whole = replace(call, splits=1, chunk=product.k)
        tiles = cubins.function(device, _text(whole), "cf_matmul_tiles")
        return lambda: _enqueue(whole, tiles)

    return library.launch(device, replace(product, dst=moved[0], a=moved[1], b=moved[2]), by_tiles)


def _enqueue(call: Call, tiles: Function, parts: Function | None = None) -> None:
    down, across = call.tiles
    product = call.product
    grid = (down * across, min(product.matrices, 65535), call.splits)
    tiles.launch(grid, (call.tile.threads, 1, 1), call.packed())
    if parts is not None:
        flat = (-(-product.n // 256) * product.m, min(product.matrices, 65535), 1)
        parts.launch(flat, (256, 1, 1), replace(call, chunk=call.splits).packed())


PLANNERS: Final = {Family.MATMUL: plan}
