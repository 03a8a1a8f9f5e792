"""The loss of a CUDA device: by work that fails, by what the driver reports, by fork, by name."""

from __future__ import annotations

import pytest
from tests.cuda_arrays.emulated import told

ILLEGAL = 700
"""CUDA_ERROR_ILLEGAL_ADDRESS: the context is lost with it."""


@pytest.mark.parametrize(
    ("call", "mode"),
    [
        ("cuMemsetD8Async", "eager"),
        ("cuEventRecord", "lazy"),
        ("cuEventSynchronize", "lazy"),
        ("cuMemcpyHtoDAsync", "shuffled"),
    ],
)
def test_a_call_that_fails_loses_the_device_with_the_drivers_words(mode: str, call: str) -> None:
    """Every memory of it raises Lost from then on, page-locked memory too; other memory does not."""
    program = """
host = cf.from_values(cf.uint8, (64,), range(64))
pinned = cf.empty(d, cf.uint8, (64,), cf.MemoryKind.PINNED)
a = host.to_device(d)
first = lost(cf.submit_fill, a.buffer, 1) or lost(d.advance, 1 << 20)
later = (
    lambda: a.buffer.wait(cf.Access.READ), lambda: pinned.get((0,)), lambda: d.buffer(1),
    lambda: a.to_device(cf.host()), lambda: cf.submit(d, print, [], []), lambda: cf.submit_fill(pinned.buffer, 1),
)
tell(first, [lost(call) == first for call in later], host.get((3,)))
"""
    why, same, value = told(program, mode=mode, fail=f"{call}:1={ILLEGAL}")
    assert why.startswith("cuda:0: ") and call in why and "illegal memory access" in why
    assert same == [True] * 6 and value == 3


@pytest.mark.parametrize("mode", ["eager", "lazy", "shuffled"])
def test_work_that_stops_half_way_loses_the_device_when_the_driver_says_so(mode: str) -> None:
    """An error reported later, which the driver then answers everything with."""
    program = """
host = cf.from_values(cf.uint8, (64,), range(64))
a, b = host.to_device(d), cf.empty(d, cf.uint8, (64,))
cf.submit_copy(a.buffer, b.buffer)
back = cf.host().buffer(64)
first = lost(cf.submit_copy, b.buffer, back) or lost(back.wait, cf.Access.READ)
tell(first, lost(d.advance, 0), host.get((5,)), d.reached)
"""
    waited, again, value, reached = told(program, mode=mode, fail=f"cuMemcpyDtoDAsync:1@{ILLEGAL}")
    assert waited == again and "illegal memory access" in waited and value == 5 and reached < 3


def test_work_that_raises_loses_the_device() -> None:
    """Its words are the reason; what was reached before stays as it is on the host."""
    program = """
a = cf.from_values(cf.uint8, (4,), [1, 2, 3, 4]).to_device(d)
back = a.to_device(cf.host())
kept = back.to_values()
def work(view):
    raise ValueError("no")
number = cf.submit(d, work, [], [a.buffer])
tell(number, lost(a.buffer.wait, cf.Access.READ), kept, back.to_values())
"""
    number, why, kept, back = told(program)
    assert number == 3 and why == "cuda:0: ValueError: no" and kept == back == [1, 2, 3, 4]


@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_a_device_lost_by_name_lets_its_work_run_out(mode: str) -> None:
    """The driver is done with memory before that is given back; host memory whose work was not reached is lost too."""
    program = """
import gc
a = d.buffer(1 << 20)
back = cf.host().buffer(1 << 20)
cf.submit_fill(a, 1)
cf.submit_copy(a, back)
d.lose("pulled")
d.lose("again")
del a
gc.collect()
free, total = d.free_and_total()
tell(lost(back.wait, cf.Access.READ), lost(d.buffer, 1), d.submitted, d.reached < 2)
"""
    assert told(program, mode=mode) == ["cuda:0: pulled", "cuda:0: pulled", 2, True]


def test_work_of_others_that_follows_a_lost_point_is_lost() -> None:
    """A device whose work must follow what was dropped is lost when that work is to be reached; the rest is not."""
    program = """
e = cf.cuda(1)
slow = cf.simulated("slow")
a, b, c = d.buffer(8), e.buffer(8), e.buffer(8)
hand = cf.host().buffer(8)
cf.submit_copy(slow.buffer(8), hand)
cf.submit_copy(hand, a)
cf.submit_copy(a, b)
cf.submit_fill(c, 1)
c.wait(cf.Access.READ)
cf.submit_fill(b, 2)
d.lose("gone")
tell(lost(b.wait, cf.Access.READ), lost(c.wait, cf.Access.READ), lost(slow.advance, 1))
"""
    first, second, third = told(program)
    assert first == second == "cuda:1: cuda:0 lost" and third is None


