"""Memory and buffers: views, overlap, death, budgets, poison, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.drawing import boom, bytes_of, fill, host_bytes, refusal, state

import counterfoil_reference as cf


@pytest.fixture
def poisoned() -> Iterator[None]:
    """Fresh and freed memory is filled with 0xA5 while the test runs."""
    cf.inspection.poison(0xA5)
    yield
    cf.inspection.poison(None)


@given(st.integers(0, 9), st.data())
def test_views_share_bytes_claims_and_death(nbytes: int, data: st.DataObject) -> None:
    """A view is the same memory from a byte on: what is stored through one shows in the other, and both die."""
    whole = host_bytes(bytes(range(nbytes)))
    first = data.draw(st.integers(0, nbytes))
    view = whole.view(first, data.draw(st.integers(0, nbytes - first)))
    cf.submit_fill(view, 255)
    expected = [255 if first <= k < first + view.nbytes else k for k in range(nbytes)]
    assert list(bytes_of(whole)) == expected and bytes_of(view) == bytes([255]) * view.nbytes
    with cf.claims(read=[view]):
        assert whole.claims == (1, False, False)
    whole.free("freed by hand")
    assert view.dead == whole.dead == "freed by hand"


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=2))
def test_buffers_overlap_iff_a_byte_is_common(parts: list[tuple[int, int]]) -> None:
    """overlaps is the intersection of the sets of bytes; buffers without a byte overlap nothing."""
    whole = cf.simulated("d").buffer(16)
    one, other = (whole.view(first, nbytes) for first, nbytes in parts)
    common = set.intersection(*({*range(first, first + nbytes)} for first, nbytes in parts))
    assert one.overlaps(other) == other.overlaps(one) == bool(common)


def test_two_memories_may_hold_the_same_bytes() -> None:
    """Memory given by from_buffer overlaps what it was given from, by host address; fresh memory overlaps nothing."""
    a = cf.host_array(cf.uint8, [4])
    b = cf.from_buffer(cf.uint8, a.export()[2:])
    assert b.buffer.overlaps(a.buffer) and not b.buffer.overlaps(a.buffer.view(0, 2))
    device = cf.simulated("d")
    assert not device.buffer(4).overlaps(device.buffer(4)) and not a.buffer.overlaps(device.buffer(4))
    refusal("arguments/wrong-type", lambda: a.buffer.overlaps(a), argument="other", expected="Buffer")


@pytest.mark.parametrize(("first", "nbytes"), [(-1, 1), (0, -1), (0, 5), (5, 0), (3, 2), (2**70, 0)])
def test_a_view_lies_inside_its_buffer(first: int, nbytes: int) -> None:
    """memory/view-range names the range and the length of the buffer it leaves."""
    buffer = cf.host().buffer(6).view(1, 4)
    refusal("memory/view-range", lambda: buffer.view(first, nbytes), first=first, nbytes=nbytes, length=4)


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.view(0, 0), lambda b: b.wait(cf.READ), lambda b: b.export(), lambda b: b.borrow(cf.host()),
        lambda b: b.free("again"), lambda b: cf.submit_fill(b, 0), lambda b: cf.submit_copy(b, cf.host().buffer(2)),
        lambda b: cf.submit_copy(cf.host().buffer(2), b), lambda b: cf.claims(read=[b]).__enter__(),
        lambda b: cf.Array(cf.uint8, cf.Layout.contiguous([2]), b),
    ],
)  # fmt: skip
def test_a_dead_buffer_is_reached_by_nothing(call: Callable[[cf.Buffer], object]) -> None:
    """memory/dead names the reason of death, whatever reaches for the buffer."""
    buffer = cf.host().buffer(2)
    buffer.free("given back")
    refusal("memory/dead", lambda: call(buffer), why="given back")


def test_free_is_refused_while_somebody_holds_the_memory() -> None:
    """A claim, an exclusive hold and a part of the memory refuse free; afterwards it is accepted once."""
    buffer = cf.host().buffer(4)
    with cf.claims(read=[buffer, buffer]):
        refusal("memory/claimed", lambda: buffer.free("x"), claims=2)
        refusal("memory/claimed", lambda: buffer.view(0, 1).free("x"))
    with cf.claims(donate=[buffer]):
        refusal("memory/exclusive", lambda: buffer.free("x"))
    refusal("memory/not-spanning", lambda: buffer.view(0, 3).free("x"))
    refusal("arguments/wrong-type", lambda: buffer.free(None))  # type: ignore[arg-type]
    assert buffer.dead is None
    buffer.free("x")
    assert buffer.dead == "x"


def test_live_bytes_are_those_somebody_can_reach() -> None:
    """Memory counts until its last buffer, view and pending work are gone, or until it is freed."""
    device = cf.simulated("d")
    host = device.buffer(8, cf.PINNED)
    part = host.view(0, 1)
    del host
    assert cf.inspection.live_bytes(device) == 8
    cf.submit(device, fill(1), [], [part])
    del part
    assert cf.inspection.live_bytes(device) == 8  # the pending work names it
    device.advance(1)
    assert cf.inspection.live_bytes(device) == 0
    freed = device.buffer(3)
    freed.free("x")
    assert cf.inspection.live_bytes(device) == 0


def test_a_view_keeps_its_bytes_live() -> None:
    """A11: a view kept too long sees its own bytes, which count as live until it dies."""
    device = cf.simulated("near", addressable=True)
    array = cf.empty(device, cf.uint8, [4])
    with array.writing() as view:
        view[0] = 7
    del array
    assert cf.inspection.live_bytes(device) == 4 and view[0] == 7
    del view
    assert cf.inspection.live_bytes(device) == 0


def test_a_budget_bounds_what_is_live() -> None:
    """memory/exhausted names the device, what was asked, what is live and the budget; nothing changes."""
    device = cf.simulated("d")
    device.budget = 10
    kept = device.buffer(6)
    refusal("memory/exhausted", lambda: device.buffer(5), device="d", nbytes=5, used=6, budget=10)
    assert isinstance(refusal("memory/exhausted", lambda: cf.empty(device, cf.int16, [3])), MemoryError)
    assert cf.inspection.live_bytes(device) == 6
    device.budget = 3
    assert kept.dead is None and device.buffer(0).nbytes == 0
    del kept
    assert device.buffer(3).nbytes == 3
    device.budget = None
    assert device.buffer(100).nbytes == 100
    refusal("memory/negative-budget", lambda: setattr(device, "budget", -1), budget=-1)
    refusal("arguments/not-integer", lambda: setattr(device, "budget", 1.5))


def test_memory_nobody_has_is_refused_as_exhausted() -> None:
    """An allocation the machine cannot give is memory/exhausted, not a crash."""
    refusal("memory/exhausted", lambda: cf.host().buffer(2**62), device="host", nbytes=2**62)
    refusal("memory/negative-size", lambda: cf.host().buffer(-1), nbytes=-1)


@pytest.mark.usefixtures("poisoned")
def test_fresh_and_freed_memory_is_poisoned() -> None:
    """The hook fills fresh memory, and freed memory as soon as no view and no pending work can see it."""
    device = cf.simulated("d")
    source = host_bytes(b"\x01\x02")
    assert bytes_of(cf.host().buffer(2)) == b"\xa5\xa5"
    target = device.buffer(2)
    cf.submit_copy(source, target)
    source.free("early")
    assert bytes_of(source) == b"\x01\x02"
    device.advance(1)
    assert bytes_of(target) == b"\x01\x02" and bytes_of(source) == b"\xa5\xa5"
    viewed = host_bytes(b"\x03\x04")
    view = viewed.export()
    viewed.free("early")
    assert bytes(view) == b"\x03\x04" and bytes_of(viewed) == b"\x03\x04"
    del view
    assert bytes_of(viewed) == b"\xa5\xa5"


def test_kinds_of_memory() -> None:
    """PINNED and MAPPED memory is addressed by the host on every device, DEVICE memory only on addressable ones."""
    for device, kinds in [(cf.simulated("d"), (cf.PINNED, cf.MAPPED)), (cf.simulated("near", True), cf.MemoryKind)]:
        for kind in cf.MemoryKind:
            array = cf.empty(device, cf.uint8, [1], kind)
            if kind in kinds:
                array.set([0], 3)
                assert array.get([0]) == 3
            else:
                refusal("memory/off-host", lambda array=array: array.get([0]), function="get", device="d")
    refusal("arguments/wrong-type", lambda: cf.host().buffer(1, "device"))  # type: ignore[arg-type]


def test_borrow_shares_where_the_device_maps_the_memory() -> None:
    """memory/borrow: both ways with an addressable device, itself on its own, None with a non-addressable one."""
    near, far = cf.simulated("near", True), cf.simulated("far")
    buffer = host_bytes(b"\x00\x00")
    borrowed = buffer.view(1, 1).borrow(near)
    assert borrowed is not None and borrowed.device is near and borrowed.overlaps(buffer)
    cf.submit(near, fill(9), [], [borrowed])
    assert bytes_of(buffer) == b"\x00\x00"
    buffer.wait(cf.READ)
    assert bytes_of(buffer) == b"\x00\x09"
    assert buffer.borrow(cf.host()) is buffer and borrowed.borrow(cf.host()) is not None
    assert near.buffer(1).borrow(cf.host()) is not None
    assert buffer.borrow(far) is None and far.buffer(1, cf.PINNED).borrow(cf.host()) is None
    assert buffer.borrow(cf.disk()) is None
    near.lose("gone")
    refusal("memory/lost", lambda: buffer.borrow(near), device="near", why="gone")
    refusal("memory/lost", lambda: borrowed.borrow(cf.host()), device="near")
    refusal("memory/lost", lambda: borrowed.wait(cf.READ), device="near")
    buffer.wait(cf.READ_WRITE)


def test_copies_and_fills_refuse_in_order() -> None:
    """Length before death before read-only before overlap; fills take a byte."""
    a, b = host_bytes(bytes(4)), host_bytes(bytes(3))
    read_only = cf.from_buffer(cf.uint8, bytes(4)).buffer
    refusal("memory/copy-length", lambda: cf.submit_copy(a, b), source=4, destination=3)
    refusal("memory/copy-overlap", lambda: cf.submit_copy(a.view(0, 2), a.view(1, 2)))
    refusal("memory/read-only", lambda: cf.submit_copy(a, read_only), function="submit_copy")
    refusal("memory/read-only", lambda: cf.submit_fill(read_only, 0), function="submit_fill")
    refusal("arguments/integer-range", lambda: cf.submit_fill(a, 256), argument="byte", low=0, high=255)
    refusal("arguments/not-integer", lambda: cf.submit_fill(a, True))
    cf.submit_copy(a.view(0, 2), a.view(2, 2))


def test_files_are_memory_of_the_disk(tmp_path: Path) -> None:
    """A15: open gives Read memory of the file's size, create a new zeroed file and never over another."""
    path = str(tmp_path / "new")
    created = cf.disk().create(path, 4)
    assert (created.access, created.device, Path(path).read_bytes()) == (cf.READ_WRITE, cf.disk(), bytes(4))
    cf.submit_copy(host_bytes(b"abcd"), created)
    assert Path(path).read_bytes() == b"abcd"
    opened = cf.disk().open(path)
    assert opened.access is cf.READ and opened.nbytes == 4 and not opened.overlaps(created)
    target = cf.host().buffer(2)
    cf.submit_copy(opened.view(1, 2), target)
    assert bytes_of(target) == b"bc"
    refusal("memory/read-only", lambda: cf.submit_fill(opened, 0))
    refusal("memory/file", lambda: cf.disk().create(path, 1), function="create", path=path, why="File exists")
    refusal("memory/file", lambda: cf.disk().open(path + "x"), why="No such file or directory")
    refusal("memory/file", lambda: cf.disk().open(str(tmp_path)), why="not a regular file")
    refusal("memory/file", lambda: cf.disk().open("a\0b"))
    assert Path(path).read_bytes() == b"abcd"


