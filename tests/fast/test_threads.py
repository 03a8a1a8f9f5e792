"""Threads: operands stay alive during a call, waits and large kernels leave the interpreter to others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import counterfoil as cf

K = cf.kernels
PATIENCE = 20.0


@pytest.fixture
def unforced() -> Iterator[None]:
    """Threads take turns only where one gives up the interpreter of its own accord."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    yield
    sys.setswitchinterval(interval)


def beside(call: Callable[[], object]) -> bool:
    """Whether another thread got to run Python code while ``call`` ran, in one of many calls (CPUs are shared)."""
    inside, ran = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(PATIENCE)
        ran.set()

    thread = threading.Thread(target=other)
    thread.start()
    inside.set()
    already = ran.is_set()
    for _ in range(100):
        call()
        if ran.is_set():
            break
    result = ran.is_set() and not already
    thread.join()
    return result


def test_a_large_kernel_leaves_the_interpreter_to_others(unforced: None) -> None:
    """Another thread runs Python code while a kernel of a million elements does; a tiny one keeps the interpreter."""
    large, small = cf.host_array(cf.float64, [1 << 20]), cf.host_array(cf.float64, [3])
    cf.fill(large, 1.0)
    cf.fill(small, 1.0)
    assert beside(lambda: K.sin(large, large))
    assert not beside(lambda: K.sin(small, small))


@pytest.mark.parametrize("device", [cf.simulated("near", addressable=True), cf.simulated("gpu")], ids=["near", "far"])
def test_a_wait_leaves_the_interpreter_and_the_other_devices_to_others(device: cf.Device) -> None:
    """While one thread waits for work that blocks, another uses arrays, queues and waits on another device."""
    started, released = threading.Event(), threading.Event()
    array = cf.empty(device, cf.uint8, [2], cf.MemoryKind.PINNED)

    def blocking(view: memoryview) -> None:
        started.set()
        assert released.wait(PATIENCE)
        view[:] = b"\x05\x06"

    cf.submit(device, blocking, [], [array.buffer])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(array.to_values)
        assert started.wait(PATIENCE)
        other = cf.simulated("other")
        elsewhere = other.buffer(1)
        cf.submit_fill(elsewhere, 9)
        elsewhere.wait(cf.Access.READ)
        assert (cf.from_values(cf.int32, [1], [1]) + 1).to_values() == [2]
        assert not waiting.done()
        released.set()
        assert waiting.result(PATIENCE) == [5, 6]


def test_two_threads_wait_for_the_same_work() -> None:
    """Work runs once, and every thread that waits for it returns after it."""
    device = cf.simulated("near", addressable=True)
    array = cf.empty(device, cf.uint8, [1])
    cf.submit_fill(array.buffer, 0)
    runs: list[int] = []

    def work(view: memoryview) -> None:
        runs.append(threading.get_ident())
        view[0] = view[0] + 1

    for _ in range(50):
        cf.submit(device, work, [], [array.buffer])
    with ThreadPoolExecutor(4) as pool:
        results = [future.result(PATIENCE) for future in [pool.submit(array.to_values) for _ in range(4)]]
    assert results == [[50]] * 4 and len(runs) == 50


def test_operands_stay_alive_during_a_call(unforced: None) -> None:
    """The only other reference to an operand goes while the kernel runs; its memory does not."""
    size = 1 << 20
    holder = [cf.fill(cf.host_array(cf.float32, [size]), 2.0)]
    result = cf.host_array(cf.float32, [size])
    cf.inspection.poison(0xFF)
    try:

        def drop() -> None:
            holder.clear()
            cf.host_array(cf.float32, [size])  # poisoned, and in the same place if the memory were free

        thread = threading.Thread(target=drop)
        thread.start()
        K.exp(result, holder.pop() if holder else cf.fill(cf.host_array(cf.float32, [size]), 2.0))
        thread.join()
    finally:
        cf.inspection.poison(None)
    assert len(set(result[::4096].to_values())) == 1 and abs(result.get([size - 1]) - 7.389056) < 1e-5


def test_neighbouring_nibbles_are_stored_by_two_threads() -> None:
    """Stores to the two elements of one byte from two threads are both kept, every time."""
    array = cf.from_values(cf.int4, [2], [0, 0])

    def store(place: int) -> None:
        for k in range(2000):
            array.set([place], k % 8)
            assert array.get([place]) == k % 8

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(store, place) for place in (0, 1)]:
            future.result(PATIENCE)


def test_one_of_two_donations_is_exclusive() -> None:
    """Threads that claim and donate one memory: never two exclusive holders, and no claim is left."""
    array = cf.host_array(cf.uint8, [4])
    holders: list[int] = []
    most: list[int] = [0]

    def donate() -> None:
        for _ in range(300):
            try:
                with cf.claims(donate=[array.buffer]) as held:
                    if held.exclusive(array.buffer):
                        holders.append(1)
                        most[0] = max(most[0], len(holders))
                        holders.pop()
            except cf.InvalidArgument as refusal:
                assert refusal.rule == "memory/exclusive"

    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(donate) for _ in range(3)]:
            future.result(PATIENCE)
    assert most[0] == 1 and array.buffer.claims == (0, False, False)


def test_an_interrupt_during_work_loses_the_device_and_propagates() -> None:
    """KeyboardInterrupt of work comes out of the wait itself, and the memory is lost from then on."""
    device = cf.simulated("near", addressable=True)
    array = cf.empty(device, cf.float32, [2])

    def interrupted(view: memoryview) -> None:
        raise KeyboardInterrupt

    cf.submit(device, interrupted, [], [array.buffer])
    with pytest.raises(KeyboardInterrupt):
        K.neg(cf.host_array(cf.float32, [2]), array)
    assert array.buffer.claims == (0, False, False)
    for use in (array.to_values, lambda: K.neg(cf.host_array(cf.float32, [2]), array), lambda: device.advance(1)):
        with pytest.raises(cf.Lost, match="KeyboardInterrupt"):
            use()


def test_work_that_waits_for_itself_loses_its_device() -> None:
    """Work that reads the array it is writing cannot be performed: no hang, and the reason says so."""
    device = cf.simulated("near", addressable=True)
    array = cf.empty(device, cf.uint8, [1])
    cf.submit(device, lambda view: array.to_values(), [], [array.buffer])
    with pytest.raises(cf.Lost, match="waits for itself"):
        array.to_values()


def test_a_long_chain_across_devices_is_performed() -> None:
    """Ten thousand submissions that follow each other across two devices need no deep recursion."""
    left, right = cf.simulated("left", addressable=True), cf.simulated("right", addressable=True)
    buffer = left.buffer(2)
    across = buffer.borrow(right)
    assert across is not None

    def increment(view: memoryview) -> None:
        view.cast("H")[0] += 1

    cf.submit_fill(buffer, 0)
    for _ in range(5000):
        cf.submit(left, increment, [], [buffer])
        cf.submit(right, increment, [], [across])
    assert cf.Array(cf.uint16, cf.Layout.contiguous([]), buffer).get([]) == 10_000
