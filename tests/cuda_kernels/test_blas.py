"""matmul with cuBLAS there: a stand-in is given the device's stream, pedantic arithmetic and the right addresses.

The stand-in waits for the stream and computes on the host; the library itself is not run here.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np
import pytest
from tests.cuda_arrays.emulated import EMULATED, told
from tests.cuda_kernels.arrays_there import Values, put, result, turned

import counterfoil
from counterfoil.cuda.device import Cuda
from counterfoil.cuda.kernels import library

RANDOM = np.random.default_rng(20264)


class Blas:
    """What of nvmath.bindings.cublas is called, for float32 and float64."""

    ComputeType = enum.IntEnum("ComputeType", {"COMPUTE_32F_PEDANTIC": 69, "COMPUTE_64F_PEDANTIC": 71})
    GemmAlgo = enum.IntEnum("GemmAlgo", {"DEFAULT": -1})
    Math = enum.IntEnum("Math", {"PEDANTIC_MATH": 2})

    def __init__(self) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.stream, self.math, self.products = 0, 0, 0
        self.workspaces: list[tuple[int, int, int]] = []

    def create(self) -> int:
        """A handle."""
        return 77

    def set_stream(self, handle: int, stream: int) -> None:
        """The stream that products are enqueued on."""
        self.stream = stream

    def set_workspace(self, handle: int, address: int, nbytes: int) -> None:
        """The memory that products may use."""
        self.workspaces.append((address, nbytes, self.stream))

    def set_math_mode(self, handle: int, mode: int) -> None:
        """How they are computed."""
        self.math = mode

    def gemm_strided_batched_ex(self, handle: int, *given: int) -> None:
        """Column-major ``c = alpha op(a) op(b) + beta c``, on the host once the stream is there."""
        trans_a, trans_b, m, n, k, alpha = given[:6]
        a, b, beta, c, (count, compute, _) = given[6:10], given[10:14], given[14], given[14 + 1 : 19], given[19:]
        dtype = {69: "float32", 71: "float64"}[compute]
        scalars = [np.frombuffer(ctypes.string_at(at, np.dtype(dtype).itemsize), dtype)[0] for at in (alpha, beta)]
        assert (handle, scalars) == (77, [1, 0])
        assert not self.driver.cuStreamSynchronize(ctypes.c_void_p(self.stream))
        for which in range(count):
            left = self.read(a, which, (k, m) if trans_a else (m, k), dtype)
            right = self.read(b, which, (n, k) if trans_b else (k, n), dtype)
            product = (left.T if trans_a else left) @ (right.T if trans_b else right)
            for column in range(n):
                self.column(c, which, column, np.ascontiguousarray(product[:, column]), write=True)
        assert not self.driver.cuCtxSynchronize()  # a copy from pageable memory may still be under way
        self.products += 1

    def read(self, side: tuple[int, ...], which: int, shape: tuple[int, int], dtype: str) -> Values:
        """A column-major matrix, column by column."""
        found = np.empty((shape[1], shape[0]), dtype)
        for place, line in enumerate(found):
            self.column(side, which, place, line, write=False)
        return found.T

    def column(self, side: tuple[int, ...], which: int, place: int, line: Values, write: bool) -> None:
        """A column to or from the device."""
        address = ctypes.c_uint64(side[0] + (which * side[3] + place * side[2]) * line.itemsize)
        there, here = (address, ctypes.c_void_p(line.ctypes.data)), ctypes.c_size_t(line.nbytes)
        copy = self.driver.cuMemcpyHtoD_v2 if write else self.driver.cuMemcpyDtoH_v2
        assert not copy(*(there if write else reversed(there)), here)


@pytest.fixture
def blas(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stand-in in the place of the bindings."""
    made = Blas()
    monkeypatch.setattr(library, "_cublas", lambda: made)
    library._handles.clear()
    yield made
    library._handles.clear()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("lying", [(put, put), (turned, put), (put, turned), (turned, turned)])
def test_a_product_is_the_librarys(blas: Blas, dtype: str, batch: tuple[int, ...], lying: Any) -> None:
    """On the device's stream, in pedantic arithmetic, from where the operands begin."""
    a = RANDOM.integers(-4, 5, (*batch, 5, 7)).astype(dtype)
    b = RANDOM.integers(-4, 5, (*batch, 7, 3)).astype(dtype)
    found = result("matmul", np.zeros((*batch, 5, 3), dtype), lying[0](a, 2), lying[1](b, 1))
    assert np.array_equal(found, a @ b)
    device = counterfoil.cuda(0)
    assert isinstance(device, Cuda)
    assert (blas.products, blas.stream, blas.math) == (1, device.handle, Blas.Math.PEDANTIC_MATH)


