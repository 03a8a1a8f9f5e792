"""Device code: barriers, shuffles, votes, atomics, shared memory, and the functions that the dialect adds."""

from typing import Any

import numpy as np
import pycuda.driver as cuda
import pytest
from tests.cuda_driver.support import EMULATOR, Device, to_device, to_host

SUM = """
extern "C" __global__ void sum(const float *a, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? a[i] : 0.f;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 32; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t >= 32) return;
  float v = s[t] + s[t + 32];
  for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  if (t == 0) atomicAdd(out, v);
}
"""
LANES = """
extern "C" __global__ void shuffles(long long *out) {
  int t = threadIdx.x;
  long long v = (1ll << 40) + t;
  out[t] = __shfl_sync(~0u, v, 3);
  out[32 + t] = __shfl_up_sync(~0u, v, 2);
  out[64 + t] = __shfl_down_sync(~0u, v, 5);
  out[96 + t] = __shfl_xor_sync(~0u, v, 9);
  out[128 + t] = __shfl_down_sync(~0u, v, 1, 8);
  out[160 + t] = __shfl_up_sync(~0u, v, 1, 8);
  out[192 + t] = __shfl_sync(~0u, v, 2, 4);
}
extern "C" __global__ void votes(unsigned *out) {
  int t = threadIdx.x;
  out[t] = __ballot_sync(~0u, t % 3 == 0);
  out[32 + t] = __any_sync(~0u, t == 31) * 2 + __all_sync(~0u, t < 32);
  out[64 + t] = __any_sync(~0u, t == 32) * 2 + __all_sync(~0u, t < 31);
  out[96 + t] = t < 8 ? __ballot_sync(0xffu, t & 1) : __ballot_sync(~0xffu, t & 2);
  out[128 + t] = __reduce_add_sync(~0u, unsigned(t));
  out[160 + t] = __match_any_sync(~0u, t / 8);
}
extern "C" __global__ void halves(int *out) {
  int t = threadIdx.x, v = t;
  unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  for (int i = 0; i < (t < 16 ? 5 : 3); ++i) v = __shfl_xor_sync(mask, v, 1) + 1;
  __syncthreads();
  out[t] = v;
}
extern "C" __global__ void counts(int *out) {
  int t = threadIdx.x;
  if (t >= 70) return;
  int c = __syncthreads_count(t % 2), any = __syncthreads_or(t == 69), all = __syncthreads_and(t < 69);
  out[t] = c * 100 + any * 10 + all;
}
"""
SHARED = """
extern "C" __global__ void stale(unsigned *out) {
  __shared__ unsigned s[4];
  extern __shared__ unsigned d[];
  out[blockIdx.x * 2] = s[0]; out[blockIdx.x * 2 + 1] = d[0];
  s[0] = d[0] = 1;
}
extern "C" __global__ void reverse(int *a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
#ifdef BARRIER
  __syncthreads();
#endif
  a[threadIdx.x] = s[63 - threadIdx.x];
}
"""
ATOMICS = """
extern "C" __global__ void atomics(int *i, unsigned long long *u, float *f, double *d, unsigned *w) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(i, t); atomicMax(i + 1, t); atomicMin(i + 2, -t);
  atomicOr(i + 3, 1 << t % 31); atomicAnd(i + 4, ~(1 << t % 31));
  atomicAdd(u, 1ull << 33); atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicXor(w, 1u << t % 32); atomicInc(w + 1, 9);
  for (unsigned old = w[2], seen; (seen = atomicCAS(w + 2, old, old + 2)) != old;) old = seen;
  if (t == 7) atomicExch(w + 3, 70u);
}
"""


