"""Device memory, page-locked memory and what the driver tells of both."""

import ctypes
import mmap
from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, Device, call, pinned, run_python, to_device, to_host


def test_fresh_memory_holds_its_filling(device: Device) -> None:
    """Memory that nobody wrote reads as 0xCB."""
    assert (to_host(cuda.mem_alloc(1000), 1000, "u1") == 0xCB).all()


def test_addresses_are_aligned_to_256(device: Device) -> None:
    """Every allocation begins at a multiple of 256, whatever its size."""
    assert all(int(cuda.mem_alloc(size)) % 256 == 0 for size in (1, 3, 255, 256, 257, 4096, 100_001))


def test_free_memory_goes_down_and_up(device: Device) -> None:
    """mem_get_info counts what is allocated and what was freed."""
    before = cuda.mem_get_info()
    allocation = cuda.mem_alloc(1 << 20)
    during = cuda.mem_get_info()
    allocation.free()
    assert (before[0] - during[0], cuda.mem_get_info()) == (1 << 20, before)


def test_more_than_the_device_has_is_refused(device: Device) -> None:
    """An allocation beyond the device's memory is out of memory, and changes nothing."""
    before = cuda.mem_get_info()
    with pytest.raises(cuda.MemoryError):
        cuda.mem_alloc(before[1] + 1)
    assert cuda.mem_get_info() == before


def test_the_last_byte_can_be_had(device: Device) -> None:
    """All the memory that is free can be allocated at once."""
    allocation = cuda.mem_alloc(cuda.mem_get_info()[0])
    assert cuda.mem_get_info()[0] == 0
    allocation.free()


def test_no_byte_is_refused(device: Device) -> None:
    """An allocation of no bytes is an invalid value."""
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        cuda.mem_alloc(0)


def test_a_freed_address_is_unknown(device: Device) -> None:
    """Copies from an address that was freed are refused."""
    allocation = cuda.mem_alloc(16)
    address = int(allocation)
    allocation.free()
    with pytest.raises(cuda.LogicError):
        cuda.memcpy_dtoh(np.empty(16, "u1"), address)


def test_pitched_rows_are_aligned(device: Device) -> None:
    """A pitched allocation has rows a multiple of 512 bytes apart that hold the width asked for."""
    allocation, pitch = cuda.mem_alloc_pitch(100, 7, 4)
    assert (pitch % 512, cuda.mem_get_address_range(int(allocation))[1]) == (0, pitch * 7)


def test_an_address_range_is_its_allocation(device: Device) -> None:
    """From an address inside an allocation, the driver tells where it begins and how long it is."""
    allocation = cuda.mem_alloc(1000)
    assert cuda.mem_get_address_range(int(allocation) + 999) == (int(allocation), 1000)


def test_memory_of_a_context_ends_with_it(device: Device) -> None:
    """A context that ends leaves no allocation behind."""
    before = EMULATOR.live_allocations()
    other = Device(1)
    allocations = [cuda.mem_alloc(64), cuda.pagelocked_empty(64, "u1")]
    assert EMULATOR.live_allocations() == before + 2
    other.close()
    assert EMULATOR.live_allocations() == before
    del allocations


def test_devices_have_memory_of_their_own(device: Device) -> None:
    """What one device has allocated is not missing on another."""
    allocation = cuda.mem_alloc(1 << 20)
    other = Device(1)
    free, total = cuda.mem_get_info()
    other.close()
    allocation.free()
    assert free == total


def test_mapped_memory_is_seen_by_kernels(any_mode: Device) -> None:
    """A kernel writes to page-locked memory through its device pointer."""
    kernel = any_mode.kernel('extern "C" __global__ void put(int *a) { a[threadIdx.x] = threadIdx.x * 3; }', "put")
    flags = cuda.host_alloc_flags.DEVICEMAP
    values = cuda.pagelocked_empty(32, "i4", mem_flags=flags)
    kernel(np.intp(values.base.get_device_pointer()), block=(32, 1, 1))
    cuda.Context.synchronize()
    assert values.tolist() == [3 * i for i in range(32)]


def page() -> tuple[np.ndarray[Any, Any], ctypes.c_void_p]:
    """Pages of the program's own, and their address."""
    values = np.frombuffer(mmap.mmap(-1, 8192), "u1")
    return values, ctypes.c_void_p(values.ctypes.data)


