"""Work of users on a CUDA device: what it gets, and when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cuda_arrays.drawing import bytes_to, filling, raw

import counterfoil as cf
from counterfoil.cuda.device import Cuda, pointer


def test_work_gets_addresses_of_the_device(device: Cuda) -> None:
    """One DeviceBytes for each buffer, reads first: address, length, whether it may be written, the stream."""
    read, written = bytes_to(device, b"abcdef"), device.buffer(100)
    seen: list[Any] = []
    cf.submit(device, lambda *views: seen.extend(views), [read.view(2, 3)], [written])
    first, second = seen
    assert (first.pointer, first.nbytes, len(first), first.readonly) == (pointer(read) + 2, 3, 3, True)
    assert (second.pointer, len(second), second.readonly) == (pointer(written), 100, False)
    assert first.stream == device.handle
    said = first.__cuda_array_interface__
    assert said["data"] == (first.pointer, True) and said["stream"] == device.handle and said["version"] == 3
    assert (said["shape"], said["typestr"], said["strides"]) == ((3,), "|u1", None)


def test_work_is_called_once_with_the_device_current(device: Cuda) -> None:
    """When it is given to the driver, whoever waits; what it enqueues is the work."""
    import pycuda.driver

    buffer = bytes_to(device, bytes(4))
    seen: list[Any] = []

    def work(view: Any) -> None:
        seen.append(pycuda.driver.Context.get_current().handle)
        filling(device, 6)(view)

    cf.submit(device, work, [], [buffer])
    assert raw(buffer) == b"\x06" * 4 and seen == [device.primary.context.handle]


def test_no_bytes_have_no_address(device: Cuda) -> None:
    """A buffer of no bytes is nowhere, costs nothing, and is copied for nothing."""
    empty, live = device.buffer(0), cf.inspection.live_bytes(device)
    seen: list[Any] = []
    cf.submit(device, lambda view: seen.append((view.pointer, len(view))), [], [empty])
    before = device.submitted
    cf.submit_copy(empty, cf.host().buffer(0))
    assert seen == [(0, 0)] and device.submitted == before and cf.inspection.live_bytes(device) == live


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda d, b: cf.submit(d, print, [cf.host().buffer(4)], []), "memory/wrong-device"),
        (lambda d, b: cf.submit(cf.host(), print, [], []), "memory/runs-no-work"),
        (lambda d, b: cf.Array(cf.uint8, cf.Layout.contiguous((4,)), b).to_values(), "memory/off-host"),
        (lambda d, b: b.export(), "arrays/not-on-host"),
        (lambda d, b: d.buffer(4, cf.MemoryKind.PINNED).export(), "arrays/not-on-host"),
        (lambda d, b: d.buffer(-1), "memory/negative-size"),
        (lambda d, b: d.advance(-1), "arguments/integer-range"),
        (lambda d, b: cf.cuda(99), "memory/ordinal"),
        (lambda d, b: cf.cuda(-1), "memory/ordinal"),
    ],
)
def test_what_is_refused(device: Cuda, call: Any, rule: str) -> None:
    """As on every device, and an ordinal that is none."""
    submitted, buffer = device.submitted, device.buffer(4)
    with pytest.raises(cf.InvalidArgument) as caught:
        call(device, buffer)
    assert caught.value.rule == rule and device.submitted == submitted


def test_an_ordinal_is_one_device(device: Cuda) -> None:
    """The same object, named by its ordinal, which copies and pickles as devices do: not at all."""
    assert cf.cuda(0) is device and device.name == "cuda:0" and device.arch.startswith("sm_")
    with pytest.raises(TypeError):
        device.__reduce__()
