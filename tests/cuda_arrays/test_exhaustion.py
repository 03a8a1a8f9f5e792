"""Memory that the driver has no room for: what is given back first, and what is refused."""

from __future__ import annotations

import pytest
from tests.cuda_arrays.emulated import told


def test_cached_memory_is_given_back() -> None:
    """Many small chunks that nobody uses make room for a large one."""
    program = """
held = [d.buffer(1 << 20) for _ in range(50)]
del held
large = d.buffer(60 << 20)
tell(large.nbytes, d.pool.cached_bytes())
"""
    assert told(program, mode="lazy", memory="64M") == [60 << 20, 0]


def test_garbage_is_collected() -> None:
    """Memory in a cycle that nobody reaches."""
    program = """
import gc
gc.disable()
class Cycle: pass
cycle = Cycle()
cycle.self, cycle.buffer = cycle, d.buffer(40 << 20)
del cycle
tell(d.buffer(40 << 20).nbytes)
"""
    assert told(program, mode="lazy", memory="64M") == [40 << 20]


def test_pending_work_that_holds_memory_is_waited_for() -> None:
    """Memory let go of while the driver still works on it is there after that."""
    program = """
held = d.buffer(40 << 20)
cf.submit_fill(held, 1)
del held
fresh = d.buffer(40 << 20)
tell(fresh.nbytes, d.reached)
"""
    assert told(program, mode="lazy", memory="64M") == [40 << 20, 1]


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    """memory/exhausted names what is live, no budget where none is set; smaller memory is made all the same."""
    program = """
held = d.buffer(30 << 20)
try:
    d.buffer(40 << 20)
except cf.DeviceMemoryExhausted as refusal:
    subjects = refusal.subjects
tell(subjects, cf.inspection.live_bytes(d), d.buffer(20 << 20).nbytes)
"""
    subjects, live, nbytes = told(program, memory="64M")
    assert subjects == {"device": "cuda:0", "nbytes": 40 << 20, "used": 30 << 20, "budget": None}
    assert live == 30 << 20 and nbytes == 20 << 20


@pytest.mark.parametrize("kind", ["DEVICE", "PINNED"])
def test_a_driver_without_room_is_asked_again_once(kind: str) -> None:
    """Room that comes back with what was given back is found; none is refused, and the device lives on."""
    entry = "cuMemAlloc" if kind == "DEVICE" else "cuMemHostAlloc"
    program = f"""
kind = cf.MemoryKind.{kind}
held = d.buffer(5000, kind)
configure("fail={entry}:1+=2")
try:
    d.buffer(90000, kind)
except cf.DeviceMemoryExhausted as refusal:
    used = refusal.subjects["used"]
configure("fail=")
tell(used, d.buffer(90000, kind).nbytes, lost(held.wait, cf.Access.READ))
"""
    assert told(program) == [5000, 90000, None]


def test_a_copy_without_room_for_its_scratch_is_refused() -> None:
    """Nothing is queued then, and nothing is lost."""
    program = """
a = cf.from_values(cf.uint8, (4, 4), range(16)).to_device(d).move(cf.Permute((1, 0)))
target = cf.host_array(cf.uint8, (4, 4))
before = d.submitted
configure("fail=cuMemAlloc:1+=2,fail=cuMemHostAlloc:1+=2")
try:
    cf.transfer(a, target)
except cf.DeviceMemoryExhausted:
    pass
configure("fail=")
tell(d.submitted - before, lost(a.buffer.wait, cf.Access.READ))
"""
    assert told(program) == [0, None]


