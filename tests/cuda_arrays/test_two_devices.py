"""Two CUDA devices: copies between them, and streams that wait for each other."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cuda_arrays.drawing import DTYPES, arrays, bytes_to, filling, raw, shapes, twin
from tests.cuda_arrays.emulated import EMULATED, calls, told

import counterfoil as cf
from counterfoil.cuda.device import Cuda, computing_device, opened, pointer


@pytest.fixture
def other(device: Cuda) -> Cuda:
    """The second device."""
    return opened(1)


@settings(max_examples=60)
@given(data=st.data(), shape=shapes, dtype=st.sampled_from(DTYPES))
def test_elements_go_between_devices_in_any_layout(data: Any, shape: Any, dtype: Any) -> None:
    """transfer and to_device leave what they leave on the host, elements narrower than a byte included."""
    one, two = opened(0), opened(1)
    source = data.draw(arrays(one, dtype, shape))
    target = data.draw(arrays(two, dtype, shape, repeats=False))
    copied, expected = source.to_device(two), twin(source).to_device(cf.host())
    assert copied.layout == expected.layout and raw(copied.buffer) == raw(expected.buffer)
    if target.layout.is_distinct:
        stored = twin(target)
        cf.transfer(twin(source), stored)
        cf.transfer(source, target)
        assert raw(target.buffer) == raw(stored.buffer)


def test_a_copy_between_devices_is_the_sources(device: Cuda, other: Cuda) -> None:
    """One submission, of the device that has the bytes."""
    source, target = bytes_to(device, b"abcd"), other.buffer(4)
    before = device.submitted, other.submitted
    cf.submit_copy(source, target)
    assert (device.submitted, other.submitted) == (before[0] + 1, before[1])
    assert raw(target) == b"abcd"


def test_a_stream_follows_another_without_the_host(device: Cuda, other: Cuda) -> None:
    """Work that must follow another device's is given at once, and sees it done."""
    first, second, third = bytes_to(device, bytes(64)), other.buffer(64), bytes_to(device, bytes(64))
    cf.submit(device, filling(device, 3), [], [first])
    cf.submit_copy(first, second)
    cf.submit(other, filling(other, 4), [], [second.view(0, 32)])
    cf.submit_copy(second, third)
    assert other.timeline.given == other.submitted and device.timeline.given == device.submitted
    assert raw(third) == b"\x04" * 32 + b"\x03" * 32


def test_a_consumer_on_the_legacy_stream_follows_the_other_device(device: Cuda, other: Cuda) -> None:
    """Handles 1 and 2 name streams of the array's device, also where another device has the work to follow."""
    for named in (None, 1, 2):
        source, target = bytes_to(device, b"abcd"), other.buffer(4)
        cf.submit(device, filling(device, 7), [], [source])
        cf.submit_copy(source, target)
        array = cf.Array(cf.uint8, cf.Layout.contiguous((4,)), target)
        array.__dlpack__(stream=named)
        seen = bytearray(4)
        handle = ctypes.c_void_p(named or 1)
        with other.current():
            address = ctypes.c_uint64(pointer(target))
            where = (ctypes.c_char * 4).from_buffer(seen)
            assert not ctypes.CDLL("libcuda.so.1").cuMemcpyDtoHAsync_v2(where, address, ctypes.c_size_t(4), handle)
            assert not ctypes.CDLL("libcuda.so.1").cuStreamSynchronize(handle)
        assert seen == b"\x07" * 4, named


def test_devices_neither_borrow_nor_compute_together(device: Cuda, other: Cuda) -> None:
    """None for each other's memory, of any kind, and no call on operands of both."""
    for kind in cf.MemoryKind:
        assert device.buffer(4096, kind).borrow(other) is None
    assert computing_device([cf.empty(device, cf.int8, (2,)), cf.empty(other, cf.int8, (2,))]) is None
    assert cf.cuda(1) is other and other is not device


@pytest.mark.skipif(not EMULATED, reason="counts calls of the emulated driver")
def test_a_copy_between_devices_names_both(device: Cuda, other: Cuda) -> None:
    """Neither has to reach the other's memory, and nothing goes by way of the host."""
    source, target = bytes_to(device, b"abcd"), other.buffer(4)
    array = cf.Array(cf.uint8, cf.Layout((2, 2), (1, 2)), source)
    before = calls("cuMemcpyPeerAsync"), calls("cuMemcpyDtoHAsync"), calls("cuCtxEnablePeerAccess")
    cf.submit_copy(source, target)
    there = cf.empty(other, cf.uint8, (2, 2))
    cf.transfer(array, there)
    assert calls("cuMemcpyPeerAsync") == before[0] + 2 and calls("cuCtxEnablePeerAccess") == before[2]
    assert calls("cuMemcpyDtoHAsync") == before[1]
    assert (raw(target), raw(there.buffer)) == (b"abcd", b"acbd")


@pytest.mark.skipif(not EMULATED, reason="a process of its own over the emulated driver")
def test_memory_of_others_opens_its_own_device_alone() -> None:
    """__cuda_array_interface__ of memory on device 1: device 0 gets no context."""
    program = """
from counterfoil.cuda import device
e = cf.cuda(1)
x = cf.from_values(cf.int32, (3,), [1, 2, 3]).to_device(e)
class Described:
    __cuda_array_interface__ = x.__cuda_array_interface__
class Nothing:
    __cuda_array_interface__ = {"shape": (0,), "typestr": "|u1", "data": (0, False), "version": 3, "stream": 1}
del device._devices[0]
y = cf.asarray(Described())
opened = list(device._devices)
tell(opened, y.device is e, y.to_device(cf.host()).to_values(), cf.asarray(Nothing()).shape)
"""
    assert told(program) == [[1], True, [1, 2, 3], [0]]
