"""The order of work of a CUDA device, in every mode of the driver, against what the order of the program gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cuda_arrays.drawing import bytes_to, filling, raw
from tests.cuda_arrays.emulated import MODES, configure

import counterfoil as cf
from counterfoil.cuda.device import Cuda, opened

SIZE = 32
MEMORIES = 5  # three of the device, one pinned, one of the host

steps = st.lists(
    st.tuples(
        st.sampled_from(["copy", "fill", "submit", "wait", "advance", "poll", "read", "store"]),
        st.integers(0, MEMORIES - 1),
        st.integers(0, MEMORIES - 1),
        st.integers(0, 255),
    ),
    max_size=25,
)


def memories(device: Any) -> list[Any]:
    kinds = [cf.MemoryKind.DEVICE] * 3 + [cf.MemoryKind.PINNED]
    made = [bytes_to(device, bytes(SIZE), kind) for kind in kinds]
    host = cf.host().buffer(SIZE)
    cf.inspection.poke(host, bytes(SIZE))
    return [*made, host]


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=60)
@given(history=steps)
def test_every_history_ends_as_if_done_one_by_one(mode: str, history: list[Any]) -> None:
    """Copies, fills and submissions leave the bytes that they leave when each is done at once."""
    configure(f"mode={mode}")
    device = opened(0)
    buffers = memories(device)
    model = [bytes(SIZE) for _ in buffers]
    for what, one, other, byte in history:
        perform(device, buffers, model, what, one, other, byte)
    assert [raw(buffer) for buffer in buffers] == model
    assert device.reached <= device.submitted
    device.advance(1 << 30)
    assert device.reached == device.submitted


def perform(device: Any, buffers: list[Any], model: list[bytes], what: str, one: int, other: int, byte: int) -> None:
    """One step, on the device and in the model."""
    target = buffers[one]
    if what == "copy" and one != other:
        cf.submit_copy(buffers[other], target)
        model[one] = model[other]
    elif what == "fill":
        cf.submit_fill(target, byte)
        model[one] = bytes([byte]) * SIZE
    elif what == "submit" and target.device is device:
        cf.submit(device, filling(device, byte), [], [target])
        model[one] = bytes([byte]) * SIZE
    elif what == "wait":
        target.wait(cf.Access.READ_WRITE)
    elif what == "advance":
        device.advance(byte % 3)
    elif what == "poll":
        assert device.reached <= device.submitted
    elif what == "read" and target.device is not device:
        assert raw(target) == model[one]
    elif what == "store" and target.device is not device:
        array = cf.Array(cf.uint8, cf.Layout.contiguous((SIZE,)), target)
        array.set((byte % SIZE,), 9)
        model[one] = model[one][: byte % SIZE] + b"\x09" + model[one][byte % SIZE + 1 :]


def test_nothing_is_waited_for_but_what_was_asked_for(device: Cuda) -> None:
    """Submissions are numbered at once; a wait reaches what it needs."""
    buffer = bytes_to(device, bytes(8))
    first = device.submitted
    numbers = [cf.submit(device, filling(device, byte), [], [buffer]) for byte in (1, 2, 3)]
    assert numbers == [first + 1, first + 2, first + 3]
    device.advance(1)
    assert device.reached >= first + 1
    assert raw(buffer) == b"\x03" * 8 and device.reached == first + 3


def test_work_that_follows_a_simulated_device_is_given_when_that_is_reached(device: Cuda) -> None:
    """It stays queued, in order, until something waits for it; then what it follows is performed first."""
    slow = cf.simulated("slow")
    source = slow.buffer(16)
    target, other = bytes_to(device, bytes(16)), bytes_to(device, bytes(4))
    cf.submit_fill(source, 5)
    back = cf.host().buffer(16)
    cf.submit_copy(source, back)
    given = device.timeline.given
    cf.submit_copy(back, target)
    cf.submit_fill(other, 1)
    assert device.timeline.given == given and slow.reached == 0
    assert raw(other) == b"\x01" * 4
    assert slow.reached == 2 and raw(target) == b"\x05" * 16


def test_a_later_call_gives_what_can_be_given(device: Cuda) -> None:
    """Once what it must follow is reached, the next submission of the device gives it to the driver."""
    slow = cf.simulated("slow")
    source, target = slow.buffer(4), bytes_to(device, bytes(4))
    cf.submit(slow, lambda view: view.__setitem__(slice(None), b"abcd"), [], [source])
    hand = cf.host().buffer(4)
    cf.submit_copy(source, hand)
    cf.submit_copy(hand, target)
    given = device.timeline.given
    slow.advance(2)
    assert device.timeline.given == given
    cf.submit_fill(device.buffer(1), 0)
    assert device.timeline.given == given + 2


def test_a_simulated_device_waits_for_the_device(device: Cuda) -> None:
    """Work of a simulated device that follows the device's waits for it when it is performed."""
    slow = cf.simulated("slow", addressable=True)
    pinned = bytes_to(device, bytes(4), cf.MemoryKind.PINNED)
    cf.submit_fill(pinned, 8)
    seen: list[bytes] = []
    lent = pinned.borrow(cf.host()).borrow(slow)
    cf.submit(slow, lambda view: seen.append(bytes(view)), [lent], [])
    slow.advance(1)
    assert seen == [b"\x08" * 4]


def test_what_the_host_finishes_is_reached_by_a_wait(device: Cuda) -> None:
    """A copy to strided host memory is not reached by asking, and whoever waits does the host's part once."""
    host = cf.from_values(cf.int32, (4, 4), [0] * 16)
    there = cf.from_values(cf.int32, (4, 4), range(16)).to_device(device)
    turned = host.move(cf.Permute((1, 0)))
    cf.transfer(there, turned)
    before = device.submitted
    assert device.reached < before
    assert turned.to_values() == list(range(16)) and device.reached >= before


def test_work_that_needs_what_the_host_finishes_waits_for_it(device: Cuda) -> None:
    """A copy back of what the host has still to scatter is given only after that."""
    host = cf.from_values(cf.int32, (4, 4), [0] * 16)
    turned = host.move(cf.Permute((1, 0)))
    cf.transfer(cf.from_values(cf.int32, (4, 4), range(16)).to_device(device), turned)
    again = host.to_device(device)
    back = again.to_device(cf.host())
    assert back.move(cf.Permute((1, 0))).to_values() == list(range(16))


def test_work_may_submit_and_read_what_was_given_before(device: Cuda) -> None:
    """Submitted work may itself submit, and may wait for what the driver has got already."""
    first, second = bytes_to(device, bytes(4)), bytes_to(device, bytes(4))
    cf.submit_fill(first, 3)
    seen: list[bytes] = []

    def work(view: Any) -> None:
        seen.append(raw(first))
        cf.submit_fill(second, 4)

    number = cf.submit(device, work, [second], [])
    assert raw(second) == b"\x04" * 4 and seen == [b"\x03" * 4] and device.submitted == number + 1