@pytest.mark.parametrize("kind", ["DEVICE", "PINNED", "MAPPED"])
def test_an_impossible_size_is_refused(kind: str) -> None:
    """More bytes than there are addresses, or than any object counts; and the largest arrays that a shape can have."""
    program = f"""
kind = cf.MemoryKind.{kind}
refused = []
calls = [lambda nbytes=nbytes: d.buffer(nbytes, kind) for nbytes in (1 << 55, (1 << 63) - 1, 1 << 63, 1 << 70)]
calls += [lambda dtype=dtype: cf.empty(d, dtype, (1 << 52, 2), kind) for dtype in (cf.bit, cf.uint8, cf.complex128)]
for call in calls:
    try:
        call()
    except cf.DeviceMemoryExhausted as refusal:
        refused.append(refusal.subjects["nbytes"])
tell(refused, d.buffer(8, kind).nbytes)
"""
    sizes = [1 << 55, (1 << 63) - 1, 1 << 63, 1 << 70, 1 << 50, 1 << 53, 1 << 57]
    assert told(program) == [sizes, 8]


@pytest.mark.parametrize("kind", ["DEVICE", "PINNED", "MAPPED"])
@pytest.mark.parametrize(("code", "ends"), [(1, False), (304, False), (801, False), (700, True)])
def test_an_allocation_that_fails_ends_a_device_only_where_the_driver_says_so(kind: str, code: int, ends: bool) -> None:
    """An error that does not stick is told in the driver's words: what was made before stays, and the next is made."""
    entry = "cuMemAlloc" if kind == "DEVICE" else "cuMemHostAlloc"
    program = f"""
from counterfoil.cuda import DriverFailed
kind = cf.MemoryKind.{kind}
held = cf.from_values(cf.uint8, (4,), [1, 2, 3, 4]).to_device(d)
configure("fail={entry}:1+={code}")
try:
    d.buffer(90000, kind)
except DriverFailed as failure:
    said = "driver"
except cf.Lost as refusal:
    said = "lost"
configure("fail=")
live = cf.inspection.live_bytes(d)
tell(said, live, lost(lambda: held.to_device(cf.host()).to_values()) is not None, lost(d.buffer, 90000) is not None)
"""
    assert told(program) == ["lost" if ends else "driver", 4, ends, ends]


def test_pages_that_cannot_be_mapped_are_unlocked_again() -> None:
    """A driver that locks pages and then has no address for them: there is no borrow, and nothing is left of it."""
    program = """
import mmap
from tests.cuda_arrays.emulated import live_allocations
host = cf.from_buffer(cf.uint8, mmap.mmap(-1, mmap.PAGESIZE)).buffer
before = live_allocations()
configure("fail=cuMemHostGetDevicePointer:1=1")
tell(host.borrow(d) is None, live_allocations() - before, host.borrow(d) is None)
"""
    assert told(program) == [True, 0, False]


def test_pages_that_cannot_be_locked_for_reading_alone_are_locked_all_the_same() -> None:
    """Not every driver knows pages that devices only read: Read memory is borrowed, and stays Read."""
    program = """
import numpy, mmap
pages = numpy.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), numpy.uint8)
pages.flags.writeable = False
host = cf.from_buffer(cf.uint8, pages).buffer
configure("fail=cuMemHostRegister:1=801")
tell(host.borrow(d).access.name)
"""
    assert told(program) == ["READ"]


def test_code_makes_room_as_memory_does() -> None:
    """Where a driver has no room for a kernel, what nobody uses is given back first; then memory/exhausted."""
    program = """
x = cf.from_values(cf.float32, (3,), [1.0, 2.0, 3.0]).to_device(d)
del x
x = cf.from_values(cf.float32, (3,), [1.0, 2.0, 3.0]).to_device(d)
x.buffer.wait(cf.Access.READ_WRITE)
spare = d.buffer(1 << 20)
del spare
configure("fail=cuModuleLoadDataEx:1=2")
y = x + x
room = d.pool.cached_bytes()
configure("fail=cuModuleLoadDataEx:1+=2")
try:
    x * x
except cf.DeviceMemoryExhausted as refusal:
    configure("fail=")
    tell(y.to_device(cf.host()).to_values(), room < 1 << 20, (x * x).to_device(cf.host()).to_values())
"""
    assert told(program) == [[2.0, 4.0, 6.0], True, [1.0, 4.0, 9.0]]
