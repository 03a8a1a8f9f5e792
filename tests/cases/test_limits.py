"""(c) Overflow, arrays without an element, axes of extent 1, contiguity."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cases.scenario import counted, fresh, host_buffer, is_fast, over, raw, sliced


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "rule"),
    [
        ([5], [2**62], 0, "layouts/past-limit"),
        ([5], [2], 2**63 - 10, "layouts/past-limit"),
        ([2**32, 2**32], [0, 0], 0, "layouts/too-many-elements"),
    ],
)
def test_b11_bounds_do_not_wrap(cf: Any, shape: list[int], strides: list[int], offset: int, rule: str) -> None:
    """A huge stride, offset or element count is refused, never wrapped."""
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.Layout(shape, strides, offset)
    assert caught.value.rule == rule


def test_b11_an_unused_stride_is_legal(cf: Any) -> None:
    """The stride of an extent-1 axis may be anything, and slicing by a step does not multiply it."""
    buffer = host_buffer(cf, bytes([7]) + bytes(1023))
    x = over(cf, cf.int8, buffer, [1], [2**62])
    assert sliced(cf, x, (0, 1, 3)).to_values() == [7]


@pytest.mark.parametrize("stride", [64, 1, 7, -5, 2**40])
def test_b12_a_leftover_stride_steers_nothing(cf: Any, stride: int) -> None:
    """A scan of a [1, 1] view writes its one element and no guard byte."""
    x = fresh(cf, cf.float32, map(float, range(1, 65)), [1, 64])
    v = over(cf, cf.float32, x.buffer, [1, 1], [stride, 1], 63)
    assert v.layout.is_contiguous
    guarded = host_buffer(cf, b"\xaa" * 12)
    out = over(cf, cf.float32, guarded, [1, 1], [1, 1], 1)
    assert cf.kernels.cumsum(out, v, 0) == cf.Answer.DONE
    assert out.to_values() == [64.0]
    assert raw(cf, out)[:4] == raw(cf, out)[8:] == b"\xaa" * 4


def test_b13_unused_strides_make_no_difference(cf: Any) -> None:
    """[1, n] arrays are contiguous, identical and equal operands whatever the stride of the first axis."""
    buffer = fresh(cf, cf.float32, [1.0, 2.0, 3.0, 4.0]).buffer
    rows = [over(cf, cf.float32, buffer, [1, 4], [stride, 1]) for stride in (4, 1, 16384)]
    assert all(row.layout.is_contiguous and row.layout == rows[0].layout for row in rows)
    column, products = fresh(cf, cf.float32, [1.0, 10.0, 100.0, 1000.0], [4, 1]), []
    for row in rows:
        out = cf.host_array(cf.float32, [1, 1])
        assert cf.kernels.matmul(out, row, column) == cf.Answer.DONE
        products += out.to_values()
    assert products == [4321.0] * 3
    assert cf.kernels.add(rows[0], rows[0], rows[1]) == cf.Answer.DONE
    assert rows[2].to_values() == [2.0, 4.0, 6.0, 8.0]


def test_b14_arrays_without_an_element(cf: Any) -> None:
    """Empty arrays move, copy and transfer whatever their strides; only their shapes count."""
    z = cf.from_values(cf.float32, [2, 0, 3], [])
    assert sliced(cf, z, (0, 2), (0, 0), (2, 3, -1)).shape == (2, 0, 3)
    assert z.move(cf.Reshape([0, 7])).shape == (0, 7)
    assert z.copy().layout.is_contiguous
    nothing = cf.host().buffer(0)
    far = over(cf, cf.float32, nothing, [2, 0, 3], [1000, 5, -77], 12345)
    cf.transfer(z, far)
    cf.transfer(far, z)
    assert far.layout.is_contiguous and far.to_values() == []


def test_b14_no_element_over_an_odd_byte(cf: Any) -> None:
    """Reach and alignment are asked of elements alone."""
    odd = cf.host().buffer(3).view(3, 0)
    assert over(cf, cf.float64, odd, [0], [9], 1).to_values() == []


def test_b14_broadcasting_an_empty_axis(cf: Any) -> None:
    """A row broadcast against no rows has no rows, not one."""
    assert cf.move_shape(cf.Broadcast([0, 5]), [1, 5]) == (0, 5)
    x = cf.from_values(cf.float32, [0, 5], [])
    row = counted(cf, cf.float32, [1, 5]).move(cf.Broadcast([0, 5]))
    assert cf.kernels.add(x, x, row) == cf.Answer.DONE


def test_b15_positions_past_32_bits(cf: Any) -> None:
    """Positions past 2^31 are computed exactly."""
    layout = cf.Layout([262144, 8960], [8960, 1])
    assert layout.span == (0, 262144 * 8960)
    cell = layout.move(cf.Slice(cf.Range(239674, 1), cf.Range(8959, 1)))
    assert cell.offset == 2147487999
    assert cf.Layout([2, 2], [2**31, 2**32], 5).span == (5, 5 + 2**31 + 2**32 + 1)


def test_b15_a_quarter_gibibyte_of_bits(cf: Any) -> None:
    """Elements past 2^31 are stored, loaded, copied and summed where they lie (the reference: past 2^11)."""
    exponent = 31 if is_fast(cf) else 11
    size = 2**exponent + 9
    x = cf.empty(cf.host(), cf.bit, [size])
    assert cf.kernels.fill(x, False) == cf.Answer.DONE
    x.set([2**exponent + 3], True)
    assert x.get([2**exponent + 3]) is True
    window = sliced(cf, x, (2**exponent - 4, 8))
    assert window.copy().to_values() == [False] * 7 + [True]
    last, total = cf.host_array(cf.int32, [16]), cf.host_array(cf.int32, [])
    assert cf.kernels.cast(last, sliced(cf, x, (size - 16, 16))) == cf.Answer.DONE
    assert cf.kernels.sum(total, last, [0]) == cf.Answer.DONE
    assert total.to_values() == [1]
