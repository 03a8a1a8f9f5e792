"""cuBLAS through nvmath-python, where that is installed: float products without TF32, in pedantic arithmetic (N3).

It takes column-major matrices, so the transposed product is asked for: a row-major matrix is its transpose to it. Its
handle has memory of its own to work in: no product allocates, and a product has the same bits each time. What it
refuses is left to the caller, unless the device has ended.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from counterfoil.buffers import Buffer
from counterfoil.cuda import driver
from counterfoil.cuda.device import pointer
from counterfoil.cuda.probe import DriverFailed
from counterfoil_spec.dtypes import Dtype, bfloat16, float16, float32, float64
from counterfoil_spec.refusals import Refusal

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_FORMATS: Final = {float32: 0, float64: 1, float16: 2, bfloat16: 14}
"""cudaDataType of the dtypes that are multiplied here."""

_PLAIN, _TRANSPOSED = 0, 1
_LARGEST: Final = (1 << 31) - 1
_SINGLE = (ctypes.c_float * 2)(1.0, 0.0)
_DOUBLE = (ctypes.c_double * 2)(1.0, 0.0)

WORKSPACE: Final = {True: 32 << 20, False: 4 << 20}
"""Bytes of a handle's own memory that NVIDIA recommends: from architecture 9.0 on, and before."""


class Handle(NamedTuple):
    """cuBLAS's handle of a device, and the memory it works in."""

    number: int
    workspace: Buffer


_NO_ROOM: Final[Any] = object()

_handles: WeakKeyDictionary[Cuda, Handle | None] = WeakKeyDictionary()
_lock = threading.RLock()  # a collection of garbage in between may come here


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


def launch(device: Cuda, product: Product, otherwise: Callable[[], Callable[[], None]]) -> Callable[[], None] | None:
    """What enqueues a product on the device's stream; None where there is no cuBLAS, or it does not take this one.

    ``otherwise`` gives what enqueues it if cuBLAS refuses it then. Refuses memory/exhausted and memory/lost.
    """
    given = arguments(product)
    handle = None if given is None else _handle(device)
    if given is None or handle is None:
        return None
    instead = otherwise()
    cublas = _cublas()
    scalars = _DOUBLE if product.dtype is float64 else _SINGLE
    one = ctypes.addressof(scalars)
    zero = one + ctypes.sizeof(scalars) // 2
    kinds = cublas.ComputeType
    compute = kinds.COMPUTE_64F_PEDANTIC if product.dtype is float64 else kinds.COMPUTE_32F_PEDANTIC
    algorithm = cublas.GemmAlgo.DEFAULT
    sides, first, second, result, count = given[:5], given[5:9], given[9:13], given[13:17], given[17]

    def enqueue() -> None:
        try:
            cublas.gemm_strided_batched_ex(
                handle.number, *sides, one, *first, *second, zero, *result, count, int(compute), int(algorithm)
            )
        except Exception:  # a product that it does not support, or the device's end, which the driver then tells
            driver.require_sound(device.timeline.raw)
            instead()

    return enqueue


@lru_cache(maxsize=1)
def _cublas() -> Any:
    """The bindings, or None where they are not installed, or not fit for what is there."""
    try:
        return import_module("nvmath.bindings.cublas")
    except Exception:  # the package looks at the installation when it is imported
        return None


def _handle(device: Cuda) -> Handle | None:
    """The device's handle, on its stream, made when first needed; None where there is no cuBLAS that makes one.

    Refuses memory/exhausted and memory/lost.
    """
    with _lock:
        if device not in _handles:
            _handles[device] = None if _cublas() is None else _made(device)
        return _handles[device]


def _made(device: Cuda) -> Handle | None:
    workspace = device.scratch(WORKSPACE[device.properties["compute_capability"] >= (9, 0)])
    handle = _tried(device, workspace)
    if handle is _NO_ROOM:
        device.pool.make_room()
        handle = _tried(device, workspace)
    return None if handle is _NO_ROOM else handle


def _tried(device: Cuda, workspace: Buffer) -> Handle | None:
    """A handle; None where there is no library that makes one, _NO_ROOM where it had no memory for that."""
    try:
        with device.current():
            return Handle(_started(device, workspace), workspace)
    except DriverFailed as failure:
        raise device.failed(failure) from None
    except Exception as failure:  # the package without the library raises its own: own tiles do the work then
        told = device.failed(DriverFailed(str(failure)))
        if isinstance(told, Refusal):
            raise told from None
        return _NO_ROOM if "ALLOC_FAILED" in str(failure) else None


def _started(device: Cuda, workspace: Buffer) -> int:
    """A new handle, the device being current."""
    cublas = _cublas()
    number = int(cublas.create())
    cublas.set_stream(number, device.handle)
    cublas.set_workspace(number, pointer(workspace), workspace.nbytes)  # which setting a stream takes away
    cublas.set_math_mode(number, int(cublas.Math.PEDANTIC_MATH))
    return number
