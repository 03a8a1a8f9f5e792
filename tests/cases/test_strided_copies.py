"""(m) Copies of strided data between memories."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cases.scenario import counted, fresh, is_fast, over, raw, sliced, transposed, unchanged_after


@pytest.mark.parametrize("addressable", [True, False])
def test_b66_a_block_into_a_block(cf: Any, addressable: bool) -> None:
    """A strided block from a device changes the destination's block and nothing between its rows."""
    device = cf.simulated("dev", addressable=addressable)
    h = fresh(cf, cf.int32, [-1] * 12, [3, 4])
    d = counted(cf, cf.int32, [4, 5]).to_device(device)
    cf.transfer(sliced(cf, d, (1, 2), (2, 2)), sliced(cf, h, (0, 2), (0, 2)))
    assert h.to_values() == [7, 8, -1, -1, 12, 13, -1, -1, -1, -1, -1, -1]


def test_b67_a_broadcast_goes_as_it_is(cf: Any) -> None:
    """A broadcast is stored once and stays a broadcast; repeated positions become elements."""
    device = cf.simulated("dev", addressable=True)
    x = counted(cf, cf.int32, [4]).move(cf.Broadcast([2, 4])).to_device(device)
    assert x.layout.strides == (0, 1) and x.buffer.nbytes == 16
    assert x.to_values() == [0, 1, 2, 3] * 2
    y = over(cf, cf.int32, counted(cf, cf.int32, [7]).buffer, [3, 2], [2, 2]).to_device(device)
    assert y.layout.strides == (2, 1) and y.to_values() == [0, 2, 2, 4, 4, 6]


@pytest.mark.parametrize("addressable", [True, False])
def test_b68_a_gapped_view_between_devices(cf: Any, addressable: bool) -> None:
    """A gapped view goes to another device element by element; writing into one leaves its gaps."""
    one, two = cf.simulated("one"), cf.simulated("two", addressable=addressable)
    q = fresh(cf, cf.int32, [0] * 24, [4, 6])
    cf.transfer(fresh(cf, cf.int32, [1, 2, 3, 4, 5, 6], [2, 3]), sliced(cf, q, (0, 2, 2), (0, 3, 2)))
    view = sliced(cf, q.to_device(one), (0, 2, 2), (0, 3, 2))
    assert view.to_device(two).to_device(cf.host()).to_values() == [1, 2, 3, 4, 5, 6]
    cf.transfer(fresh(cf, cf.int32, [-1] * 6, [2, 3]), view)
    whole = over(cf, cf.int32, view.buffer, [4, 6], [6, 1]).to_device(cf.host()).to_values()
    assert whole == [-1, 0, -1, 0, -1, 0] + [0] * 6 + [-1, 0, -1, 0, -1, 0] + [0] * 6


def test_b69_a_part_into_every_second(cf: Any) -> None:
    """Start and count are honoured where only one side is contiguous."""
    src, base = fresh(cf, cf.int32, [1, 2, 3, 4, 5]), fresh(cf, cf.int32, [9, 0] * 5)
    dst = sliced(cf, base, (0, 5, 2))
    cf.transfer(sliced(cf, src, (2, 3)), sliced(cf, dst, (1, 3)))
    assert dst.to_values() == [9, 3, 4, 5, 9]
    assert base.to_values()[1::2] == [0] * 5


@pytest.mark.parametrize("addressable", [True, False])
def test_b70_round_trips_of_views(cf: Any, addressable: bool) -> None:
    """Sliced, transposed and reversed host arrays come back from a device as they went."""
    device = cf.simulated("dev", addressable=addressable)
    cube, square = counted(cf, cf.float32, [5, 5, 5]), counted(cf, cf.float32, [2, 2])
    plane = sliced(cf, cube, (0, 5), (1, 1), (0, 5)).move(cf.Reshape([5, 5]))
    assert plane.layout.strides == (25, 1) and plane.layout.offset == 5
    backwards = sliced(cf, cube, (4, 3, -1), (3, 2, -2), (1, 3))
    for view in (plane, transposed(cf, square), backwards):
        assert view.to_device(device).to_device(cf.host()).to_values() == view.to_values()
    assert plane.to_values()[5:10] == [30.0, 31.0, 32.0, 33.0, 34.0]
    assert transposed(cf, square).to_values() == [0.0, 2.0, 1.0, 3.0]


def test_b70_host_views_refuse_other_orders(cf: Any) -> None:
    """Memory in another order than C is refused by reading, export and from_buffer."""
    p = transposed(cf, counted(cf, cf.float32, [2, 2]))
    unchanged_after(cf, "arrays/not-contiguous", [p], lambda: p.reading().__enter__())
    unchanged_after(cf, "arrays/not-contiguous", [p], p.export)
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.from_buffer(cf.uint8, memoryview(bytearray(8))[::-1])
    assert caught.value.rule == "arrays/not-contiguous"


def test_b70_a_kernel_writes_through_a_transpose(cf: Any) -> None:
    """What a kernel writes through a transposed view of foreign memory is in the caller's object."""
    memory = bytearray(4)
    shared = transposed(cf, cf.from_buffer(cf.int8, memoryview(memory).cast("b", (2, 2))))
    assert cf.kernels.copy(shared, fresh(cf, cf.int8, [0, 1, 2, 3], [2, 2])) == cf.Answer.DONE
    assert bytes(memory) == raw(cf, shared) == b"\x00\x02\x01\x03"
    if is_fast(cf):
        import numpy

        fortran = numpy.asfortranarray(numpy.zeros((2, 2), numpy.int8))
        assert cf.kernels.copy(cf.asarray(fortran), fresh(cf, cf.int8, [0, 1, 2, 3], [2, 2])) == cf.Answer.DONE
        assert fortran.tolist() == [[0, 1], [2, 3]]
