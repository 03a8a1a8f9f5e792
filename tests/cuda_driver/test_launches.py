"""Modules, functions and launches: what is accepted, and that arguments are taken at the call."""

import ctypes
import struct
from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, Device, call, cubin, to_device, to_host

STORE = """
extern "C" __global__ void __launch_bounds__(128) store(int *a, int value) { a[threadIdx.x] = value; }
extern "C" __global__ void where(uint3 *a) {
  a[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * (threadIdx.z + blockDim.z * blockIdx.x))] =
      make_uint3(threadIdx.x, threadIdx.y + 10 * threadIdx.z, blockIdx.x + 10 * gridDim.x);
}
struct Pair { double b; char c; };
extern "C" __global__ void mixed(char a, Pair p, short s, float4 v, double *out) {
  out[0] = a; out[1] = p.b; out[2] = p.c; out[3] = s; out[4] = v.w;
}
extern "C" __global__ void dynamic(int *a, int n) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) { int t = 0; for (int i = 0; i < n; ++i) t += s[i]; *a = t; }
}
template <class T> __global__ void twice(T *a) { *a = *a + *a; }
template __global__ void twice<float>(float *);
template __global__ void twice<int>(int *);
__constant__ int table[3] = {1, 2, 3};
__device__ float total;
extern "C" __global__ void read_table(int *a) { a[threadIdx.x] = table[threadIdx.x]; }
#define NAMED(name) extern "C" __global__ void name(int *a) { *a = sizeof #name; }
NAMED(exp2f_of_ours)
extern "C" __global__ void read(int *a) { *a = 77; }
"""


def launch(function: Any, grid: tuple[int, ...], block: tuple[int, ...], shared: int = 0) -> None:
    """Launches the kernel `store`."""
    value = cuda.mem_alloc(4096)
    function._launch_kernel(grid, block, struct.pack("Pi", int(value), 1), shared, None)


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [
        ((0, 1, 1), (1, 1, 1), 0),
        ((1, 65536, 1), (1, 1, 1), 0),
        ((1, 1, 65536), (1, 1, 1), 0),
        ((1, 1, 1), (129, 1, 1), 0),
        ((1, 1, 1), (1, 1, 65), 0),
        ((1, 1, 1), (0, 1, 1), 0),
        ((1, 1, 1), (1, 1, 1), 49153),
    ],
)
def test_launches_beyond_a_limit_are_refused(
    device: Device, grid: tuple[int, ...], block: tuple[int, ...], shared: int
) -> None:
    """Grids and blocks beyond the limits of the device or of the kernel's launch bounds are invalid values."""
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        launch(device.kernel(STORE, "store"), grid, block, shared)


def test_launches_at_a_limit_are_not(device: Device) -> None:
    """The largest block of the kernel's bounds and the largest shared memory run."""
    launch(device.kernel(STORE, "store"), (1, 1, 1), (128, 1, 1), 49152)
    cuda.Context.synchronize()


def test_more_shared_memory_has_to_be_asked_for(device: Device) -> None:
    """A kernel that was allowed more dynamic shared memory gets it, up to what the device has."""
    kernel = device.kernel(STORE, "dynamic")
    attribute = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    kernel.set_attribute(attribute, 232448)
    value, count = cuda.mem_alloc(4), 232448 // 4
    kernel(value, np.int32(count), block=(64, 1, 1), shared=232448)
    assert to_host(value, 1, "u4")[0] == count * (count - 1) // 2 % 2**32
    with pytest.raises(cuda.LogicError):
        kernel.set_attribute(attribute, 232449)


@pytest.mark.parametrize("length", [0, 11, 40])
def test_argument_blocks_have_the_length_of_the_parameters(device: Device, length: int) -> None:
    """A packed block that is shorter or longer than the kernel's parameters is an invalid value."""
    kernel = device.kernel(STORE, "store")
    with pytest.raises(cuda.LogicError, match="invalid argument"):
        kernel._launch_kernel((1, 1, 1), (1, 1, 1), bytes(length), 0, None)


def test_arguments_are_taken_at_the_call(device: Device) -> None:
    """What the caller does to its argument block after the call reaches no kernel."""
    kernel, value = device.kernel(STORE, "store"), cuda.mem_alloc(4)
    EMULATOR.configure("mode=lazy")
    block = bytearray(struct.pack("Pi", int(value), 5))
    kernel._launch_kernel((1, 1, 1), (1, 1, 1), block, 0, None)
    block[8:12] = struct.pack("i", 6)
    assert to_host(value, 1, "i4")[0] == 5


def test_parameters_lie_as_their_types_are_aligned(device: Device) -> None:
    """Every parameter of a packed block begins at a multiple of its type's alignment."""
    kernel, out = device.kernel(STORE, "mixed"), cuda.mem_alloc(40)
    block = struct.pack("b7xdb7xh6x", -3, 2.5, 7, -9) + struct.pack("4fP", 0, 0, 0, 1.5, int(out))
    kernel._launch_kernel((1, 1, 1), (1, 1, 1), block, 0, None)
    assert to_host(out, 5, "f8").tolist() == [-3, 2.5, 7, -9, 1.5]


