"""Failures: planned ones, errors that stick, and what kernels must not do."""

import subprocess
from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, LIBRARY, Device, pinned, run_python, to_device, to_host

COUNT = 'extern "C" __global__ void count(int *a) { a[blockIdx.x] = 1; }'
BAD = r"""
extern "C" __global__ void beside(char *a, int at) { a[at] = 1; }
extern "C" __global__ void misaligned(float *a) { *(float4 *)(a + 1) = make_float4(1, 2, 3, 4); }
extern "C" __global__ void shifts(int *a, int by) { *a = 1 << by; }
extern "C" __global__ void casts(int *a, float from) { *a = (int)from; }
extern "C" __global__ void indexes(int *a, int at) { __shared__ int t[4]; t[at] = 1; *a = t[0]; }
extern "C" __global__ void divides(int *a, int by) { *a = 7 / by; }
extern "C" __global__ void asserts(int *a) { assert(*a == 3); }
extern "C" __global__ void traps(int *a) { __trap(); }
extern "C" __global__ void stuck(int *a) { if (threadIdx.x < 16) __syncthreads(); else __syncwarp(); }
extern "C" __global__ void overflows(char *a, int at) { extern __shared__ char s[]; s[at] = 1; *a = s[0]; }
extern "C" __global__ void recurses(volatile char *a) { volatile char big[1 << 17]; big[0] = a[0]; a[0] = big[0]; }
"""


def mapped(values: Any) -> Any:
    """The address on the device of page-locked memory."""
    return np.intp(values.base.get_device_pointer())


def test_the_nth_call_fails(device: Device) -> None:
    """A planned failure hits the call it was planned for and no other."""
    EMULATOR.configure("fail=cuStreamCreate:2=801")
    cuda.Stream()
    with pytest.raises(cuda.Error, match="operation not supported"):
        cuda.Stream()
    cuda.Stream()


def test_names_need_no_version(device: Device) -> None:
    """A failure of cuMemcpyDtoH is one of cuMemcpyDtoH_v2."""
    value = to_device(np.zeros(4, "u1"))
    EMULATOR.configure("fail=cuMemcpyDtoH:1=1")
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        to_host(value, 4, "u1")


@pytest.mark.parametrize(
    "name",
    [
        *("cuMemAlok", "cuMemAlloc_v9", "malloc", "emucuda_calls"),
        *("cuGetErrorName", "cuGetErrorString", "cuGetProcAddress", "cuGetProcAddress_v2", "cuEventRecordWithFlags"),
    ],
)
def test_a_failure_that_cannot_come_is_no_setting(device: Device, name: str) -> None:
    """A failure of what is no entry point, or of one that never fails, is refused, and nothing is planned."""
    assert LIBRARY.emucuda_configure(f"fail={name}:1+=2".encode()) == -1
    assert int(cuda.mem_alloc(16)) > 0


@pytest.mark.parametrize("name", ["cuMemAlloc", "cuMemAlloc_v2", "cuMemPoolCreate"])
def test_a_failure_of_any_other_entry_point_is_one(device: Device, name: str) -> None:
    """Entry points are known with and without their versions, and those that are not emulated too."""
    assert LIBRARY.emucuda_configure(f"fail={name}:1=2".encode()) == 0


def test_memory_that_has_run_out_stays_so(device: Device) -> None:
    """A persistent failure hits its call and all later ones, until the plan is dropped."""
    EMULATOR.configure("fail=cuMemAlloc:2+=2")
    cuda.mem_alloc(16)
    for _ in range(3):
        with pytest.raises(cuda.MemoryError):
            cuda.mem_alloc(16)
    EMULATOR.configure("fail=")
    cuda.mem_alloc(16)


@pytest.mark.parametrize("code", [700, 702, 710, 719, 999])
def test_some_errors_stick(device: Device, code: int) -> None:
    """After an error of the kind that ends a context, everything in the context answers it."""
    EMULATOR.configure(f"fail=cuEventCreate:1={code}")
    answers = []
    for _ in range(2):
        with pytest.raises(cuda.Error) as error:
            cuda.Event()
        answers.append(str(error.value))
    with pytest.raises(cuda.Error):
        cuda.Context.synchronize()
    assert answers[0] == answers[1]


def test_other_errors_do_not(device: Device) -> None:
    """After an invalid value the context goes on."""
    EMULATOR.configure("fail=cuEventCreate:1=1")
    with pytest.raises(cuda.LogicError):
        cuda.Event()
    cuda.Event().record().synchronize()


def test_a_lost_context_is_one_device(device: Device) -> None:
    """A device that is lost takes no other with it."""
    EMULATOR.configure("fail=cuEventCreate:1=719")
    with pytest.raises(cuda.Error):
        cuda.Event()
    other = Device(1)
    values = to_host(to_device(np.arange(4)), 4, "i8")
    other.close()
    assert values.tolist() == [0, 1, 2, 3]


def test_a_device_comes_back_with_a_new_context(device: Device) -> None:
    """Once the primary context of a lost device is released, the next one works."""
    for code in (719, 0):
        context = cuda.Device(1).retain_primary_context()
        context.push()
        if code:
            EMULATOR.configure(f"fail=cuEventCreate:1={code}")
            with pytest.raises(cuda.Error):
                cuda.Event()
        else:
            cuda.Event().record().synchronize()
        context.pop()
        context.detach()


