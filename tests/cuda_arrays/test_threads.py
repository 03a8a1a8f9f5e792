"""Threads that share a CUDA device: each sees its own work in order, and memory is never in two hands."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

from tests.cuda_arrays.drawing import bytes_to, filling, raw

import counterfoil as cf
from counterfoil.cuda.device import Cuda

THREADS = 6


def together(work: Callable[[int], None]) -> None:
    """Call with each thread's number, at once; what one raises is raised."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


def test_threads_work_side_by_side(device: Cuda) -> None:
    """Fills, copies and reads of memory of each thread's own, made and let go of all the time."""

    def work(number: int) -> None:
        dice = random.Random(number)
        for _ in range(60):
            size = dice.choice([16, 700, 5000])
            first, second = device.buffer(size), device.buffer(size, cf.MemoryKind.PINNED)
            byte = dice.randrange(256)
            cf.submit_fill(first, byte)
            cf.submit_copy(first, second)
            if dice.random() < 0.3:
                cf.submit(device, filling(device, byte), [first], [second])
            assert raw(second) == bytes([byte]) * size

    together(work)
    gc.collect()
    device.advance(1 << 20)
    assert device.reached == device.submitted


def test_threads_order_work_on_one_memory(device: Cuda) -> None:
    """Every submission is given once, in the order of the numbers."""
    buffer = bytes_to(device, bytes(16))
    given: list[int] = []
    numbers: dict[int, int] = {}
    guard = threading.Lock()

    def work(number: int) -> None:
        for _ in range(40):
            token = object()
            with guard:
                kept = cf.submit(device, lambda view, token=token: given.append(id(token)), [], [buffer])
                numbers[id(token)] = kept
                tokens.append(token)
            if kept % 7 == 0:
                buffer.wait(cf.Access.READ)

    tokens: list[object] = []
    together(work)
    device.advance(1 << 20)
    assert [numbers[token] for token in given] == sorted(numbers.values())


def test_threads_wait_for_what_the_host_finishes(device: Cuda) -> None:
    """The host's part is done once, whoever waits for it."""
    source = cf.from_values(cf.int32, (8, 8), range(64)).to_device(device)
    target = cf.host_array(cf.int32, (8, 8)).move(cf.Permute((1, 0)))

    def work(number: int) -> None:
        for _ in range(20):
            cf.transfer(source, target)
            assert target.to_values() == list(range(64))

    together(work)


def test_a_device_may_be_used_while_its_work_is_being_given(device: Cuda) -> None:
    """What the driver has got can be waited for while another thread is still enqueueing."""
    first, second = bytes_to(device, bytes(4)), bytes_to(device, bytes(4))
    cf.submit_fill(first, 5)
    entered, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def slow(view: Any) -> None:
        entered.set()
        leave.wait(30)

    thread = threading.Thread(target=cf.submit, args=(device, slow, [], [second]))
    thread.start()
    assert entered.wait(30)
    seen.append(raw(first))
    number = cf.submit(device, filling(device, 6), [], [second])
    leave.set()
    thread.join(30)
    assert seen == [b"\x05" * 4] and raw(second) == b"\x06" * 4 and device.reached >= number