def test_a_simulated_device_lost_takes_what_follows_it() -> None:
    """The device's queue stands behind work that will never be done."""
    program = """
slow = cf.simulated("slow")
hand, a, b = cf.host().buffer(8), d.buffer(8), d.buffer(8)
cf.submit_copy(slow.buffer(8), hand)
cf.submit_copy(hand, a)
cf.submit_fill(b, 1)
slow.lose("gone")
tell(lost(b.wait, cf.Access.READ))
"""
    assert told(program) == ["cuda:0: slow lost"]


def test_a_forked_child_has_lost_the_device() -> None:
    """It says why; the parent's device goes on, and its pending work is done once."""
    program = """
import os
a = cf.from_values(cf.uint8, (4,), [1, 2, 3, 4]).to_device(d)
pinned = cf.empty(d, cf.uint8, (4,), cf.MemoryKind.PINNED)
cf.submit_fill(a.buffer, 7)
read, write = os.pipe()
child = os.fork()
if child == 0:
    words = [lost(d.buffer, 1), lost(a.buffer.wait, cf.Access.READ), lost(pinned.get, (0,)), cf.cuda(0) is d]
    os.write(write, json.dumps(words).encode())
    os._exit(0)
os.waitpid(child, 0)
tell(json.loads(os.read(read, 4096)), a.to_device(cf.host()).to_values())
"""
    words, values = told(program, mode="lazy")
    assert words == ["cuda:0: the process was forked"] * 3 + [True] and values == [7] * 4


def test_a_forked_child_ends_quietly() -> None:
    """Leaving the child as a program does, with devices, memory and events of the parent's around."""
    program = """
import os, sys
a = cf.from_values(cf.uint8, (4,), [1, 2, 3, 4]).to_device(d)
child = os.fork()
if child == 0:
    del a
    sys.exit(0)
tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), a.to_device(cf.host()).to_values())
"""
    assert told(program) == [0, [1, 2, 3, 4]]


def test_an_interrupt_in_work_loses_the_device_and_goes_on() -> None:
    """KeyboardInterrupt is nobody's to swallow."""
    program = """
a = d.buffer(4)
def work(view):
    raise KeyboardInterrupt
try:
    cf.submit(d, work, [], [a])
except KeyboardInterrupt:
    tell(lost(d.buffer, 1))
"""
    assert told(program) == ["cuda:0: KeyboardInterrupt: "]


_ENDED = """
import ctypes
from pycuda import driver as pycuda
x = cf.from_values(cf.float32, (6, 5), list(map(float, range(30)))).to_device(d)
host = cf.from_values(cf.float32, (6, 5), list(map(float, range(30))))
d.advance(100)
with d.current():
    stream, memory = pycuda.Stream(1), pycuda.mem_alloc(64)
    configure("fail=cuMemcpyDtoDAsync:1@700")
    pycuda.memcpy_dtod_async(int(memory), int(memory) + 32, 32, stream)
for made in (stream, memory):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
class Produced:
    __cuda_array_interface__ = x.__cuda_array_interface__ | {"stream": 2}
"""


@pytest.mark.parametrize(
    "call",
    [
        "d.scratch(77777)",
        "d.free_and_total()",
        "x.move(cf.Permute((1, 0))).copy()",
        "x + x",
        "cf.asarray(Produced())",
        "cf.Context.cuda(0).free_and_total_memory()",
    ],
)
def test_whatever_finds_a_device_ended_by_others_says_so(call: str) -> None:
    """Work of another library in the same context fails while nothing is pending here: memory/lost in its words."""
    words = told(f"{_ENDED}tell(lost(lambda: {call}))")[0]
    assert words.startswith("cuda:0: ") and "illegal memory access" in words, words


def test_a_failure_that_is_no_end_is_told_as_it_is() -> None:
    """DriverFailed, and the device goes on."""
    program = """
from counterfoil.cuda import DriverFailed
configure("fail=cuMemGetInfo:1=801")
try:
    d.free_and_total()
except DriverFailed as failure:
    tell("cuMemGetInfo" in str(failure), d.free_and_total()[1] > 0)
"""
    assert told(program) == [True, True]


def test_a_forked_child_of_a_lost_device_leaves_quietly() -> None:
    """A device that was lost before the fork is the parent's too: the child asks the driver for nothing."""
    program = """
import os
x = cf.from_values(cf.float32, (3,), [1.0, 2.0, 3.0]).to_device(d)
y = x + x
d.lose("given up")
child = os.fork()
if not child:
    del x, y
    raise SystemExit(0)
tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert told(program) == [0]
