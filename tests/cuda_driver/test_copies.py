"""Copies and fills, of one to three dimensions, between all kinds of memory."""

import ctypes
from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, NON_BLOCKING, Device, call, pinned, to_device, to_host

VALUES = np.arange(24, dtype="i4")


def test_bytes_come_back_as_they_went(any_mode: Device) -> None:
    """Host to device and back changes nothing."""
    assert (to_host(to_device(VALUES), 24, "i4") == VALUES).all()


def test_device_to_device(any_mode: Device) -> None:
    """A copy between allocations of a device carries the bytes."""
    target = cuda.mem_alloc(VALUES.nbytes)
    cuda.memcpy_dtod(target, to_device(VALUES), VALUES.nbytes)
    assert (to_host(target, 24, "i4") == VALUES).all()


def peer_copy(to: Any, to_context: Any, of: Any, of_context: Any, nbytes: int) -> int:
    """The answer of the copy that names both contexts. PyCUDA 2026.1 does not name them as the driver wants them."""
    sides = ((to, to_context), (of, of_context))
    named = [(ctypes.c_uint64(int(memory)), ctypes.c_void_p(context.handle)) for memory, context in sides]
    return call("cuMemcpyPeer", *named[0], *named[1], ctypes.c_size_t(nbytes))


def test_device_to_another_device(any_mode: Device) -> None:
    """A copy between contexts carries the bytes."""
    source = to_device(VALUES)
    other = Device(1)
    target = cuda.mem_alloc(VALUES.nbytes)
    answer = peer_copy(target, other.context, source, any_mode.context, VALUES.nbytes)
    values = to_host(target, 24, "i4")
    other.close()
    assert answer == 0 and (values == VALUES).all()


def test_a_copy_between_devices_names_them(device: Device) -> None:
    """Contexts that have not the memory, and memory of the host, are invalid values."""
    source, locked = to_device(VALUES), pinned(VALUES)
    other = Device(1)
    target = cuda.mem_alloc(VALUES.nbytes)
    here, there = device.context, other.context
    assert peer_copy(target, here, source, there, VALUES.nbytes) == 1
    assert peer_copy(target, there, locked.ctypes.data, here, VALUES.nbytes) == 1
    other.close()


def test_what_names_no_context_stays_on_its_device(device: Device) -> None:
    """Copies and fills of another device's memory are refused, but for what unified addressing is told to allow."""
    source = to_device(VALUES)
    other = Device(1)
    target = cuda.mem_alloc(VALUES.nbytes)
    for attempt in (
        lambda: cuda.memcpy_dtod(target, source, VALUES.nbytes),
        lambda: cuda.memcpy_dtoh(np.empty_like(VALUES), source),
        lambda: cuda.memset_d8(source, 1, 4),
    ):
        with pytest.raises(cuda.LogicError, match="invalid argument"):
            attempt()
    EMULATOR.configure("across=plain")
    cuda.memcpy_dtod(target, source, VALUES.nbytes)
    values = to_host(target, 24, "i4")
    other.close()
    assert (values == VALUES).all()


def test_a_pitch_has_a_limit(device: Device) -> None:
    """Rows that are 2^31 bytes apart are more than a driver copies at once."""
    copy, source = cuda.Memcpy2D(), to_device(VALUES)
    copy.set_src_device(source)
    copy.set_dst_host(np.empty(24, "i4"))
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = 1 << 31, 8, 8, 1
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        copy(aligned=True)


def test_planes(any_mode: Device) -> None:
    """A two-dimensional copy takes a window of rows out of a pitched array."""
    copy, source = cuda.Memcpy2D(), to_device(VALUES)
    copy.set_src_device(source)
    values = np.full((3, 2), -1, "i4")
    copy.set_dst_host(values)
    copy.src_pitch, copy.dst_pitch, copy.width_in_bytes, copy.height = 24, 8, 8, 3
    copy.src_x_in_bytes, copy.src_y = 4, 1
    copy(aligned=True)
    assert (values == VALUES.reshape(4, 6)[1:4, 1:3]).all()