@pytest.mark.parametrize("count", [1, 255, 256, 10_000])
def test_sums_of_blocks(any_mode: Device, count: int) -> None:
    """A reduction through shared memory, barriers, early exits, shuffles and atomics is right."""
    values = np.random.default_rng(count).integers(-100, 100, count).astype("f4")
    source, out = to_device(values), to_device(np.zeros(1, "f4"))
    any_mode.kernel(SUM, "sum")(source, out, np.int32(count), block=(256, 1, 1), grid=(-(-count // 256), 1))
    assert to_host(out, 1, "f4")[0] == values.sum()


def run(device: Device, text: str, name: str, count: int, dtype: str, threads: int = 32) -> np.ndarray[Any, Any]:
    """What a kernel of one block leaves in its only argument."""
    out = to_device(np.full(count, -1).astype(dtype))
    device.kernel(text, name)(out, block=(threads, 1, 1))
    return to_host(out, count, dtype)


def test_shuffles(any_mode: Device) -> None:
    """The four shuffles move 64-bit values between lanes, in segments where asked, and stay at their edges."""
    t = np.arange(32)
    first = t // 8 * 8
    sources = [
        np.full(32, 3),
        np.where(t >= 2, t - 2, t),
        np.where(t + 5 < 32, t + 5, t),
        t ^ 9,
        np.where(t + 1 < first + 8, t + 1, t),
        np.where(t > first, t - 1, t),
        t // 4 * 4 + 2,
    ]
    seen = run(any_mode, LANES, "shuffles", 7 * 32, "i8").reshape(7, 32) - 2**40
    assert (seen == np.stack(sources)).all()


def test_votes(any_mode: Device) -> None:
    """Ballots, any, all, sums and matches see exactly the lanes of their mask."""
    t = np.arange(32)
    seen = run(any_mode, LANES, "votes", 6 * 32, "u4").reshape(6, 32)
    thirds = sum(1 << i for i in range(0, 32, 3))
    low, high = sum(1 << i for i in range(8) if i & 1), sum(1 << i for i in range(8, 32) if i & 2)
    expected = [t * 0 + thirds, t * 0 + 3, t * 0, np.where(t < 8, low, high), t * 0 + 496, 0xFF << (t // 8 * 8)]
    assert (seen == np.stack(expected)).all()


def test_halves_of_a_warp_go_their_own_way(any_mode: Device) -> None:
    """Lanes of different masks exchange values different numbers of times, and meet at the barrier."""
    t = np.arange(32)
    expected = np.where(t < 16, (t ^ 1) + 5, (t ^ 1) + 3)
    assert (run(any_mode, LANES, "halves", 32, "i4") == expected).all()


def test_barriers_that_count(any_mode: Device) -> None:
    """Counting barriers see the threads that have not returned, and those that have hold nobody up."""
    seen = run(any_mode, LANES, "counts", 96, "i4", threads=96)
    assert seen.tolist() == [35 * 100 + 10] * 70 + [-1] * 26


def test_shared_memory_is_fresh_in_every_block(any_mode: Device) -> None:
    """A block finds nothing of the block before it in shared memory, declared or dynamic."""
    out = cuda.mem_alloc(32)
    any_mode.kernel(SHARED, "stale")(out, block=(1, 1, 1), grid=(4, 1), shared=64)
    assert (to_host(out, 8, "u4") == 0xCBCBCBCB).all()


def test_a_missing_barrier_shows(device: Device) -> None:
    """Without the barrier, threads read what others have not written yet; with it they never do."""
    for barrier, right in (("", False), ("#define BARRIER\n", True)):
        values = to_device(np.arange(64, dtype="i4"))
        device.kernel(barrier + SHARED, "reverse")(values, block=(64, 1, 1))
        assert (to_host(values, 64, "i4") == np.arange(64)[::-1]).all() == right


def test_atomics(any_mode: Device) -> None:
    """Every atomic operation counts every thread of every block once."""
    n = 4 * 64
    i, u = to_device(np.array([0, -5, 5, 0, -1], "i4")), to_device(np.zeros(1, "u8"))
    f, d, w = to_device(np.zeros(1, "f4")), to_device(np.zeros(1)), to_device(np.zeros(4, "u4"))
    any_mode.kernel(ATOMICS, "atomics")(i, u, f, d, w, block=(64, 1, 1), grid=(4, 1))
    assert to_host(i, 5, "i4").tolist() == [n * (n - 1) // 2, n - 1, 1 - n, 2**31 - 1, -(2**31)]
    assert [to_host(u, 1, "u8")[0], to_host(f, 1, "f4")[0], to_host(d, 1, "f8")[0]] == [n << 33, n / 2, n / 4]
    assert to_host(w, 4, "u4").tolist() == [0, n % 10, 2 * n, 70]


INTRINSICS = [
    ("__umulhi(0xFFFFFFFFu, 0xFFFFFFFFu)", 0xFFFFFFFE),
    ("__umul64hi(~0ull, ~0ull)", 2**64 - 2),
    ("__mulhi(-2, 1 << 30)", -1),
    ("__clz(1)", 31),
    ("__clz(0)", 32),
    ("__clzll(0)", 64),
    ("__popc(0xF0F0u)", 8),
    ("__popcll(~0ull)", 64),
    ("__ffs(8)", 4),
    ("__ffs(0)", 0),
    ("__brev(1u)", 1 << 31),
    ("__brevll(1ull)", 1 << 63),
    ("__byte_perm(0x33221100u, 0x77665544u, 0x6420u)", 0x66442200),
    ("__funnelshift_l(0x80000000u, 1u, 1)", 3),
    ("__funnelshift_r(2u, 1u, 1)", 0x80000001),
    ("__float_as_uint(1.0f)", 0x3F800000),
    ("__float_as_int(-0.0f)", -(2**31)),
    ("__double_as_longlong(1.0)", 0x3FF0000000000000),
    ("__double2hiint(1.0)", 0x3FF00000),
    ("(long long)__uint_as_float(0x40400000u)", 3),
    ("(long long)__hiloint2double(0x40080000, 0)", 3),
    ("__float2int_rz(-2.9f)", -2),
    ("__float2int_rn(2.5f)", 2),
    ("__float2int_rd(-2.1f)", -3),
    ("__float2int_ru(2.1f)", 3),
    ("__float2int_rz(1e20f)", 2**31 - 1),
    ("__float2int_rz(NAN)", 0),
    ("__float2uint_rz(-1.0f)", 0),
    ("__float2ll_rz(NAN)", -(2**63)),
    ("__double2ll_rz(1e30)", 2**63 - 1),
    ("__double2ull_rz(1e30)", 2**64 - 1),
    ("__double2int_rn(-0.5)", 0),
    ("__float_as_uint(__double2float_rz(0.1))", 0x3DCCCCCC),
    ("__float_as_uint(__double2float_rn(0.1))", 0x3DCCCCCD),
    ("__float_as_uint(__fmul_rn(1.0f + 1.0f / 4096, 1.0f + 1.0f / 4096))", 0x3F801000 + 0),
    ("__float_as_uint(__fmaf_rn(1.0f + 1.0f / 4096, 1.0f + 1.0f / 4096, -1.0f))", 0x3A000400),
    ("min(3u, 4) + max(-1, 2)", 5),
    ("max(1ll << 40, 2ll)", 1 << 40),
    ("(int)sizeof(float4) + (int)alignof(float4) * 100 + (int)alignof(float3) * 10000", 41616),
    ("make_int4(1, 2, 3, 4).z", 3),
    ("(int)(__saturatef(7.0f) + rsqrtf(0.25f))", 3),
]


def test_functions_that_the_dialect_adds(device: Device) -> None:
    """Integer, bit and rounded operations and conversions answer what the device answers."""
    lines = "".join(f"  out[{at}] = (long long)({expression});\n" for at, (expression, _) in enumerate(INTRINSICS))
    text = f'extern "C" __global__ void all(long long *out) {{\n{lines}}}\n'
    seen = run(device, text, "all", len(INTRINSICS), "i8", threads=1)
    wrong = [(e, v, int(s)) for (e, v), s in zip(INTRINSICS, seen, strict=True) if (v - int(s)) % 2**64]
    assert wrong == []


def test_products_and_sums_are_not_contracted(device: Device) -> None:
    """a * b + c is rounded twice."""
    text = 'extern "C" __global__ void f(float *a) { a[3] = a[0] * a[1] + a[2]; }'
    values = to_device(np.array([1 + 2**-12, 1 + 2**-12, -1, 0], "f4"))
    device.kernel(text, "f")(values, block=(1, 1, 1))
    assert to_host(values, 4, "f4")[3] == np.float32(1 + 2**-12) * np.float32(1 + 2**-12) - np.float32(1)


def test_a_kernel_without_waits_is_a_plain_loop(device: Device) -> None:
    """Many threads that never wait for each other cost no switch: a million of them run in a moment."""
    kernel = device.kernel('extern "C" __global__ void count(unsigned *a) { atomicAdd(a, 1u); }', "count")
    value = to_device(np.zeros(1, "u4"))
    kernel(value, block=(1024, 1, 1), grid=(1024, 1))
    assert to_host(value, 1, "u4")[0] == 1 << 20
    assert EMULATOR.pending() == 0


ORDERS = """
extern "C" __global__ void last(int *out) { out[0] = blockIdx.x * 64 + threadIdx.x; }
extern "C" __global__ void turned(int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  BARRIER;
  out[threadIdx.x] = s[63 - threadIdx.x];
}
"""


def in_order(device: Device, order: str, name: str, barrier: str = "__syncthreads()") -> list[int]:
    """What a kernel of ORDERS gives: two blocks of `last`, one of `turned`, of 64 threads."""
    EMULATOR.configure(order)
    out = to_device(np.zeros(64, "i4"))
    kernel = device.kernel(ORDERS.replace("BARRIER", barrier), name)
    kernel(out, block=(64, 1, 1), grid=(2 if name == "last" else 1, 1))
    EMULATOR.configure("order=forward")
    return [int(value) for value in to_host(out, 64, "i4")]


def test_blocks_and_threads_run_in_the_order_asked_for(device: Device) -> None:
    """The last thread of the last block, the first of the first, or any of them writes last."""
    assert in_order(device, "order=forward", "last")[0] == 127
    assert in_order(device, "order=reversed", "last")[0] == 0
    assert len({in_order(device, f"order=shuffled seed={seed}", "last")[0] for seed in range(9)}) > 4


def test_a_missing_barrier_shows_in_another_order(device: Device) -> None:
    """With it every order gives the same; without it each leaves other elements behind."""
    orders = ["order=forward", "order=reversed", "order=shuffled seed=1", "order=shuffled seed=2"]
    assert all(in_order(device, order, "turned") == list(range(63, -1, -1)) for order in orders)
    found = [in_order(device, order, "turned", "") for order in orders]
    assert all(one != other for place, one in enumerate(found) for other in found[:place])


def test_lanes_take_turns_in_the_order_asked_for(device: Device) -> None:
    """Between two shuffles too: without a barrier after the second one, the order shows."""
    text = """
    extern "C" __global__ void f(int *out) {
      int t = __shfl_xor_sync(~0u, threadIdx.x, 1);
      out[0] = t;
      out[1 + threadIdx.x] = __shfl_down_sync(~0u, t, 1);
    }
    """
    seen = []
    for order in ("forward", "reversed"):
        EMULATOR.configure(f"order={order}")
        out = to_device(np.zeros(33, "i4"))
        device.kernel(text, "f")(out, block=(32, 1, 1))
        seen.append([int(value) for value in to_host(out, 33, "i4")])
    EMULATOR.configure("order=forward")
    assert (seen[0][0], seen[1][0]) == (30, 1)
    assert seen[0][1:] == seen[1][1:]


def test_atomics_stay_in_memory_of_the_device(device: Device) -> None:
    """On the host's memory they are whole for nobody else: an illegal address, unless they are told to be allowed."""
    kernel = device.kernel('extern "C" __global__ void add(int *i) { atomicAdd(i, 1); }', "add")
    locked = cuda.pagelocked_zeros(1, "i4", mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    EMULATOR.configure("host_atomics=1")
    kernel(np.uint64(locked.ctypes.data), block=(4, 1, 1), grid=(1, 1))
    cuda.Context.synchronize()
    assert locked[0] == 4
    EMULATOR.configure("host_atomics=0")
    with pytest.raises(cuda.LogicError, match="illegal memory access"):
        kernel(np.uint64(locked.ctypes.data), block=(4, 1, 1), grid=(1, 1))
        cuda.Context.synchronize()
    assert "an atomic operation on memory of the host" in EMULATOR.last_fault()