def test_the_disk_computes_nothing(tmp_path: Path) -> None:
    """The disk makes no memory and runs no work; a copy between it and a device is the device's."""
    disk = cf.disk()
    refusal("memory/makes-no-memory", lambda: disk.buffer(1), device="disk", nbytes=1)
    assert disk.buffer(0).nbytes == 0 and cf.disk() is disk and disk.name == "disk"
    file = disk.create(str(tmp_path / "file"), 2)
    refusal("memory/runs-no-work", lambda: cf.submit(disk, fill(1), [], [file]), device="disk")
    refusal("memory/cannot-be-lost", lambda: disk.lose("x"), device="disk")
    refusal("arrays/not-on-host", file.export, function="export", device="disk")
    array = cf.Array(cf.uint8, cf.Layout.contiguous([2]), file)
    refusal("memory/off-host", array.to_values, device="disk")
    far = cf.simulated("far")
    there = far.buffer(2)
    cf.submit_copy(file, there)
    cf.submit_copy(there, file)
    assert state(far) == (2, 0)
    cf.submit_fill(file, 7)
    assert state(far) == (2, 2) and bytes_of(file) == b"\x07\x07" and bytes_of(there) == b"\x00\x00"


def test_export_is_for_good() -> None:
    """A11: an exported memory is never exclusive again, and the view shows and makes changes."""
    buffer = host_bytes(b"\x01\x02")
    view = buffer.view(1, 1).export()
    view[0] = 9
    assert bytes_of(buffer) == b"\x01\x09" and buffer.claims == (0, False, True)
    with cf.claims(donate=[buffer]) as held:
        assert not held.exclusive(buffer)
    read_only = cf.from_buffer(cf.uint8, b"ab").buffer
    assert read_only.export().readonly
    refusal("arrays/not-on-host", cf.simulated("near", True).buffer(1).export, device="near")


def test_devices_outside_this_installation() -> None:
    """memory/backend-unavailable names the backend and why; the ordinal is an integer first."""
    refusal("memory/backend-unavailable", lambda: cf.cuda(0), backend="cuda")
    refusal("arguments/not-integer", lambda: cf.cuda("0"))  # type: ignore[arg-type]
    refusal("arguments/wrong-type", lambda: cf.simulated(3))  # type: ignore[arg-type]


def test_failed_work_changes_no_other_memory() -> None:
    """Work that raises loses its device alone: memory of others that needs nothing from it stays usable."""
    far = cf.simulated("far")
    used, other = far.buffer(1), host_bytes(b"\x05")
    cf.submit(far, boom, [used], [])
    refusal("memory/lost", lambda: far.advance(1), device="far", why="RuntimeError: boom")
    other.wait(cf.READ_WRITE)
    assert bytes_of(other) == b"\x05" and state(far) == (1, 0)
