"""What waits for what, as the calls of the driver show it."""

from __future__ import annotations

import pytest
from tests.cuda_arrays.drawing import bytes_to, filling
from tests.cuda_arrays.emulated import calls, configure, devices

import counterfoil as cf
from counterfoil.cuda.device import Cuda, opened

WAITS = ("cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize")


def waits() -> int:
    """Waits of the host for the driver so far."""
    return sum(calls(name) for name in WAITS)


def test_queuing_waits_for_nothing(device: Cuda) -> None:
    """Copies to the device, fills, submissions and copies on it: the host goes on."""
    host = cf.from_values(cf.int32, (16,), range(16))
    buffer = bytes_to(device, bytes(64))
    before = waits()
    there = host.to_device(device)
    cf.submit_copy(there.buffer, buffer)
    cf.submit_fill(buffer.view(0, 8), 1)
    cf.submit(device, filling(device, 2), [], [buffer])
    there.copy()
    assert waits() == before


def test_a_read_is_one_wait(device: Cuda) -> None:
    """For the event of the last write, and none once that is known to have happened."""
    pinned = bytes_to(device, bytes(64), cf.MemoryKind.PINNED)
    array = cf.Array(cf.uint8, cf.Layout.contiguous((64,)), pinned)
    for byte in range(5):
        cf.submit_fill(pinned, byte)
    before = waits()
    assert array.get((3,)) == 4 and waits() == before + 1
    assert array.get((4,)) == 4 and waits() == before + 1


def test_events_are_used_again(device: Cuda) -> None:
    """A thousand submissions that are waited for in turn need no event each."""
    buffer = bytes_to(device, bytes(4))
    made = calls("cuEventCreate")
    for _ in range(1000):
        cf.submit_fill(buffer, 1)
        buffer.wait(cf.Access.READ)
    assert calls("cuEventCreate") - made <= 2


@pytest.mark.skipif(devices() < 2, reason="needs two devices")
def test_one_device_follows_another_on_its_stream(device: Cuda) -> None:
    """The host waits for neither."""
    other = opened(1)
    first, second = bytes_to(device, bytes(64)), other.buffer(64)
    configure("mode=lazy")
    before, followed = waits(), calls("cuStreamWaitEvent")
    cf.submit_fill(first, 1)
    cf.submit_copy(first, second)
    cf.submit_fill(second, 2)
    assert waits() == before and calls("cuStreamWaitEvent") == followed + 1


def test_memory_is_made_once(device: Cuda) -> None:
    """A loop over memory of one size asks the driver for as much as is in use at a time."""
    device.pool.trim()
    made = calls("cuMemAlloc")
    for byte in range(200):
        buffer = device.buffer(10_000)
        cf.submit_fill(buffer, byte)
        buffer.wait(cf.Access.READ)
    assert calls("cuMemAlloc") - made <= 2
