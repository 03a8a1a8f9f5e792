"""Borrows: host memory mapped by the device, page-locked memory seen by the host, the same bytes each time."""

from __future__ import annotations

import gc
import mmap
from typing import Any

import numpy as np
import pytest
from tests.cuda_arrays.drawing import bytes_to, filling, raw
from tests.cuda_arrays.emulated import EMULATED, calls

import counterfoil as cf
from counterfoil.cuda.device import Cuda, computing_device, pointer

PAGE = mmap.PAGESIZE
PAGES = 16 * PAGE


def host_pages() -> Any:
    """Host memory large enough to start on a page."""
    return bytes_to(cf.host(), bytes(PAGES))


def registered() -> int:
    """Registrations that nobody has undone, as the emulated driver counts calls; 0 where there is no such count."""
    return calls("cuMemHostRegister") - calls("cuMemHostUnregister") if EMULATED else 0


def test_whole_pages_of_the_host_are_borrowed_without_a_copy(device: Cuda) -> None:
    """Writes show both ways, the order of work is one, and the buffer is the host's and the device's."""
    host = host_pages()
    lent = host.borrow(device)
    assert lent is not None and lent.device is device
    part = lent.view(PAGE, 100)
    cf.submit(device, filling(device, 7), [], [part])
    array = cf.Array(cf.uint8, cf.Layout.contiguous((PAGES,)), host)
    assert array.get((PAGE,)) == 7 and array.get((PAGE + 100,)) == 0
    array.set((3,), 9)
    there = device.buffer(PAGES)
    cf.submit_copy(lent, there)
    assert raw(there)[:4] == b"\0\0\0\x09" and raw(there) == raw(host)
    assert pointer(part) == pointer(lent) + PAGE
    both = cf.Array(cf.uint8, cf.Layout.contiguous((4,)), lent)
    assert computing_device([both, cf.empty(device, cf.uint8, (4,))]) is device


def test_pages_are_unlocked_when_the_last_borrower_is_gone(device: Cuda) -> None:
    """Views and pending work count; a second borrow shares the first's registration."""
    gc.collect()
    before, host = registered(), host_pages()
    lent, again = host.borrow(device), host.borrow(device)
    view = lent.view(5, 5)
    assert registered() == before + EMULATED
    slow = cf.simulated("slow")
    hand = cf.host().buffer(5)
    cf.submit_copy(slow.buffer(5), hand)
    cf.submit_copy(hand, device.buffer(5))
    cf.submit_fill(view, 1)
    del lent, again, view
    gc.collect()
    assert registered() == before + EMULATED
    device.advance(1 << 20)
    gc.collect()
    assert registered() == before and raw(host)[5:10] == b"\x01" * 5


def test_memory_outlives_its_host_buffers_while_it_is_borrowed(device: Cuda) -> None:
    """The borrower keeps the pages."""
    host = host_pages()
    lent = host.borrow(device)
    del host
    gc.collect()
    cf.submit_fill(lent, 4)
    assert raw(lent)[:3] == b"\x04" * 3


@pytest.mark.parametrize("nbytes", [0, 1, 100, PAGES + 1])
def test_less_than_whole_pages_is_none(device: Cuda, nbytes: int) -> None:
    """No byte of a page that belongs to others is mapped."""
    assert cf.host().buffer(nbytes).borrow(device) is None


def test_read_memory_stays_read(device: Cuda) -> None:
    """Borrowed read-only memory is not written by the device either."""
    pages = np.frombuffer(mmap.mmap(-1, PAGES), np.uint8)
    pages.flags.writeable = False
    lent = cf.from_buffer(cf.uint8, pages).buffer.borrow(device)
    assert lent is not None and lent.access is cf.Access.READ
    with pytest.raises(cf.InvalidArgument) as caught:
        cf.submit_fill(lent, 1)
    assert caught.value.rule == "memory/read-only"


def test_the_host_borrows_what_it_addresses(device: Cuda) -> None:
    """PINNED and MAPPED memory, the same bytes in the same order; DEVICE memory and another device's is None."""
    for kind in (cf.MemoryKind.PINNED, cf.MemoryKind.MAPPED):
        pinned = bytes_to(device, b"abcd", kind)
        ours = pinned.borrow(cf.host())
        cf.submit_fill(pinned, 9)
        assert raw(ours) == b"\x09" * 4 and ours.device is cf.host()
    assert device.buffer(PAGE).borrow(cf.host()) is None
    assert cf.simulated("s").buffer(PAGES).borrow(device) is None
    assert device.buffer(4).borrow(cf.simulated("s", addressable=True)) is None


def test_a_claim_is_shared(device: Cuda) -> None:
    """Claims on a borrowed buffer are the memory's."""
    host = host_pages()
    lent = host.borrow(device)
    with cf.claims(read=[lent]):
        assert host.claims[0] == 1
    live = host.borrow(device).borrow(cf.host())
    assert live is not None and live.overlaps(lent)


def test_a_consumed_borrow_is_renewed(device: Cuda) -> None:
    """The buffer that a consume gives still has an address of the device's."""
    lent = host_pages().borrow(device)
    where = pointer(lent)
    with cf.claims(donate=[lent]) as held:
        renewed = held.consume(lent, "taken")
    assert lent.dead == "taken" and pointer(renewed) == where
    cf.submit_fill(renewed, 2)
    assert raw(renewed)[:1] == b"\x02"


def over(pages: mmap.mmap, first: int, count: int, writeable: bool = True) -> Any:
    """A buffer of the host's over some pages of a mapping."""
    array = np.frombuffer(pages, np.uint8)[first * PAGE : (first + count) * PAGE]
    array.flags.writeable = writeable
    return cf.from_buffer(cf.uint8, array).buffer


def test_memories_over_the_same_pages_share_their_registration(device: Cuda) -> None:
    """All of them or some; the pages are unlocked when the last borrower of any is gone."""
    gc.collect()
    before, pages = registered(), mmap.mmap(-1, 4 * PAGE)
    lent = over(pages, 0, 4).borrow(device)
    again, part = over(pages, 0, 4).borrow(device), over(pages, 1, 2, writeable=False).borrow(device)
    assert again is not None and part is not None and registered() == before + EMULATED
    assert pointer(again) == pointer(lent) and pointer(part) == pointer(lent) + PAGE
    cf.submit_fill(lent, 5)
    assert raw(lent)[:1] == b"\x05" and pages[PAGE] == 5
    del lent, again
    gc.collect()
    assert registered() == before + EMULATED and raw(part)[:2] == b"\x05\x05"
    del part
    device.advance(1 << 20)
    gc.collect()
    assert registered() == before


@pytest.mark.parametrize(("first", "count", "writeable"), [(1, 3, True), (0, 2, True), (3, 2, True)])
def test_pages_that_are_locked_in_part_are_none(device: Cuda, first: int, count: int, writeable: bool) -> None:
    """A driver registers a page once, and all pages of a memory at once: until those that are locked are not."""
    pages = mmap.mmap(-1, 5 * PAGE)
    lent = over(pages, 1, 1).borrow(device), over(pages, 3, 1, writeable=False).borrow(device)
    assert all(one is not None for one in lent)
    assert over(pages, first, count, writeable).borrow(device) is None
    assert over(pages, 3, 1).borrow(device) is None  # locked for reading only
    del lent
    gc.collect()
    assert over(pages, first, count, writeable).borrow(device) is not None
