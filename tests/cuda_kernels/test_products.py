"""Products on a device: tiles of every size, sides of every kind, edges, splits, batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cuda_kernels.arrays_there import Lying, Values, got, like, put, result, turned

import counterfoil
from counterfoil.cuda.kernels import multiplying
from counterfoil.cuda.kernels.multiplying import TILES, Tile
from counterfoil_spec.answers import Answer

RANDOM = np.random.default_rng(20262)


def whole(shape: tuple[int, ...], dtype: str) -> Values:
    """Small integers: their products and sums are exact in every dtype here."""
    found: Values = RANDOM.integers(-4, 5, shape).astype(dtype)
    return found


def check(a: Values, b: Values, x: counterfoil.Array | None = None, y: counterfoil.Array | None = None) -> None:
    """The product is numpy's."""
    wide = "float64" if a.dtype.kind == "f" else "int64"
    expected = (a.astype(wide) @ b.astype(wide)).astype(a.dtype)
    found = result("matmul", expected, put(a) if x is None else x, put(b) if y is None else y)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("extents", [(70, 50, 36), (33, 65, 37)])
@pytest.mark.parametrize("lying", [(put, put), (turned, put), (put, turned), (turned, turned)])
@pytest.mark.parametrize("before", [0, 1])
def test_sides_may_lie_either_way(extents: tuple[int, int, int], lying: tuple[Lying, Lying], before: int) -> None:
    """Rows or columns contiguous, aligned for vectors and not."""
    m, n, k = extents
    a, b = whole((m, k), "float32"), whole((k, n), "float32")
    check(a, b, lying[0](a, before), lying[1](b, before))


@pytest.mark.parametrize("tile", [*TILES[4], *TILES[8]])
def test_every_tile_has_edges(tile: Tile, monkeypatch: pytest.MonkeyPatch) -> None:
    """One and a bit of a tile in each direction, and a term more than whole panels."""
    dtype = "float32" if tile in TILES[4] else "float64"
    monkeypatch.setattr(multiplying, "tile_of", lambda *_: tile)
    a, b = whole((tile.m + 3, 2 * tile.k + 1), dtype), whole((2 * tile.k + 1, tile.n + 5), dtype)
    check(a, b)
    check(a[:1], b[:, :1])


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64", "uint16", "float64"])
def test_dtypes_compute_in_their_format(dtype: str) -> None:
    """Narrow floats in float, integers modulo a power of two."""
    check(whole((40, 21), dtype), whole((21, 36), dtype))


def test_integers_wrap() -> None:
    """Modulo 2^8, whatever is carried on the way."""
    a, b = (RANDOM.integers(0, 256, shape).astype("uint8") for shape in ((5, 900), (900, 7)))
    expected = np.mod(a.astype("int64") @ b.astype("int64"), 256)
    assert np.array_equal(result("matmul", np.zeros((5, 7), "uint8"), put(a), put(b)), expected)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_few_tiles_of_many_terms_are_split(batch: tuple[int, ...]) -> None:
    """The splits' sums are added up, the same each time."""
    a, b = whole((*batch, 5, 5000), "float32"), whole((*batch, 5000, 7), "float32")
    check(a, b)
    x, y = (put(np.asarray(RANDOM.standard_normal(each.shape), "float32")) for each in (a, b))
    first, second = (result("matmul", np.zeros((*batch, 5, 7), "float32"), x, y) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("batches", [((200,), ()), ((2, 1), (3,)), ((1, 4), (5, 1)), ((2, 3), (2, 3))])
def test_batches_are_broadcast(batches: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Axes of extent 1 and missing ones are read at every index."""
    check(whole((*batches[0], 3, 4), "float32"), whole((*batches[1], 4, 2), "float32"))


def test_a_product_over_no_term_is_zero() -> None:
    """And one of no result is Done."""
    found = result(
        "matmul", np.ones((2, 3), "float32"), put(np.ones((2, 0), "float32")), put(np.ones((0, 3), "float32"))
    )
    assert found.tobytes() == bytes(24)
    nothing = put(np.ones((0, 3), "float32"))
    assert (
        counterfoil.kernels.matmul(nothing, put(np.ones((0, 2), "float32")), put(np.ones((2, 3), "float32")))
        is Answer.DONE
    )


def test_shapes_that_do_not_fit_and_identical_operands_are_refused() -> None:
    """Shape_mismatch, then Declined; nothing is written (A5)."""
    square, dst = put(np.eye(3, dtype="float32")), like(np.zeros((3, 3), "float32"))
    assert counterfoil.kernels.matmul(dst, square, put(np.ones((2, 3), "float32"))) is Answer.SHAPE_MISMATCH
    assert counterfoil.kernels.matmul(square, square, put(np.ones((3, 3), "float32"))) is Answer.DECLINED
    assert counterfoil.kernels.matmul(square, put(np.ones((3, 3), "float32")), square) is Answer.DECLINED
    assert got(dst).tobytes() == b"\xee" * 36
    assert np.array_equal(got(square), np.eye(3))
