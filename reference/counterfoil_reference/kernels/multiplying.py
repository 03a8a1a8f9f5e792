"""matmul: products of matrices over the last two axes, earlier axes broadcast."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from counterfoil_reference import arithmetic, door, elements
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept
from counterfoil_reference.kernels import bounds
from counterfoil_reference.kernels.output import write
from counterfoil_reference.numbers import FORMATS, decode
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS

Shape = tuple[int, ...]
Pairs = list[tuple[int, int]]


def matmul(dst: Array, x: Array, y: Array) -> Answer:
    """``dst[..., i, j] = sum_k x[..., i, k] * y[..., k, j]``; integers wrap, floats within N3's bound plus ``n h``.

    All of rank 2 or more; the batch axes of x and y broadcast, aligned from the right, to exactly dst's. Over no
    term a sum is 0. A destination identical to a source, with an element, is Declined.
    """
    instance("dst", dst, Array)
    instance("x", x, Array)
    instance("y", y, Array)
    dtypes_fit = x.dtype in KERNELS["matmul"].domain and x.dtype is y.dtype is dst.dtype
    return door.run(
        [dst],
        [x, y],
        dtypes_fit,
        lambda: product_shape(x.shape, y.shape) == dst.shape,
        lambda: door.identical(dst, x) or door.identical(dst, y),
        lambda: _work(dst, x, y),
    )


def product_shape(x: Shape, y: Shape) -> Shape | None:
    """The shape of a product, or None where there is none."""
    if len(x) < 2 or len(y) < 2 or x[-1] != y[-2]:
        return None
    batch = broadcast_shape(x[:-2], y[:-2])
    return None if batch is None else (*batch, x[-2], y[-1])


def broadcast_shape(x: Shape, y: Shape) -> Shape | None:
    """The shape both broadcast to, aligned from the right, or None."""
    rank = max(len(x), len(y))
    pairs = list(zip((1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    return tuple(b if a == 1 else a for a, b in pairs)


def _work(dst: Array, x: Array, y: Array) -> None:
    dtype = dst.dtype
    products = list(_pairs(dst.shape, x, y))
    results = [_dot(dtype, pairs) for pairs in products]

    def rooms() -> list[Accept | None]:
        return [_dot_room(dtype, pairs, stored) for pairs, stored in zip(products, results, strict=True)]

    write(dst, results, rooms)


def _pairs(shape: Shape, x: Array, y: Array) -> Iterator[Pairs]:
    """For each index of the result in C order, the codes to multiply, in order of k."""
    left, right = elements.codes(x), elements.codes(y)
    for *batch, i, j in elements.indices(shape):
        rows, columns = _start(batch, x.shape), _start(batch, y.shape)
        inner, width = x.shape[-1], y.shape[-1]
        first, second = rows + i * inner, columns + j
        yield [(left[first + k], right[second + k * width]) for k in range(inner)]


def _start(batch: Sequence[int], shape: Shape) -> int:
    """Where the matrix of a batch index begins in C order; axes of extent 1 are read at every index."""
    position = 0
    for entry, extent in zip(batch[len(batch) - len(shape) + 2 :], shape[:-2], strict=True):
        position = position * extent + (entry if extent != 1 else 0)
    return position * math.prod(shape[-2:])


def _terms(dtype: Dtype, pairs: Pairs) -> bounds.Terms:
    form = FORMATS[dtype]
    return bounds.summed([arithmetic.multiply(decode(form, a), decode(form, b)) for a, b in pairs])


def _dot(dtype: Dtype, pairs: Pairs) -> int:
    if dtype.float_format is None:
        return sum(a * b for a, b in pairs) & ((1 << dtype.bits) - 1)
    return bounds.sum_code(FORMATS[dtype], _terms(dtype, pairs))


def _dot_room(dtype: Dtype, pairs: Pairs, stored: int) -> Accept | None:
    if dtype.float_format is None:
        return None
    return bounds.sum_room(dtype, _terms(dtype, pairs), stored, underflows=len(pairs))