def test_what_the_library_does_not_take_goes_to_the_tiles(blas: Blas) -> None:
    """Integers, no terms, and a batch of two axes."""
    for dtype, batch, k in (("int32", (), 7), ("float32", (), 0), ("float32", (2, 3), 4)):
        a, b = np.ones((*batch, 2, k), dtype), np.ones((*batch[1:], k, 3), dtype)
        assert np.array_equal(result("matmul", np.zeros((*batch, 2, 3), dtype), put(a), put(b)), a @ b)
    assert not blas.products


def test_without_a_library_that_starts_the_tiles_do_it(blas: Blas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bindings whose library is missing raise when a handle is made: once."""
    tried = []

    def fails() -> int:
        tried.append(1)
        raise RuntimeError("no libcublas")

    monkeypatch.setattr(blas, "create", fails)
    for _ in range(2):
        a = np.eye(4, dtype="float32")
        assert np.array_equal(result("matmul", a, put(a), put(a)), a)
    assert len(tried) == 1


def failing(blas: Blas, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Products fail as the bindings' do."""

    def fails(handle: int, *given: int) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(blas, "gemm_strided_batched_ex", fails)


@pytest.mark.parametrize("status", ["NOT_SUPPORTED (15)", "NOT_INITIALIZED (1)", "ALLOC_FAILED (3)"])
def test_what_the_library_refuses_when_asked_goes_to_the_tiles(
    blas: Blas, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    """The device goes on, and the product is there; also one that tiles would share out."""
    failing(blas, monkeypatch, status)
    for k in (7, 3000):
        a, b = RANDOM.integers(-4, 5, (5, k)).astype("float32"), RANDOM.integers(-4, 5, (k, 3)).astype("float32")
        assert np.array_equal(result("matmul", np.zeros((5, 3), "float32"), put(a), put(b)), a @ b)


@pytest.mark.skipif(not EMULATED, reason="asks the emulated driver to fail")
def test_a_library_that_fails_with_the_device_loses_it() -> None:
    """In the words of the driver, which tells more than the library's status."""
    program = """
import ctypes
from counterfoil.cuda.kernels import library
from tests.cuda_kernels.test_blas import Blas
from pycuda import driver as pycuda
blas = Blas()
library._cublas = lambda: blas
a = cf.from_values(cf.float32, (2, 2), [1.0, 2.0, 3.0, 4.0]).to_device(d)
d.advance(100)
def fails(handle, *given):
    memory = pycuda.mem_alloc(64)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    configure("fail=cuMemcpyDtoDAsync:1@700")
    pycuda.memcpy_dtod_async(int(memory), int(memory) + 32, 32, d.timeline.raw)
    raise RuntimeError("EXECUTION_FAILED (13)")
blas.gemm_strided_batched_ex = fails
tell(lost(lambda: (a @ a).to_device(cf.host()).to_values()))
"""
    (words,) = told(program)
    assert words.startswith("cuda:0: ") and "illegal memory access" in words


def test_the_library_works_in_memory_that_it_was_given(blas: Blas) -> None:
    """After the stream was set, which takes it away; on 256 bytes, as many as are recommended."""
    a = np.eye(4, dtype="float32")
    assert np.array_equal(result("matmul", a, put(a), put(a)), a)
    (address, nbytes, stream) = blas.workspaces[-1]
    device = counterfoil.cuda(0)
    assert isinstance(device, Cuda)
    recommended = library.WORKSPACE[device.properties["compute_capability"] >= (9, 0)]
    assert (nbytes, stream) == (recommended, device.handle) and address % 256 == 0


def test_a_library_without_room_to_start_gets_some(blas: Blas, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody uses is given back, and it is asked once more."""
    device = counterfoil.cuda(0)
    assert isinstance(device, Cuda)
    tried: list[int] = []

    def starts() -> int:
        tried.append(device.pool.cached_bytes())
        if len(tried) == 1:
            raise RuntimeError("ALLOC_FAILED (3)")
        return 77

    monkeypatch.setattr(blas, "create", starts)
    a = np.eye(4, dtype="float32")
    put(np.zeros(1 << 16, "float32"))
    assert np.array_equal(result("matmul", a, put(a), put(a)), a)
    assert len(tried) == 2 and tried[0] > 0 == tried[1] and blas.products == 1
