"""Memory of a CUDA device: what is live, what is kept and used again, what a checker sees."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cuda_arrays.drawing import bytes_to, filling, raw

import counterfoil as cf
from counterfoil.cuda import pool
from counterfoil.cuda.device import Cuda, computing_device, pointer
from counterfoil.cuda.pool import rounded

KINDS = [cf.MemoryKind.DEVICE, cf.MemoryKind.PINNED, cf.MemoryKind.MAPPED]


@given(st.integers(1, 1 << 40))
def test_sizes_are_few_and_waste_little(nbytes: int) -> None:
    """A chunk holds what is asked for, is a multiple of its step, and is at most a quarter larger, or one step."""
    size = rounded(nbytes)
    assert size >= nbytes and size % 512 == 0 and rounded(size) == size
    assert size < nbytes + max(512, nbytes // 4 + (2 << 20 if nbytes > 2 << 20 else 0)) + 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
def test_every_kind_holds_bytes_and_counts(device: Cuda, kind: Any) -> None:
    """Bytes live as long as somebody can reach them, whatever their kind; the host addresses all but DEVICE memory."""
    gc.collect()
    live = cf.inspection.live_bytes(device)
    buffer = bytes_to(device, b"0123456789", kind)
    assert cf.inspection.live_bytes(device) == live + 10
    assert cf.inspection.memory_bytes(buffer.view(3, 4)) == b"3456"
    array = cf.Array(cf.uint8, cf.Layout.contiguous((10,)), buffer)
    if kind is cf.MemoryKind.DEVICE:
        with pytest.raises(cf.InvalidArgument):
            array.get((0,))
    else:
        assert array.get((0,)) == ord("0")
    del buffer, array
    assert cf.inspection.live_bytes(device) == live


def test_pending_work_keeps_memory(device: Cuda) -> None:
    """Memory that a submission names lives until that is reached, and is then let go of."""
    gc.collect()
    live = cf.inspection.live_bytes(device)
    slow = cf.simulated("slow")
    source = slow.buffer(64)
    hand = cf.host().buffer(64)
    cf.submit_copy(source, hand)
    target = device.buffer(64)
    cf.submit_copy(hand, target)
    del target
    assert cf.inspection.live_bytes(device) == live + 64
    device.advance(1 << 20)
    assert cf.inspection.live_bytes(device) == live


def test_freed_memory_is_used_again(device: Cuda) -> None:
    """Memory nobody reaches is the next memory of its size and kind, of no other."""
    device.pool.trim()
    for kind in KINDS:
        buffer = bytes_to(device, bytes(3000), kind)
        where = pointer(buffer)
        del buffer
        other = device.buffer(3000, KINDS[KINDS.index(kind) - 1])
        again = device.buffer(2600, kind)
        assert pointer(again) == where and pointer(other) != where


def test_page_locked_memory_that_nobody_uses_is_bounded(device: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sizes that never come again, no more than the bound and one allocation are kept."""
    device.pool.trim()
    monkeypatch.setattr(pool, "MOST_LOCKED", 1 << 20)
    for step in range(1, 24):
        device.buffer(step * 50_000, KINDS[1 + step % 2])
        assert device.pool.cached_bytes() <= (1 << 20) + rounded(step * 50_000)
    device.pool.trim()
    assert not device.pool.cached_bytes() and not device.pool._locked


def test_memory_used_again_follows_the_work_that_used_it(device: Cuda) -> None:
    """Whatever the driver does first, fresh memory never shows work on the memory it was before."""
    for byte in range(40):
        old = device.buffer(2048, KINDS[byte % 3])
        cf.submit(device, filling(device, 1), [], [old])
        del old
        fresh = device.buffer(2048, KINDS[byte % 3])
        cf.submit_fill(fresh, byte)
        if byte % 3:
            assert raw(fresh) == bytes([byte]) * 2048
        else:
            hand = cf.host().buffer(2048)
            cf.submit_copy(fresh, hand)
            assert raw(hand) == bytes([byte]) * 2048


def test_an_old_address_is_reached_by_no_new_memory_while_work_names_it(device: Cuda) -> None:
    """Memory freed by name is not made again before its work is done."""
    slow = cf.simulated("slow")
    hand = cf.host().buffer(600)
    cf.submit_copy(slow.buffer(600), hand)
    target = device.buffer(600)
    cf.submit_copy(hand, target)
    where = pointer(target)
    target.free("early")
    assert pointer(device.buffer(600)) != where


def test_a_budget_counts_live_bytes(device: Cuda) -> None:
    """What does not fit beside what is live is refused by name; memory of work the driver has is waited for."""
    gc.collect()
    device.advance(1 << 20)
    live = cf.inspection.live_bytes(device)
    device.budget = live + 1000
    held = device.buffer(600)
    with pytest.raises(cf.DeviceMemoryExhausted) as caught:
        device.buffer(500)
    assert caught.value.subjects == {"device": "cuda:0", "nbytes": 500, "used": live + 600, "budget": live + 1000}
    cf.submit(device, filling(device, 1), [], [held])
    del held
    assert device.buffer(1000).nbytes == 1000


def test_poison_fills_fresh_and_freed_memory(device: Cuda) -> None:
    """Fresh memory shows the byte, and freed memory once no work can see it."""
    cf.inspection.poison(0xAB)
    buffer = device.buffer(20)
    assert cf.inspection.memory_bytes(buffer) == b"\xab" * 20
    slow = cf.simulated("slow")
    hand, back = cf.host().buffer(20), cf.host().buffer(20)
    cf.submit_fill(buffer, 1)
    cf.submit_copy(slow.buffer(20), hand)
    cf.submit_copy(hand, device.buffer(20))  # keeps what follows from being given
    cf.submit_copy(buffer, back)
    buffer.free("over")
    assert raw(back) == b"\x01" * 20
    assert cf.inspection.memory_bytes(buffer) == b"\xab" * 20


def test_looking_waits_for_nothing(device: Cuda) -> None:
    """memory_bytes and poke are of what is there now."""
    buffer = bytes_to(device, b"1234")
    before = device.timeline.reached
    cf.inspection.poke(buffer, b"5678")
    assert cf.inspection.memory_bytes(buffer) == b"5678" and device.timeline.reached == before


def test_where_a_call_runs(device: Cuda) -> None:
    """On the one device that addresses all that have an element, and on none where the host addresses all."""
    host = cf.host_array(cf.int8, (2,))
    pinned = cf.empty(device, cf.int8, (2,), cf.MemoryKind.PINNED)
    there, nothing = cf.empty(device, cf.int8, (2,)), cf.host_array(cf.int8, (0,))
    assert computing_device([there, pinned, nothing]) is device
    assert computing_device([pinned, pinned]) is None
    assert computing_device([there, host]) is None
    assert computing_device([there, cf.empty(cf.simulated("s"), cf.int8, (2,))]) is None


def test_free_and_total_are_the_drivers(device: Cuda) -> None:
    """Free bytes shrink by what is made."""
    device.pool.trim()
    free, total = device.free_and_total()
    held = device.buffer(8 << 20)
    after, same = device.free_and_total()
    assert total == same and after <= free - held.nbytes + (2 << 20)
