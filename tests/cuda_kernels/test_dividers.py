"""Index arithmetic without division, and which operands need 64 bits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.cuda.kernels.operands import Operands
from counterfoil.cuda.kernels.walks import divider


@given(st.sampled_from((32, 64)), st.data())
def test_a_divider_divides(bits: int, data: st.DataObject) -> None:
    """(high half of the product + index) >> shift is the quotient, for any extent and index below 2^(bits - 1)."""
    most = 1 << (bits - 1)
    few = st.sampled_from((1, 2, 3, 7, 1 << 16, (1 << 16) + 1, most - 1))
    extent = data.draw(st.integers(1, most - 1) | few)
    multiple = st.integers(0, most // extent).map(lambda k: k * extent)
    near = st.one_of(multiple, multiple.map(lambda k: k - 1))
    index = data.draw(st.one_of(st.integers(0, most - 1), near.filter(lambda k: 0 <= k < most)))
    multiplier, shift = divider(extent, bits)
    assert multiplier < 1 << bits
    total = (index * multiplier >> bits) + index
    assert total < 1 << bits
    assert total >> shift == index // extent


def operands(size: int, shape: tuple[int, ...], *strides: tuple[int, ...]) -> Operands:
    """Operands at made-up addresses."""
    return Operands(size, shape, strides, tuple(range(0, 64 * len(strides), 64)), (0,) * len(strides))


def test_operands_of_many_elements_need_64_bits() -> None:
    """From 2^31 elements on; one less does not."""
    assert operands(1 << 31, (1 << 31,), (1,)).wide
    assert not operands((1 << 31) - 1, ((1 << 31) - 1,), (1,)).wide


def test_operands_far_apart_need_64_bits() -> None:
    """Few elements whose positions reach 2^31, on either side."""
    assert operands(4, (2, 2), (1 << 31, 1), (2, 1)).wide
    assert operands(4, (2, 2), (2, 1), (-(1 << 31), 1)).wide
    assert not operands(4, (2, 2), ((1 << 31) - 2, 1), (2, 1)).wide


def test_vectors_are_of_aligned_neighbours() -> None:
    """As many elements as the widest operand has in 16 bytes, if every operand lies on a multiple of its vector."""
    assert Operands(100, (100,), ((1,), (1,)), (16, 4), (0, 0)).lanes([4, 1]) == 4
    assert Operands(100, (100,), ((1,), (1,)), (16, 2), (0, 0)).lanes([4, 1]) == 0


def test_sources_of_one_element_count_as_contiguous() -> None:
    """Such as scalars: they need no alignment; a destination, or a source with gaps, does not count."""
    assert operands(100, (100,), (1,), (0,), (1,)).alike == 0b01
    assert operands(100, (100,), (1,), (1,), (1,)).alike == 0
    assert operands(100, (100,), (1,), (2,)).alike == -1
    assert operands(100, (100,), (2,), (1,)).alike == -1
    assert Operands(100, (100,), ((1,), (0,)), (16, 2), (0, 0)).lanes([4, 4]) == 4


def test_rows_are_whole_vectors() -> None:
    """Of each operand along the rows; one that has an element for each row is counted in elements still."""
    rows = operands(80, (10, 8), (12, 1), (0, 1), (3, 0))
    assert rows.alike == 0b10
    assert rows.lanes([4, 4, 4]) == 4
    assert rows.vectors(4) == Operands(20, (10, 2), ((3, 1), (0, 1), (3, 0)), rows.data, rows.starts)
    assert operands(60, (10, 6), (12, 1)).lanes([4]) == 0
    assert operands(80, (10, 8), (9, 1)).lanes([4]) == 0
