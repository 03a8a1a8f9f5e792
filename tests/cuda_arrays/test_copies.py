"""Copies of any layout and dtype between devices: every bit as the host's own copy leaves it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cuda_arrays.drawing import DTYPES, arrays, bytes_to, raw, shapes, twin

import counterfoil as cf
from counterfoil.cuda.device import Cuda, opened

PLACES = {"host": cf.host, "cuda": lambda: opened(0), "simulated": lambda: cf.simulated("sim")}
PAIRS = [("host", "cuda"), ("cuda", "host"), ("cuda", "cuda"), ("simulated", "cuda"), ("cuda", "simulated")]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype.name))
@settings(max_examples=12)
@given(data=st.data(), shape=shapes)
def test_to_device_gives_the_bytes_that_it_gives_on_the_host(data: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """To the device, on it and back from it: the layout and all bytes are those of a copy on the host."""
    device = opened(0)
    for place, target in ((cf.host(), device), (device, device), (device, cf.host())):
        source = data.draw(arrays(place, dtype, shape))
        expected = twin(source).to_device(cf.host())
        copied = source.to_device(target)
        assert copied.device is target and copied.layout == expected.layout
        assert raw(copied.buffer) == raw(expected.buffer)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(pair))
@settings(max_examples=60)
@given(data=st.data(), shape=shapes, dtype=st.sampled_from(DTYPES))
def test_transfer_stores_the_elements_and_no_other_bit(data: Any, shape: Any, dtype: Any, pair: Any) -> None:
    """Whatever the layouts of both sides, the destination's bytes are those of a transfer on the host."""
    source_place, target_place = (PLACES[name]() for name in pair)
    if "simulated" in pair and dtype.bits < 8:
        dtype = cf.uint8  # elements narrower than a byte: what simulated devices refuse of them is the model's subject
    source = data.draw(arrays(source_place, dtype, shape))
    target = data.draw(arrays(target_place, dtype, shape, repeats=False))
    if not cf.Array(dtype, target.layout, target.buffer).layout.is_distinct:
        return
    expected = twin(target)
    cf.transfer(twin(source), expected)
    cf.transfer(source, target)
    assert raw(target.buffer) == raw(expected.buffer)


@settings(max_examples=40)
@given(data=st.data(), shape=shapes, dtype=st.sampled_from(DTYPES))
def test_copy_stays_on_the_device(data: Any, shape: Any, dtype: Any) -> None:
    """copy() is C-contiguous on the operand's device, and holds what a copy on the host holds."""
    source = data.draw(arrays(opened(0), dtype, shape))
    copied, expected = source.copy(), twin(source).copy()
    assert copied.device is opened(0) and copied.layout == expected.layout
    assert raw(copied.buffer) == raw(expected.buffer)


def test_each_movement_is_one_submission(device: Cuda) -> None:
    """A copy either way, strided or not, on the device or off it, a fill: one number each."""
    host = cf.from_values(cf.int16, (3, 4), range(12))
    turned = host.move(cf.Permute((1, 0)))
    there = host.to_device(device)
    first = device.submitted
    turned.to_device(device)
    cf.transfer(turned, there.move(cf.Permute((1, 0))))
    cf.transfer(there.move(cf.Permute((1, 0))), turned)
    there.copy()
    cf.submit_fill(there.buffer, 3)
    cf.submit_copy(there.buffer, device.buffer(there.buffer.nbytes))
    assert device.submitted == first + 6


def test_a_fresh_array_ends_in_zeros(device: Cuda) -> None:
    """The bits past the last element of a fresh array are zero, by a submission of its own."""
    cf.inspection.poison(0xFF)
    before = device.submitted
    array = cf.empty(device, cf.bit, (11,))
    assert device.submitted == before + 1
    assert raw(array.buffer) == b"\xff\x07"


def test_a_fill_reaches_pinned_memory_in_order(device: Cuda) -> None:
    """PINNED memory is filled by its device, and the host waits for that."""
    buffer = bytes_to(device, bytes(100), cf.MemoryKind.PINNED)
    cf.submit_fill(buffer.view(10, 20), 7)
    assert raw(buffer) == bytes(10) + bytes([7]) * 20 + bytes(70)


def test_what_a_copy_reads_is_as_it_was_at_the_call(device: Cuda) -> None:
    """A later store to the source waits for the copy that reads it."""
    host = cf.from_values(cf.int32, (50,), range(50))
    there = host.to_device(device)
    host.set((3,), -1)
    assert there.to_device(cf.host()).get((3,)) == 3