def test_threads_know_where_they_are(any_mode: Device) -> None:
    """Every thread of every block runs once, with its own indices."""
    kernel, out = any_mode.kernel(STORE, "where"), cuda.mem_alloc(5 * 24 * 12)
    kernel(out, block=(2, 3, 4), grid=(5, 1))
    seen = to_host(out, 5 * 24 * 3, "u4").reshape(5, 4, 3, 2, 3)
    g, z, y, x = np.indices((5, 4, 3, 2))
    assert (seen == np.stack([x, y + 10 * z, g + 50], -1)).all()


@pytest.mark.parametrize(("name", "dtype"), [("_Z5twiceIfEvPT_", "f4"), ("_Z5twiceIiEvPT_", "i4")])
def test_instances_of_templates_have_their_mangled_names(device: Device, name: str, dtype: str) -> None:
    """Kernels that a template was instantiated to are found by their symbols."""
    value = to_device(np.array([21], dtype))
    device.kernel(STORE, name)(value, block=(1, 1, 1))
    assert to_host(value, 1, dtype)[0] == 42


@pytest.mark.parametrize(("name", "answer"), [("exp2f_of_ours", 14), ("read", 77)])
def test_kernels_may_be_named_anything(device: Device, name: str, answer: int) -> None:
    """Kernels that macros write are found, and one named as a function of the C library is itself."""
    value = cuda.mem_alloc(4)
    device.kernel(STORE, name)(value, block=(1, 1, 1))
    assert to_host(value, 1, "i4")[0] == answer


def test_variables_of_a_module_are_device_memory(any_mode: Device) -> None:
    """A constant is read by kernels, and the host writes it through its address."""
    module, value = cuda.module_from_buffer(cubin(STORE)), cuda.mem_alloc(12)
    address, size = module.get_global("table")
    cuda.memcpy_htod(address + 4, np.array([9], "i4"))
    module.get_function("read_table")(value, block=(3, 1, 1))
    assert (to_host(value, 3, "i4").tolist(), size) == ([1, 9, 3], 12)


def test_contexts_have_modules_of_their_own(device: Device) -> None:
    """A module that two contexts load has its variables twice."""
    first = cuda.module_from_buffer(cubin(STORE))
    other = Device(1)
    second = cuda.module_from_buffer(cubin(STORE))
    cuda.memcpy_htod(second.get_global("table")[0], np.full(3, 8, "i4"))
    del second
    other.close()
    assert to_host(first.get_global("table")[0], 3, "i4").tolist() == [1, 2, 3]


DEVICE_ELF = b"\x7fELF\x02\x01\x01\x41" + bytes(8) + b"\x02\x00\xbe\x00" + bytes(80)


@pytest.mark.parametrize("image", [b".version 8.0\n.target sm_90\n", DEVICE_ELF])
def test_code_for_devices_is_refused(device: Device, image: bytes) -> None:
    """PTX, and ELF files that are not for this machine, are invalid images."""
    with pytest.raises(cuda.LogicError, match="kernel image is invalid"):
        cuda.module_from_buffer(image)


def test_a_kernel_runs_in_its_own_context(device: Device) -> None:
    """A function of one context is no handle in another."""
    kernel = device.kernel(STORE, "read")
    other = Device(1)
    value = cuda.mem_alloc(4)
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        kernel(value, block=(1, 1, 1))
    value.free()
    other.close()


def test_a_module_may_be_unloaded_while_its_kernels_wait(device: Device) -> None:
    """Kernels that are queued run after their module is gone."""
    EMULATOR.configure("mode=lazy")
    kernel, value = device.kernel(STORE, "read"), cuda.mem_alloc(4)
    kernel(value, block=(1, 1, 1))
    del kernel
    assert to_host(value, 1, "i4")[0] == 77


def test_stale_handles_are_told_from_live_ones(device: Device) -> None:
    """A handle of something that was destroyed is never that of something made later."""
    handle, again = ctypes.c_void_p(), ctypes.c_void_p()
    assert call("cuStreamCreate", ctypes.byref(handle), 0) == 0
    assert call("cuStreamDestroy_v2", handle) == 0
    assert call("cuStreamCreate", ctypes.byref(again), 0) == 0
    assert [call("cuStreamQuery", one) for one in (handle, again)] == [400, 0]
    assert call("cuStreamDestroy_v2", again) == 0


def test_what_is_not_emulated_says_so(device: Device) -> None:
    """Entry points that cuda.h declares and the emulator lacks are there, and answer "not supported"."""
    assert call("cuArrayCreate_v2", None, None) == 801