def test_work_fails_when_it_runs(device: Device) -> None:
    """A planned failure of the work shows at the wait, and the work was done in part."""
    counted = pinned(np.zeros(8, "i4"))
    kernel = device.kernel(COUNT, "count")
    EMULATOR.configure("mode=lazy fail=cuLaunchKernel:1@719")
    kernel(mapped(counted), block=(1, 1, 1), grid=(8, 1))
    with pytest.raises(cuda.LaunchError, match="unspecified launch failure"):
        cuda.Context.synchronize()
    assert counted.sum() == 4


def test_after_a_failure_nothing_else_runs(device: Device) -> None:
    """Work queued behind what lost the device is not done."""
    counted = pinned(np.zeros(1, "i4"))
    kernel = device.kernel(COUNT, "count")
    EMULATOR.configure("mode=lazy fail=cuMemsetD8Async:1@719")
    stream, value = cuda.Stream(), cuda.mem_alloc(4)
    cuda.memset_d8_async(value, 1, 4, stream)
    kernel(mapped(counted), block=(1, 1, 1), stream=stream)
    with pytest.raises(cuda.Error):
        stream.synchronize()
    assert counted[0] == 0


@pytest.mark.parametrize(
    ("name", "argument", "message", "words"),
    [
        ("beside", 100, "illegal memory access", "a write beside an allocation"),
        ("beside", -1, "illegal memory access", "a write beside an allocation"),
        ("beside", 1 << 20, "illegal memory access", "an illegal address"),
        ("misaligned", None, "misaligned address", "a misaligned address at"),
        ("shifts", 32, "unspecified launch failure", "a shift by more than the width at"),
        ("casts", np.float32("nan"), "unspecified launch failure", "a conversion of a float"),
        ("indexes", 4, "illegal memory access", "an index outside its array at"),
        ("divides", 0, "unspecified launch failure", "a division by zero"),
        ("asserts", None, "device-side assert", "the failed assertion *a == 3"),
        ("traps", None, "unspecified launch failure", "a trap"),
        ("stuck", None, "timed out", "threads wait for the block"),
        ("overflows", 64, "illegal memory access", "a write beyond the dynamic shared memory"),
        ("recurses", None, "illegal memory access", "an illegal address"),
    ],
)
def test_kernels_are_stopped(device: Device, name: str, argument: object, message: str, words: str) -> None:
    """What a kernel must not do shows as the driver's error at the next wait, and in the emulator's words."""
    value = to_device(np.zeros(100, "u1"))
    extra = [] if argument is None else [np.int32(argument) if isinstance(argument, int) else argument]
    device.kernel(BAD, name)(value, *extra, block=(32 if name == "stuck" else 1, 1, 1), shared=64)
    with pytest.raises(cuda.Error, match=message):
        cuda.Context.synchronize()
    assert words in EMULATOR.last_fault()


def test_a_kernel_reaches_its_own_device_only(device: Device) -> None:
    """Memory of another device is an illegal address until access to it is enabled."""
    kernel = device.kernel(COUNT, "count")
    other = Device(1)
    value = to_device(np.zeros(1, "i4"))
    device.context.push()
    device.context.enable_peer_access(other.context)
    kernel(value, block=(1, 1, 1))
    cuda.Context.synchronize()
    device.context.disable_peer_access(other.context)
    kernel(value, block=(1, 1, 1))
    with pytest.raises(cuda.LogicError, match="illegal memory access"):
        cuda.Context.synchronize()
    device.context.pop()
    seen = to_host(value, 1, "i4").tolist()
    value.free()
    other.close()
    assert seen == [1]


def test_a_freed_address_is_illegal(device: Device) -> None:
    """A kernel that is given the address of freed memory is stopped."""
    kernel, value = device.kernel(COUNT, "count"), cuda.mem_alloc(4)
    address = np.intp(int(value))
    value.free()
    kernel(address, block=(1, 1, 1))
    with pytest.raises(cuda.LogicError, match="illegal memory access"):
        cuda.Context.synchronize()


@pytest.mark.parametrize(("at", "found"), [(100, True), (99, False)])
def test_address_sanitizer_sees_kernels(at: int, found: bool) -> None:
    """Kernels compiled with AddressSanitizer are stopped at the first byte beyond an allocation, reads too."""
    text = 'extern "C" __global__ void read(char *a, int at) { a[0] = a[at]; }'
    program = f"""
import numpy as np, pycuda.driver as d
from tests.cuda_driver.support import Device, to_device
d.init(); device = Device(0); value = to_device(np.zeros(100, "u1"))
device.kernel({text!r}, "read")(value, np.int32({at}), block=(1, 1, 1)); d.Context.synchronize()
value.free(); device.close(); print("done")
"""
    names = ("libasan.so", "libstdc++.so")
    libraries = [subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip() for name in names]
    result = run_python(
        program, EMUCUDA_CXXFLAGS="-fsanitize=address", LD_PRELOAD=":".join(libraries), ASAN_OPTIONS="detect_leaks=0"
    )
    assert ("use-after-poison" in result.stderr, "done" in result.stdout) == (found, not found)
