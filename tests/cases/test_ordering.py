"""(l) The order of work on several timelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.cases.scenario import fresh, over, sliced


def summing(at: int) -> Callable[..., None]:
    """Work that stores the sum of its first view's bytes at a position of its second."""

    def work(source: Any, out: Any) -> None:
        out[at] = sum(bytes(source)) % 256

    return work


def increment(view: Any) -> None:
    """Work that adds 1 to each byte."""
    view[:] = bytes((byte + 1) % 256 for byte in bytes(view))


def test_b61_a_reused_staging_buffer(cf: Any) -> None:
    """Refilling host memory that pending copies still read waits for them: each copy saw its own round."""
    device, rounds, n = cf.simulated("dev"), 30, 4
    host, out = cf.host_array(cf.uint8, [n]), device.buffer(rounds)
    for k in range(rounds):
        for position in range(n):
            host.set([position], k)
        uploaded = host.to_device(device)
        cf.submit(device, summing(k), [uploaded.buffer], [out])
    gathered = over(cf, cf.uint8, out, [rounds], [1]).to_device(cf.host())
    assert gathered.to_values() == [k * n for k in range(rounds)]


@pytest.mark.parametrize("size", [4, 64, 4096])
@pytest.mark.parametrize("addressable", [True, False])
def test_b62_a_copy_is_no_alias(cf: Any, size: int, addressable: bool) -> None:
    """At every size a copy on a device keeps the old value when the host array is written afterwards."""
    device = cf.simulated("dev", addressable=addressable)
    a = cf.host_array(cf.int8, [size])
    assert cf.kernels.fill(a, 5) == cf.Answer.DONE
    for copy in (a.to_device(device), a.to_device(cf.host())):
        a.set([0], -1)
        assert copy.to_device(cf.host()).get([0]) == 5
        a.set([0], 5)


def test_b62_a_borrow_is_an_alias(cf: Any) -> None:
    """Sharing is asked for with borrow, and then both sides see writes."""
    a = fresh(cf, cf.int8, [1, 2])
    b = a.borrow(cf.simulated("near", addressable=True))
    a.set([0], -1)
    b.set([1], -2)
    assert a.to_values() == b.to_values() == [-1, -2]


@pytest.mark.parametrize("step", [1, 2])
def test_b63_a_strided_copy_follows_the_same_work(cf: Any, step: int) -> None:
    """Copying a strided view, however it is packed, follows the pending write as a contiguous copy does."""
    device = cf.simulated("dev")
    x = fresh(cf, cf.uint8, [0] * 8).to_device(device)
    cf.submit_fill(x.buffer, 7)
    y = sliced(cf, x, (0, 4, step)).to_device(cf.host())
    cf.submit_fill(x.buffer, 9)
    assert y.to_values() == [7] * 4


def test_b65_every_access_follows_earlier_work(cf: Any) -> None:
    """Work of one device on shared memory is followed by another's, and both by the host, with no wait between."""
    one, two = (cf.simulated(name, addressable=True) for name in ("one", "two"))
    for k in range(20):
        x = fresh(cf, cf.uint8, [0, 0])
        a, b = x.borrow(one), x.borrow(two)
        cf.submit_fill(a.buffer, k)
        cf.submit(two, increment, [], [b.buffer])
        cf.submit(one, increment, [], [a.buffer])
        assert x.to_values() == [k + 2, k + 2]


def test_b65_upload_then_work_then_read(cf: Any) -> None:
    """An upload, work on another device after it, and a download give the new data without a wait."""
    one, two = cf.simulated("one"), cf.simulated("two")
    for k in range(20):
        uploaded = fresh(cf, cf.uint8, [k] * 64).to_device(one)
        moved = uploaded.to_device(two)
        cf.submit(two, increment, [], [moved.buffer])
        assert moved.to_device(cf.host()).to_values() == [k + 1] * 64