def test_registered_memory_is_written_by_kernels(any_mode: Device) -> None:
    """The program's own pages, registered to be mapped, have an address on the device."""
    kernel = any_mode.kernel('extern "C" __global__ void put(unsigned char *a) { a[threadIdx.x] = 5; }', "put")
    values, address = page()
    mapped = ctypes.c_uint64()
    assert call("cuMemHostRegister_v2", address, 4096, 2) == 0
    assert call("cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), address, 0) == 0
    kernel(np.intp(mapped.value), block=(32, 1, 1))
    cuda.Context.synchronize()
    assert (call("cuMemHostUnregister", address), values[:33].tolist()) == (0, [5] * 32 + [0])


def test_memory_that_was_not_registered_to_be_mapped_is_not(device: Device) -> None:
    """Registered without DEVICEMAP, pages have no address on the device."""
    _, address = page()
    mapped = ctypes.c_uint64()
    assert call("cuMemHostRegister_v2", address, 4096, 0) == 0
    assert call("cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), address, 0) == 1
    assert call("cuMemHostUnregister", address) == 0


def test_memory_is_registered_once(device: Device) -> None:
    """Pages that overlap registered ones are not registered, and those that are not registered not released."""
    _, address = page()
    assert call("cuMemHostRegister_v2", address, 8192, 0) == 0
    beyond = ctypes.c_void_p((address.value or 0) + 4096)
    assert [call("cuMemHostRegister_v2", beyond, 4096, 0), call("cuMemHostUnregister", beyond)] == [712, 713]
    assert call("cuMemHostUnregister", address) == 0


def test_a_host_that_touches_device_memory_crashes(device: Device) -> None:
    """Code of the host that reads device memory through its address ends the process by a signal."""
    program = "import ctypes, pycuda.autoinit, pycuda.driver as d; ctypes.string_at(int(d.mem_alloc(64)), 1)"
    assert run_python(program).returncode == -11


def test_without_protection_freed_memory_shows_its_filling(device: Device) -> None:
    """With protection off the host may read device memory, and what was freed reads as 0xDD."""
    program = (
        "import ctypes, pycuda.autoinit, pycuda.driver as d; a = d.mem_alloc(64); p = int(a)\n"
        "print(ctypes.string_at(p, 2).hex()); a.free(); print(ctypes.string_at(p, 2).hex())"
    )
    assert run_python(program, EMUCUDA_PROTECT="0").stdout.split() == ["cbcb", "dddd"]


def test_a_free_waits_for_the_work(device: Device) -> None:
    """As the driver does, a free waits for what the device was given before."""
    values = pinned(np.zeros(16, "u1"))
    allocation = to_device(np.arange(16, dtype="u1"))
    EMULATOR.configure("mode=lazy")
    cuda.memcpy_dtoh_async(values, allocation, cuda.Stream())
    allocation.free()
    assert values.tolist() == list(range(16))


def test_a_late_user_of_freed_memory_is_found(device: Device) -> None:
    """Where a free does not wait, work that still uses the memory is an illegal access."""
    allocation = to_device(np.arange(16, dtype="u1"))
    EMULATOR.configure("mode=lazy free=now")
    cuda.memcpy_dtoh_async(pinned(np.zeros(16, "u1")), allocation, cuda.Stream())
    allocation.free()
    with pytest.raises(cuda.LogicError, match="illegal memory access"):
        cuda.Context.synchronize()


def test_page_locked_memory_ends_at_closed_pages(device: Device) -> None:
    """A kernel that writes beyond the pages of page-locked memory is stopped."""
    kernel = device.kernel('extern "C" __global__ void put(char *a) { a[8192] = 1; }', "put")
    values = cuda.pagelocked_empty(8192, "u1")
    kernel(np.intp(values.ctypes.data), block=(1, 1, 1))
    with pytest.raises(cuda.LogicError, match="illegal memory access"):
        cuda.Context.synchronize()


def mapped(address: int) -> int:
    """The device's address of page-locked memory."""
    found = ctypes.c_uint64()
    assert call("cuMemHostGetDevicePointer_v2", ctypes.byref(found), ctypes.c_void_p(address), 0) == 0
    return found.value


def attribute(which: int, address: int) -> int:
    """A pointer attribute that is an address."""
    found = ctypes.c_uint64()
    assert call("cuPointerGetAttribute", ctypes.byref(found), which, ctypes.c_uint64(address)) == 0
    return found.value


def test_combined_memory_lies_elsewhere_for_devices(any_mode: Device) -> None:
    """It has two addresses, each of which tells the other; devices know one of them only. Other memory has one."""
    flags = cuda.host_alloc_flags
    locked = cuda.pagelocked_empty(100, "u1", mem_flags=flags.WRITECOMBINED | flags.DEVICEMAP)
    here = locked.ctypes.data
    there = mapped(here)
    assert there != here and (attribute(3, here), attribute(4, there)) == (there, here)
    locked[:] = 7
    assert (to_host(there, 100, "u1") == 7).all()
    cuda.memset_d8(there, 9, 100)
    cuda.Context.synchronize()
    assert (locked == 9).all()
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        cuda.memset_d8(here, 1, 100)
    plain = pinned(np.zeros(100, "u1"))
    assert mapped(plain.ctypes.data) == plain.ctypes.data


def test_combined_memory_goes_with_its_view(device: Device) -> None:
    """The view is no allocation of its own: it is not counted, nor freed by itself."""
    before = EMULATOR.live_allocations()
    flags = cuda.host_alloc_flags
    locked = cuda.pagelocked_empty(100, "u1", mem_flags=flags.WRITECOMBINED)
    there = mapped(locked.ctypes.data)
    assert EMULATOR.live_allocations() == before + 1 and call("cuMemFreeHost", ctypes.c_void_p(there)) == 1
    locked.base.free()
    assert EMULATOR.live_allocations() == before
    assert call("cuPointerGetAttribute", ctypes.byref(ctypes.c_uint64()), 3, ctypes.c_uint64(there)) == 1
