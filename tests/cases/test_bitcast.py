"""(e) Bits read at another width."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cases.scenario import counted, fresh, host_buffer, over, sliced, transposed


def test_b22_a_reversed_view_of_one_element(cf: Any) -> None:
    """A length-1 reversed slice narrows to the bytes of its own element."""
    v = sliced(cf, fresh(cf, cf.uint16, [0x0201, 0x0403]), (1, 1, -1))
    narrow = v.bitcast(cf.uint8)
    assert (narrow.shape, narrow.layout.strides[-1], narrow.layout.offset) == ((1, 2), 1, 2)
    assert narrow.to_values() == [3, 4]


def test_b23_narrowing_a_transpose(cf: Any) -> None:
    """The new axis is the last one, whichever axis is last in memory."""
    x = fresh(cf, cf.int64, [k + k * 2**40 for k in range(6)], [2, 3])
    narrow = transposed(cf, x).bitcast(cf.int32)
    assert narrow.shape == (3, 2, 2) and narrow.layout.strides == (2, 6, 1)
    assert [narrow.get([2, 1, k]) for k in range(2)] == [5, 1280]
    assert [narrow.get([1, 0, k]) for k in range(2)] == [1, 256]


@pytest.mark.parametrize("name", ["complex64", "float64", "int64"])
def test_b24_widening_a_slice(cf: Any, name: str) -> None:
    """Adjacent pairs widen in a slice; from an odd offset, trailing extent 1 or trailing stride 2 they do not."""
    wide, a = getattr(cf, name), counted(cf, cf.float32, [3, 4, 2])
    s = sliced(cf, a, (0, 3), (0, 2, 2), (0, 2))
    widened = s.bitcast(wide)
    assert widened.shape == (3, 2) and widened.layout.strides == (4, 2)
    assert widened.bitcast(cf.float32).to_values()[:6] == [0.0, 1.0, 4.0, 5.0, 8.0, 9.0]
    assert over(cf, cf.float32, a.buffer, [3, 2], [4, 1], 1).bitcast(wide) is None
    assert sliced(cf, a, (0, 3), (0, 4), (0, 1)).bitcast(wide) is None
    assert over(cf, cf.float32, a.buffer, [3, 2], [4, 2]).bitcast(wide) is None


def test_b25_strides_of_extent_one_axes(cf: Any) -> None:
    """Strides nobody uses stand in no bitcast's way, and going there and back gives an identical array."""
    buffer = host_buffer(cf, bytes(72))
    x = over(cf, cf.int64, buffer, [8, 1], [1, 8])
    narrow = x.bitcast(cf.int8)
    assert narrow.shape == (8, 1, 8) and narrow.layout.strides == (8, 0, 1)
    assert narrow.bitcast(cf.int64).layout == x.layout
    y = over(cf, cf.int32, buffer, [3, 1, 2], [6, 7, 1])
    widened = y.bitcast(cf.int64)
    assert widened.shape == (3, 1) and widened.layout.strides == (3, 0)
    assert widened.bitcast(cf.int32).layout == y.layout


def test_b26_bits_as_bytes(cf: Any) -> None:
    """Eight bits from a multiple of 8 widen to their byte, low bit first; from elsewhere they do not."""
    base = fresh(cf, cf.bit, [k % 3 == 0 for k in range(32)])
    v = sliced(cf, base, (8, 8)).move(cf.Reshape([1, 8]))
    assert v.to_values() == [False, True, False, False, True, False, False, True]
    assert v.bitcast(cf.uint8).to_values() == [146]
    assert sliced(cf, base, (4, 8)).move(cf.Reshape([1, 8])).bitcast(cf.uint8) is None
