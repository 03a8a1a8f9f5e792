"""cuBLAS through nvmath-python, where that is installed: float products without TF32, in pedantic arithmetic (N3).

It takes column-major matrices, so the transposed product is asked for: a row-major matrix is its transpose to it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from counterfoil_spec.dtypes import Dtype, bfloat16, float16, float32, float64

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_FORMATS: Final = {float32: 0, float64: 1, float16: 2, bfloat16: 14}
"""cudaDataType of the dtypes that are multiplied here."""

_PLAIN, _TRANSPOSED = 0, 1
_LARGEST: Final = (1 << 31) - 1
_SINGLE = (ctypes.c_float * 2)(1.0, 0.0)
_DOUBLE = (ctypes.c_double * 2)(1.0, 0.0)

_handles: WeakKeyDictionary[Cuda, int | None] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Matrices:
    """One operand's matrices of a batch: the address of the first, and strides in elements."""

    address: int
    row: int
    column: int
    batch: int = 0

    def led(self, rows: int, columns: int) -> tuple[bool, int] | None:
        """Whether columns rather than rows are contiguous, and the stride from one to the next; None: neither, or
        they are not apart."""
        if (self.column == 1 or columns == 1) and (rows == 1 or self.row >= columns):
            return False, columns if rows == 1 else self.row
        if (self.row == 1 or rows == 1) and (columns == 1 or self.column >= rows):
            return True, rows if columns == 1 else self.column
        return None


@dataclass(frozen=True, slots=True)
class Product:
    """``matrices`` products of m by k and k by n matrices. Strides as the operands have them."""

    dtype: Dtype
    m: int
    n: int
    k: int
    matrices: int
    dst: Matrices
    a: Matrices
    b: Matrices


def arguments(product: Product) -> tuple[int, ...] | None:
    """The arguments of gemm_strided_batched_ex after the handle, scalars left out (None where it cannot be asked):
    operations, m, n, k, then address, format, lead, batch stride of the first and second operand and the result,
    then how many."""
    left = product.b.led(product.k, product.n)
    right = product.a.led(product.m, product.k)
    result = product.dst.led(product.m, product.n)
    if product.dtype not in _FORMATS or 0 in (product.m, product.n, product.k) or not (left and right and result):
        return None
    whole = (product.m, product.n, product.k, product.matrices, left[1], right[1], result[1])
    strides = (product.dst.batch, product.a.batch, product.b.batch)
    if result[0] or max(whole) > _LARGEST or min(strides) < 0:
        return None
    form = _FORMATS[product.dtype]
    operations = tuple(_TRANSPOSED if operand[0] else _PLAIN for operand in (left, right))
    operands = [(product.b, left), (product.a, right), (product.dst, result)]
    described = (fact for matrices, led in operands for fact in (matrices.address, form, led[1], matrices.batch))
    return (*operations, product.n, product.m, product.k, *described, product.matrices)


def launch(device: Cuda, product: Product) -> Callable[[], None] | None:
    """What enqueues a product on the device's stream; None where there is no cuBLAS, or it does not take this one."""
    given = arguments(product)
    handle = None if given is None else _handle(device)
    if given is None or handle is None:
        return None
    cublas = _cublas()
    scalars = _DOUBLE if product.dtype is float64 else _SINGLE
    one = ctypes.addressof(scalars)
    zero = one + ctypes.sizeof(scalars) // 2
    kinds = cublas.ComputeType
    compute = kinds.COMPUTE_64F_PEDANTIC if product.dtype is float64 else kinds.COMPUTE_32F_PEDANTIC
    algorithm = cublas.GemmAlgo.DEFAULT
    sides, first, second, result, count = given[:5], given[5:9], given[9:13], given[13:17], given[17]

    def enqueue() -> None:
        cublas.gemm_strided_batched_ex(
            handle, *sides, one, *first, *second, zero, *result, count, int(compute), int(algorithm)
        )

    return enqueue


@lru_cache(maxsize=1)
def _cublas() -> Any:
    """The bindings, or None where they are not installed."""
    try:
        return import_module("nvmath.bindings.cublas")
    except ImportError:
        return None


def _handle(device: Cuda) -> int | None:
    """The device's handle, on its stream, made when first needed; None where there is no cuBLAS that makes one."""
    with _lock:
        if device not in _handles:
            _handles[device] = _made(device)
        return _handles[device]


def _made(device: Cuda) -> int | None:
    cublas = _cublas()
    if cublas is None:
        return None
    with device.current():
        try:
            handle = int(cublas.create())
        except Exception:  # the package without the library raises its own: there is none, and own tiles do the work
            return None
        cublas.set_stream(handle, device.handle)
        cublas.set_math_mode(handle, int(cublas.Math.PEDANTIC_MATH))
    return handle