def test_volumes(any_mode: Device) -> None:
    """A three-dimensional copy takes a box out of a larger one."""
    copy, source = cuda.Memcpy3D(), to_device(VALUES)
    copy.set_src_device(source)
    values = np.full((2, 2, 1), -1, "i4")
    copy.set_dst_host(values)
    copy.src_pitch, copy.src_height, copy.dst_pitch, copy.dst_height = 16, 3, 4, 2
    copy.width_in_bytes, copy.height, copy.depth = 4, 2, 2
    copy.src_x_in_bytes, copy.src_y = 8, 1
    copy()
    assert (values == VALUES.reshape(2, 3, 4)[:, 1:3, 2:3]).all()


@pytest.mark.parametrize(("size", "value"), [("8", 0xAB), ("16", 0xABCD), ("32", 0x89ABCDEF)])
def test_fills(any_mode: Device, size: str, value: int) -> None:
    """A fill repeats a value of 1, 2 or 4 bytes."""
    allocation = cuda.mem_alloc(32)
    getattr(cuda, f"memset_d{size}")(allocation, value, 256 // int(size))
    assert (to_host(allocation, 256 // int(size), f"u{int(size) // 8}") == value).all()


def test_fills_of_planes(any_mode: Device) -> None:
    """A two-dimensional fill leaves what lies between its rows."""
    allocation = to_device(np.zeros(32, "u1"))
    cuda.memset_d2d8(allocation, 8, 5, 3, 4)
    assert to_host(allocation, 32, "u1").reshape(4, 8).tolist() == [[5] * 3 + [0] * 5] * 4


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_copy_outside_its_allocation_is_refused(device: Device, offset: int) -> None:
    """A copy that begins before an allocation or ends after it is an invalid value, and copies nothing."""
    allocation = to_device(VALUES)
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        cuda.memcpy_htod(int(allocation) + offset, VALUES[::-1].copy())
    assert (to_host(allocation, 24, "i4") == VALUES).all()


def test_a_device_address_is_no_host_memory(device: Device) -> None:
    """A device address given where the host's is meant is refused."""
    allocation = to_device(VALUES)
    assert call("cuMemcpyHtoD_v2", *_pointers(allocation, allocation), 4) == 1


def _pointers(*addresses: Any) -> list[Any]:
    return [ctypes.c_void_p(int(address)) for address in addresses]


def test_a_waiting_copy_to_the_host_is_complete(any_mode: Device) -> None:
    """Device to host without a stream has happened when the call returns."""
    allocation = to_device(VALUES)
    cuda.memset_d32(allocation, 9, 24)
    assert (to_host(allocation, 24, "i4") == 9).all()


def test_pageable_bytes_are_taken_at_the_call(any_mode: Device) -> None:
    """After a waiting copy to the device, the program may change what it copied from."""
    values, allocation = VALUES.copy(), cuda.mem_alloc(VALUES.nbytes)
    cuda.memcpy_htod(allocation, values)
    values[:] = -1
    assert (to_host(allocation, 24, "i4") == VALUES).all()


def test_the_last_leg_of_a_pageable_copy_may_be_late(device: Device) -> None:
    """A NON_BLOCKING stream, not ordered after a waiting copy from pageable memory, reads what was there before."""
    allocation, seen = to_device(np.zeros(24, "i4")), pinned(np.full(24, -1, "i4"))
    EMULATOR.configure("mode=lazy")
    cuda.memcpy_htod(allocation, VALUES)
    stream = cuda.Stream(NON_BLOCKING)
    cuda.memcpy_dtoh_async(seen, allocation, stream)
    stream.synchronize()
    assert (seen == 0).all()


def test_a_copy_without_waiting_reads_late(device: Device) -> None:
    """The source of an asynchronous copy is read when the copy runs, not when it is asked for."""
    EMULATOR.configure("mode=lazy")
    source, allocation = pinned(VALUES), cuda.mem_alloc(VALUES.nbytes)
    cuda.memcpy_htod_async(allocation, source, cuda.Stream())
    source[:] = 4
    assert EMULATOR.pending() > 0
    cuda.Context.synchronize()
    assert (to_host(allocation, 24, "i4") == 4).all()
