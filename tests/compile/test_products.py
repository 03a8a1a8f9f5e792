"""The core's matrix products for generated code, on every kind of CPU that this one can stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil._native import ffi, lib
from counterfoil.contexts.backends import LEVELS

PRESENT = [level for level in LEVELS if lib.cf_block_product_f32(level)]
SENTINEL = 12345.0


def multiplied(a: np.ndarray, b: np.ndarray, c: np.ndarray, zero: bool, level: int, packs: bool) -> None:
    """c (+)= a b by the core; b's rows are contiguous and whole vectors long, or are packed to be so first."""
    single = c.dtype == np.float32
    ctype, size = ("float", 4) if single else ("double", 8)

    def at(array: np.ndarray) -> object:
        return ffi.cast(f"{ctype} *", array.ctypes.data)

    (m, k), n = a.shape, b.shape[1]
    if packs:
        row = -(-n * size // 64) * 64 // size
        packed = np.full((k, row), np.nan, c.dtype)
        pack = lib.cf_block_pack_f32 if single else lib.cf_block_pack_f64
        pack(k, n, at(b), b.strides[0] // size, b.strides[1] // size, at(packed), row)
        assert np.array_equal(packed[:, :n], b) and not packed[:, n:].any()
        b = packed
    product = lib.cf_block_product_f32(level) if single else lib.cf_block_product_f64(level)
    row_of_a, term_of_a = a.strides[0] // size, a.strides[1] // size
    product(m, n, k, at(a), row_of_a, term_of_a, at(b), b.strides[0] // size, at(c), c.strides[0] // size, zero)


def drawn(shape: tuple[int, int], transposed: bool, seed: int, dtype: str) -> np.ndarray:
    """Standard normal numbers, in C order or transposed."""
    values = np.random.default_rng(seed).standard_normal(shape[::-1] if transposed else shape).astype(dtype)
    return values.T if transposed else values


def within(c: np.ndarray, a: np.ndarray, b: np.ndarray, start: np.ndarray | float) -> bool:
    """Whether each sum is as near as k + 1 roundings of the sum of its terms' magnitudes allow (N3)."""
    wide = [np.asarray(each, np.longdouble) for each in (a, b, start)]
    room = (np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(wide[2])) * (a.shape[1] + 1) * np.finfo(c.dtype).eps
    return bool((np.abs(c - (wide[0] @ wide[1] + wide[2])) <= room).all())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", PRESENT)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_products_of_all_shapes(level: int, dtype: str, data: st.DataObject) -> None:
    """Whatever the extents and orientations, from zero or added: within N3's room, and nothing beside c is written."""
    m, k, n = data.draw(st.tuples(st.integers(1, 20), st.integers(1, 40), st.integers(1, 140)))
    zero, *transposed = data.draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    a, b = drawn((m, k), transposed[0], 1, dtype), drawn((k, n), transposed[1], 2, dtype)
    whole = np.full((m + 2, n + 3), SENTINEL, dtype)
    c = whole[1:-1, 1:-2]
    c[...] = start = drawn((m, n), False, 3, dtype)
    multiplied(a, b, c, zero, level, packs=True)
    assert within(c, a, b, 0.0 if zero else start)
    c[...] = SENTINEL
    assert (whole == SENTINEL).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", PRESENT)
def test_products_larger_than_the_cache(level: int, dtype: str) -> None:
    """A right operand that is taken in pieces gives sums within N3's room, from zero and added."""
    a, b = drawn((7, 700), True, 1, dtype), drawn((700, 448), False, 2, dtype)
    c = np.full((7, 448), np.nan, dtype)
    multiplied(a, b, c, True, level, packs=False)
    assert within(c, a, b, 0.0)
    start = c.copy()
    multiplied(a, b, c, False, level, packs=False)
    assert within(c, a, b, start)


@pytest.mark.parametrize("level", PRESENT)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(1, 140))
def test_shares_of_the_rows_give_the_bits_of_the_whole(level: int, cut: int, n: int) -> None:
    """However the rows are shared out, each result has the same bits (N4)."""
    a, b = drawn((40, 50), False, 1, "float32"), drawn((50, n), False, 2, "float32")
    whole, shared = np.zeros((40, n), np.float32), np.zeros((40, n), np.float32)
    multiplied(a, b, whole, True, level, packs=True)
    for rows in (slice(0, cut), slice(cut, 40)):
        if rows.start < rows.stop:
            multiplied(a[rows], b, shared[rows], True, level, packs=True)
    assert whole.tobytes() == shared.tobytes()


def test_plain_products_are_there_and_no_level_beyond() -> None:
    """Every CPU has the plain ones; a number that is no level has none."""
    assert lib.CF_BLOCK_PLAIN in PRESENT
    assert not any(pick(number) for pick in (lib.cf_block_product_f32, lib.cf_block_product_f64) for number in (-1, 3))
