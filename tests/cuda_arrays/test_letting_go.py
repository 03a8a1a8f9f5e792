"""What the driver made is given back from any thread, also while kernels are captured, and at the end of a program."""

from __future__ import annotations

import gc
import mmap
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cuda_arrays.emulated import EMULATED, devices, live_allocations, live_objects, told
from tests.cuda_arrays.test_threads import together

import counterfoil as cf
from counterfoil.cuda import cubins, driver, sources
from counterfoil.cuda import pool as pools
from counterfoil.cuda.device import Cuda, pointer

_KERNEL = 'extern "C" __global__ void store(int *p) { *p = %d; }'


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def elsewhere(call: Callable[[], object]) -> None:
    """Call on a thread of its own."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


def test_code_is_unloaded_by_whichever_thread_drops_it(device: Cuda) -> None:
    """A module goes with its last kernel, though another thread opened the device."""
    kept: list[Any] = []
    count = live_objects if EMULATED else lambda: cubins.loaded(device)
    before = count()
    kept += cubins.functions(device, sources.generated(_KERNEL % 7), ["store"])
    assert count() == before + 1

    def drop() -> None:
        kept.clear()
        gc.collect()

    elsewhere(drop)
    assert count() == before


@pytest.mark.usefixtures("switching")
def test_code_that_goes_is_nobodys_new_code(device: Cuda) -> None:
    """Threads get a kernel and drop it, of one text: who gets it while another unloads it loads it anew."""
    text = sources.generated(_KERNEL % 9)
    cubins.functions(device, text, ["store"])

    def work(number: int) -> None:
        for _ in range(200):
            (store,) = cubins.functions(device, text, ["store"])
            assert store.name == "store"

    together(work)


@pytest.mark.usefixtures("switching")
def test_pages_that_are_being_unlocked_are_locked_anew(device: Cuda) -> None:
    """Threads borrow one memory and drop it: each borrow is there, and of locked pages."""
    host = cf.from_buffer(cf.uint8, mmap.mmap(-1, mmap.PAGESIZE)).buffer

    def work(number: int) -> None:
        for _ in range(1000):
            lent = host.borrow(device)
            assert lent is not None
            with device.current():
                assert driver.address_kind(pointer(lent)) is not None
            del lent

    together(work)


@pytest.mark.skipif(devices() < 2 and not EMULATED, reason="a device that nobody else opens: needs two")
def test_a_device_of_a_thread_that_ended_is_left_quietly() -> None:
    """A program whose device, memory, work and registered pages a thread opened ends without a word."""
    program = """
import mmap, threading
from counterfoil.cuda import device
for opened in [*device._devices.values()]:
    opened.close()
device._devices.clear()
del d, opened
kept = []
def work():
    one = cf.cuda(1)
    x = cf.from_values(cf.float32, (3,), [1.0, 2.0, 3.0]).to_device(one)
    kept.append((x, x + x, cf.from_buffer(cf.uint8, mmap.mmap(-1, mmap.PAGESIZE)).buffer.borrow(one)))
thread = threading.Thread(target=work)
thread.start()
thread.join()
x, twice, pages = kept[0]
tell(twice.to_device(cf.host()).to_values(), pages.nbytes == mmap.PAGESIZE, (x * x).to_device(cf.host()).to_values())
"""
    assert told(program) == [[2.0, 4.0, 6.0], True, [1.0, 4.0, 9.0]]


def test_a_lost_device_is_let_go_of_quietly() -> None:
    """A driver that answers nothing any more is not asked to take back what it made."""
    program = """
