"""Memory lives as long as something can reach it, is counted while it does, and is given back once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import counterfoil as cf

HOST = cf.host()


@pytest.fixture
def live() -> Callable[[], int]:
    """Bytes of host memory that came to life since the test began."""
    gc.collect()
    before = cf.inspection.live_bytes(HOST)
    return lambda: cf.inspection.live_bytes(HOST) - before


def filled(nbytes: int = 64) -> cf.Array:
    """A host array of bytes 0, 1, 2, ..."""
    return cf.from_values(cf.uint8, [nbytes], [k % 256 for k in range(nbytes)])


@pytest.mark.parametrize(
    "way",
    [
        lambda x: x[3:5],
        lambda x: x.move(cf.Reshape([8, 8])),
        lambda x: x.bitcast(cf.bit),
        lambda x: x.borrow(cf.simulated("near", addressable=True)),
        lambda x: x.buffer,
        lambda x: x.buffer.view(1, 2),
        lambda x: x.export(),
        lambda x: x.buffer.export(),
        lambda x: x.buffer.export()[2:4],
        lambda x: x.buffer.memory.bytes_at(0, 4),
    ],
)
def test_a_view_of_any_kind_keeps_the_memory(way: Callable[[Any], Any], live: Callable[[], int]) -> None:
    """The memory stays while one view of it does, and goes with the last."""
    kept = way(filled())
    assert kept is not None and live() == 64
    del kept
    assert live() == 0


@pytest.mark.parametrize("writing", [False, True])
def test_a_host_view_kept_past_its_block_reads_unreused_memory(writing: bool, live: Callable[[], int]) -> None:
    """An ndarray kept after reading or writing ended still shows the array's bytes, whatever was allocated since."""
    array = filled()
    with array.writing() if writing else array.reading() as seen:
        pass
    del array
    others = [cf.from_values(cf.uint8, [64], [255] * 64) for _ in range(50)]
    assert seen.tolist() == list(range(64)) and live() == 51 * 64
    del seen, others
    assert live() == 0


def test_pending_work_keeps_the_memory_it_names(live: Callable[[], int]) -> None:
    """Arrays dropped while work on them is pending live until it was performed."""
    device = cf.simulated("gpu")
    seen: list[bytes] = []
    array = filled(4)
    copied = array.to_device(device)
    cf.submit(device, lambda view: seen.append(bytes(view)), [copied.buffer], [])
    del array, copied
    assert live() == 4 and cf.inspection.live_bytes(device) == 4
    device.advance(2)
    assert seen == [bytes(range(4))]
    assert live() == 0 and cf.inspection.live_bytes(device) == 0


def test_dropped_work_lets_go_of_its_memory(live: Callable[[], int]) -> None:
    """A lost device's pending work keeps nothing."""
    device = cf.simulated("gpu")
    filled(4).to_device(device)
    assert live() == 4
    device.lose("unplugged")
    assert live() == 0 and cf.inspection.live_bytes(device) == 0


def test_an_abandoned_device_with_pending_work_is_collected(live: Callable[[], int]) -> None:
    """Work that names arrays whose memory remembers the device is a cycle, and goes with the next collection."""
    device = cf.simulated("gpu")
    array = cf.empty(device, cf.uint8, [8])
    cf.submit(device, lambda view: None, [], [array.buffer])
    gone = weakref.ref(device)
    del device, array
    gc.collect()
    assert gone() is None and live() == 0


def test_performed_work_is_forgotten() -> None:
    """Memory used by one device after the other remembers none of them once their work was performed."""
    array = filled(4)
    for _ in range(3):
        array.to_device(cf.simulated("gpu"))
        array.buffer.wait(cf.Access.READ_WRITE)
    assert array.buffer.memory.points(writing=True) == []


def test_freed_memory_counts_no_longer_and_lives_on(live: Callable[[], int]) -> None:
    """free gives the bytes back at once in the count; a view handed out before still reads allocated memory."""
    array = filled()
    view = array.buffer.export()
    array.buffer.free("freed")
    assert live() == 0 and bytes(view) == bytes(range(64))
    del array, view
    assert live() == 0


def test_freed_memory_is_poisoned_after_the_work_that_names_it() -> None:
    """The poison of freed memory comes once no pending work names it, and at once where none does."""
    device = cf.simulated("gpu")
    seen: list[bytes] = []
    buffer = device.buffer(2)
    cf.inspection.poke(buffer, b"\x01\x02")
    cf.submit_fill(buffer, 7)
    cf.submit(device, lambda view: seen.append(bytes(view)), [buffer], [])
    cf.inspection.poison(0xEE)
    try:
        buffer.free("freed")
        assert cf.inspection.memory_bytes(buffer) == b"\x01\x02"
        device.advance(2)
        assert seen == [b"\x07\x07"] and cf.inspection.memory_bytes(buffer) == b"\xee\xee"
        other = HOST.buffer(3)
        other.free("freed")
        assert cf.inspection.memory_bytes(other) == b"\xee" * 3
    finally:
        cf.inspection.poison(None)


def test_a_foreign_object_lives_as_long_as_its_array() -> None:
    """from_buffer holds the object's memory: a bytearray cannot be resized until the last view is gone."""
    given = bytearray(8)
    row = cf.from_buffer(cf.uint8, given)[2:]
    with pytest.raises(BufferError):
        given.append(1)
    del row
    given.append(1)


def test_donated_memory_is_given_back_once(live: Callable[[], int]) -> None:
    """Consuming makes a new buffer of the same memory: nothing is counted twice, and nothing is left at the end."""
    array = filled()
    with cf.claims(donate=[array.buffer]) as held:
        fresh = held.consume(array.buffer, "donated")
    assert live() == 64
    del array, held
    assert live() == 64
    del fresh
    assert live() == 0


def test_ten_thousand_results_leave_nothing(live: Callable[[], int]) -> None:
    """Results, views and conversions made in a loop are gone after it."""
    x = filled()
    for _ in range(10_000):
        (x[::2] + 1)[3].item()
    assert live() == 64


def test_every_object_can_be_weakly_referenced() -> None:
    """Arrays, buffers, layouts and devices take weak references, which die with them."""
    array = filled()
    references = [weakref.ref(each) for each in (array, array.buffer, array.layout)]
    assert references[0]() is array
    del array
    assert [reference() for reference in references] == [None, None, None]
