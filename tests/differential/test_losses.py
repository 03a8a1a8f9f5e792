"""Losses and missing bytes that random programs do not meet: exceptions with a will, interrupts, files cut short."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import counterfoil
import counterfoil_reference

both = pytest.mark.parametrize("half", [counterfoil_reference, counterfoil], ids=["reference", "fast"])


@both
@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_work_that_is_interrupted_loses_its_device(half: Any, raised: type[BaseException]) -> None:
    """A9: an exception of any kind loses the device; one that is no Exception reaches whoever waited, once."""
    device = half.simulated("device")
    memory = device.buffer(4)

    def work(view: memoryview) -> None:
        raise raised

    half.submit(device, work, [], [memory])
    with pytest.raises(raised):
        memory.wait(half.Access.READ)
    with pytest.raises(half.Lost):
        memory.wait(half.Access.READ)
    assert (device.submitted, device.reached) == (1, 0)


@both
def test_a_loss_needs_no_words_of_the_exception(half: Any) -> None:
    """A9: an exception that cannot be shown, or whose text waits for other work, still loses its device alone."""
    other = half.simulated("other")
    awaited = other.buffer(4)
    half.submit(other, lambda view: None, [], [awaited])

    class Mute(Exception):
        def __str__(self) -> str:
            awaited.wait(half.Access.READ_WRITE)
            raise ZeroDivisionError

    def work(view: memoryview) -> None:
        raise Mute

    device = half.simulated("device")
    memory = device.buffer(4)
    half.submit(device, work, [], [memory])
    with pytest.raises(half.Lost) as caught:
        memory.wait(half.Access.READ)
    assert caught.value.subjects == {"device": "device", "why": "Mute: <no text>"} and other.reached == 1


@both
def test_the_first_loss_named_is_of_the_oldest_pending_use(half: Any) -> None:
    """A13: of several lost devices that an access must follow, the one with the oldest use not performed is named."""
    first, second = half.simulated("first", addressable=True), half.simulated("second", addressable=True)
    memory = half.host().buffer(8)
    there, too = memory.borrow(first), memory.borrow(second)
    half.submit(first, lambda view: None, [there], [])
    first.advance(1)
    half.submit(second, lambda view: None, [too], [])
    half.submit(first, lambda view: None, [there], [])
    first.lose("a")
    second.lose("b")
    with pytest.raises(half.Lost) as caught:
        memory.wait(half.Access.READ_WRITE)
    assert caught.value.subjects == {"device": "second", "why": "b"}


@both
def test_a_file_cut_short_is_refused(half: Any, tmp_path: Path) -> None:
    """A15: bytes a file has no more are neither read as zeros nor written back; pending copies lose their device."""
    path = str(tmp_path / "file")
    memory, device = half.disk().create(path, 8192), half.simulated("device")
    target = device.buffer(8192)
    half.submit_copy(memory, target)
    os.truncate(path, 10)
    for call in (
        lambda: half.submit_copy(memory, half.host().buffer(8192)),
        lambda: half.submit_fill(memory, 1),
        lambda: half.Array(half.uint8, half.Layout.contiguous([8192]), memory).to_device(half.host()),
    ):
        with pytest.raises(half.InvalidArgument) as caught:
            call()
        assert caught.value.rule == "memory/file" and caught.value.subjects["why"] == "the file was cut short"
    with pytest.raises(half.Lost):
        target.wait(half.Access.READ)
    assert os.path.getsize(path) == 10