a, b = d.buffer(1000), d.buffer(4000)
del a
x = cf.from_values(cf.int32, (3,), [1, 2, 3]).to_device(d)
configure("fail=cuLaunchKernel:1@700")
y = x + x
words = lost(y.buffer.wait, cf.Access.READ)
d.lose("named")
del x, y, b
tell("cuda:0" in words)
"""
    assert told(program) == [True]


def test_garbage_that_goes_while_kernels_are_captured_spoils_nothing(device: Cuda) -> None:
    """Finalizers come in anywhere, and give memory, pages and code back: a capture goes on."""
    (store,) = cubins.functions(device, sources.generated(_KERNEL % 8), ["store"])
    target = device.buffer(4)

    def enqueue(stream: Any) -> None:
        made, _ = driver.allocate(4096)
        driver.launch_on(store.handle, (1, 1, 1), (1, 1, 1), pointer(target).to_bytes(8, "little"), 0, stream)
        driver.free(made)

    with device.current():
        graph = driver.captured(enqueue)
        driver.launch_graph(graph, device.handle)
        driver.synchronize(device.timeline.raw)
        driver.destroy_graph(graph)
    assert bytes(cf.inspection.memory_bytes(target)) == (8).to_bytes(4, "little")


def test_a_capture_that_fails_leaves_nothing(device: Cuda) -> None:
    """What was captured before the failure goes too."""
    (store,) = cubins.functions(device, sources.generated(_KERNEL % 9), ["store"])

    def enqueue(stream: Any) -> None:
        driver.launch_on(store.handle, (1, 1, 1), (1, 1, 1), bytes(8), 0, stream)
        raise KeyError("enough")

    before = live_objects() if EMULATED else 0
    with device.current(), pytest.raises(KeyError):
        driver.captured(enqueue)
    assert not EMULATED or live_objects() == before


def test_a_finalizer_may_allocate_while_memory_is_allocated(device: Cuda) -> None:
    """Garbage is collected anywhere, with the pool's guard held too; what its finalizers allocate does not hang."""
    made: list[Any] = []

    class Collecting(dict[pools.Key, list[pools.Chunk]]):
        def setdefault(self, key: pools.Key, default: Any = None) -> list[pools.Chunk]:
            if len(made) < 3:
                made.append(device.buffer(5000))
                device.pool.trim()
            return super().setdefault(key, default)

    def use() -> None:
        for _ in range(8):
            device.buffer(3000)

    device.pool._free = Collecting(device.pool._free)
    try:
        elsewhere(use)
    finally:
        device.pool._free = dict(device.pool._free)
    assert len(made) == 3
    device.pool.trim()
    assert not device.pool._locked


def test_memory_objects_and_code_stay_level(device: Cuda) -> None:
    """Hundreds of steps that allocate, compute, move and let go leave no more than the first ones did."""
    levels = []
    x = cf.from_values(cf.float32, (8, 8), [float(i) for i in range(64)]).to_device(device)
    for step in range(300):
        y = (x + x).move(cf.Permute((1, 0))).copy()
        assert y.to_device(cf.host()).to_values()[:2] == [0.0, 16.0]
        if EMULATED and step % 100 == 99:
            levels.append((live_objects(), live_allocations(), cubins.loaded(device)))
    assert len(set(levels)) <= 1, levels


def test_a_program_ends_quietly_with_everything_alive() -> None:
    """Arrays, views, exports, borrowed pages, contexts with routines and captured kernels, and pending work."""
    program = """
import mmap
from tests.contexts_cuda.test_running import several
x = cf.from_values(cf.float32, (3,), [1.0, 2.0, 3.0]).to_device(d)
kept = [x.__dlpack__(), x.__cuda_array_interface__, cf.from_dlpack(x), d.buffer(100, cf.MemoryKind.PINNED)]
pages = cf.from_buffer(cf.uint8, mmap.mmap(-1, mmap.PAGESIZE)).buffer.borrow(d)
comp, node, _ = several()
context, routine = cf.Context.cuda().set_values(node, [1.0] * 200).compile(comp)
for _ in range(3):
    context = context.run(routine)
cycle = [x, pages, context, routine]
cycle.append(cycle)
configure("mode=lazy")
y = x + x
context = context.run(routine)
tell(context.debug_info()["live_graphs"] > 0)
"""
    assert told(program) == [True]
