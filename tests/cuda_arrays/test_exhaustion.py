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


def test_an_impossible_size_is_refused() -> None:
    """More bytes than there are addresses."""
    program = """
refused = []
for nbytes in (1 << 62, 1 << 63, 1 << 70):
    try:
        d.buffer(nbytes)
    except cf.DeviceMemoryExhausted:
        refused.append(nbytes)
tell(len(refused))
"""
    assert told(program) == [3]
