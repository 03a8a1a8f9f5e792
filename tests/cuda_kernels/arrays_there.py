"""Arrays of numpy's on the CUDA device and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import counterfoil
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access
from counterfoil_spec.moves import Permute

Values = np.ndarray[Any, np.dtype[Any]]


Lying = Callable[..., counterfoil.Array]
"""A way to put values on the device: ``put`` or ``turned``."""


def put(values: Values, before: int = 0) -> counterfoil.Array:
    """The values C-contiguous in memory of the device, ``before`` elements past its beginning."""
    values = np.asarray(values)
    dtype = Dtype.of_name(values.dtype.name)
    buffer = counterfoil.cuda(0).buffer((before + values.size) * values.itemsize)
    counterfoil.inspection.poke(buffer, b"\xee" * (before * values.itemsize) + values.tobytes())
    strides = counterfoil.Layout.contiguous(values.shape).strides
    return counterfoil.Array(dtype, counterfoil.Layout(values.shape, strides, before), buffer)


def like(values: Values) -> counterfoil.Array:
    """An array of that shape and dtype on the device, every byte of it 0xee."""
    return put(np.frombuffer(b"\xee" * values.nbytes, values.dtype).reshape(values.shape))


def turned(values: Values, before: int = 0) -> counterfoil.Array:
    """The values on the device, the last two axes stored the other way round."""
    order = (*range(values.ndim - 2), values.ndim - 1, values.ndim - 2)
    found = put(np.ascontiguousarray(values.transpose(order)), before).move(Permute(order))
    assert found is not None
    return found


def got(array: counterfoil.Array) -> Values:
    """The values of a C-contiguous array at the beginning of its memory, once they are there."""
    array.buffer.wait(Access.READ)
    memory = counterfoil.inspection.memory_bytes(array.buffer)
    return np.frombuffer(memory, array.dtype.name).reshape(array.shape)


def result(name: str, like_this: Values, *operands: Any) -> Values:
    """What a kernel that answers Done writes over fresh memory of the shape and dtype given."""
    dst = like(like_this)
    assert getattr(counterfoil.kernels, name)(dst, *operands) is Answer.DONE
    return got(dst)
