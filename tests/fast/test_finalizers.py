"""What finalizers, exceptions' own code and other threads may do in the middle of everything else."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

import counterfoil as cf

READ_WRITE = cf.Access.READ_WRITE


class Cycle:
    """Garbage that only the collector finds; its finalizer does something with what it holds."""

    def __init__(self, act: Callable[[Any], object], held: object) -> None:
        self.act, self.held, self.me = act, held, self

    def __del__(self) -> None:
        self.act(self.held)


@pytest.mark.parametrize("order", range(4))
def test_finalizers_use_and_revive_what_dies_with_them(order: int) -> None:
    """Arrays, views, buffers and devices in the same garbage stay usable in finalizers, and afterwards if revived."""
    found: list[Any] = []

    def use(held: Any) -> None:
        array, view, device, pending = held
        array.set([1], 7.0)
        found.append((array.get([1]), view[0], array.buffer.claims, device.reached, held))
        pending.wait(READ_WRITE)

    array = cf.from_values(cf.float32, [50_000], [1.0] * 50_000)
    device = cf.simulated("dying", addressable=True)
    pending = device.buffer(8)
    cf.submit(device, lambda view: None, [], [pending])
    held = (array, array.buffer.export().cast("f"), device, pending)
    others = [Cycle(use, held) for _ in range(order)]
    Cycle(use, held)
    del array, device, pending, held, others
    gc.collect()
    assert [each[:4] for each in found[:1]] == [(7.0, 1.0, (0, False, True), 0)] and len(found) == order + 1
    revived = found[0][4]
    crowd = [cf.from_values(cf.float32, [50_000], [9.0] * 50_000) for _ in range(3)]
    assert revived[0].get([1]) == 7.0 and revived[2].reached == 1 and crowd


def finishes(work: Callable[[], object]) -> object:
    """What ``work`` answers on a thread of its own, which has 20 seconds; AssertionError if it hangs."""
    answers: list[object] = []
    thread = threading.Thread(target=lambda: answers.append(work()), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it hangs"
    return answers[0]


def test_work_that_dies_may_use_other_work() -> None:
    """The finalizer of performed or dropped work submits and waits: nothing is held while it runs."""
    other = cf.simulated("other")
    buffer = other.buffer(4)

    class Work:
        def __call__(self, view: memoryview) -> None: ...

        def __del__(self) -> None:
            cf.submit(other, lambda view: None, [], [buffer])
            buffer.wait(READ_WRITE)

    def perform_and_lose() -> int:
        device = cf.simulated("device")
        memory = device.buffer(4)
        cf.submit(device, Work(), [], [memory])
        device.advance(1)
        cf.submit(device, Work(), [], [memory])
        device.lose("dropped")
        return other.reached

    assert finishes(perform_and_lose) == 2


@pytest.mark.parametrize("threshold", [1, 2, 3, 5, 7])
def test_finalizers_that_come_in_between_do_not_hang(threshold: int) -> None:
    """A collection inside the order of work runs finalizers that use it: they are refused or served, never stuck."""
    device = cf.simulated("device")
    memory = device.buffer(4)

    def again(_: object) -> None:
        try:
            cf.submit(device, lambda view: None, [], [memory])
            device.advance(1)
        except RuntimeError:
            pass  # it came while the order of work was changing

    def collect_everywhere() -> bool:
        before = gc.get_threshold()
        gc.set_threshold(threshold, 1, 1)
        try:
            for _ in range(100):
                Cycle(again, None)
                cf.submit(device, lambda view: None, [], [memory])
                memory.wait(READ_WRITE)
        finally:
            gc.set_threshold(*before)
        device.advance(10_000)
        return device.reached == device.submitted >= 100

    assert finishes(collect_everywhere)


def test_work_of_two_threads_that_waits_for_each_other_is_told_so() -> None:
    """Two pieces of work, each waiting for the other's device: one of them is refused, and both threads go on."""
    one, two = cf.simulated("one"), cf.simulated("two")
    first, second = one.buffer(4), two.buffer(4)
    meet = threading.Barrier(2)

    def crossing(other: cf.Buffer) -> Callable[[memoryview], None]:
        def work(view: memoryview) -> None:
            meet.wait(10)
            other.wait(READ_WRITE)

        return work

    cf.submit(one, crossing(second), [], [first])
    cf.submit(two, crossing(first), [], [second])
    lost: list[str] = []

    def wait(buffer: cf.Buffer) -> None:
        with pytest.raises(cf.Lost) as caught:
            buffer.wait(READ_WRITE)
        lost.append(str(caught.value))

    threads = [threading.Thread(target=wait, args=(buffer,), daemon=True) for buffer in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(lost) == 2 and any("waits for itself" in text for text in lost)


def test_a_forked_process_goes_on() -> None:
    """A child forked while other threads run work neither hangs nor waits for threads it does not have."""
    device = cf.simulated("device")
    memory = device.buffer(4)
    running, over = threading.Event(), threading.Event()

    def long(view: memoryview) -> None:
        running.set()
        over.wait(20)

    cf.submit(device, long, [], [memory])
    thread = threading.Thread(target=memory.wait, args=(READ_WRITE,), daemon=True)
    thread.start()
    assert running.wait(10)
    child = os.fork()
    if not child:
        try:
            memory.wait(READ_WRITE)
        except cf.Lost:
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    over.set()
    thread.join(20)
    assert status == 0 and not thread.is_alive()


def test_blocks_are_left_as_often_as_they_are_entered() -> None:
    """Leaving reading, writing or claims that nobody entered is refused, and no claim goes below none."""
    array = cf.from_values(cf.float32, [2], [1.0, 2.0])
    blocks: list[Any] = [array.reading(), array.writing(), cf.claims([array.buffer]), cf.claims(donate=[array.buffer])]
    for block in blocks:
        for _ in range(2):
            with pytest.raises(RuntimeError):
                block.__exit__(None, None, None)
            block.__enter__()
            block.__exit__(None, None, None)
        assert array.buffer.claims == (0, False, False)


def test_claims_are_entered_by_one_thread_at_a_time() -> None:
    """Of many threads that enter one claims object at once, one holds it; the others are told so."""
    buffer = cf.host().buffer(8)
    claims = cf.claims(donate=[buffer])
    together, hold = threading.Barrier(8), threading.Event()
    answers: list[str] = []

    def enter() -> None:
        together.wait(10)
        try:
            with claims:
                answers.append("held")
                hold.wait(10)
        except RuntimeError:
            answers.append("refused")
            if len(answers) == 8:
                hold.set()

    threads = [threading.Thread(target=enter, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(answers) == ["held"] + ["refused"] * 7 and buffer.claims == (0, False, False)


def test_an_array_is_made_whole_or_not_at_all() -> None:
    """Calling __init__ again changes nothing, and no subclass gets hold of an array that was refused."""
    array = cf.from_values(cf.float32, [4], [1.0, 2.0, 3.0, 4.0])
    array.__init__(cf.float32, cf.Layout.contiguous([9]), cf.host().buffer(4))  # type: ignore[misc]
    assert array.to_values() == [1.0, 2.0, 3.0, 4.0] and array.shape == (4,)
    kept: list[object] = []

    class Keeps(cf.Array):
        def __init__(self, *parts: object) -> None:
            kept.append(self)

    with pytest.raises(cf.InvalidArgument):
        Keeps(cf.float32, cf.Layout.contiguous([4]), cf.host().buffer(4))
    assert not kept
