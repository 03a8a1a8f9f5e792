"""What the adapters of array libraries share: layouts as plain data, moves, elements as bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK
from counterfoil_spec.protocol import digits

NUMPY: Final[dict[str, Any]] = {
    "float64": np.float64, "float32": np.float32, "float16": np.float16, "int64": np.int64, "int32": np.int32,
    "int16": np.int16, "int8": np.int8, "uint64": np.uint64, "uint32": np.uint32, "uint16": np.uint16,
    "uint8": np.uint8, "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
}  # fmt: skip
"""The dtypes that NumPy has too."""

TOO_BIG_TO_TRY: Final = range(1 << 30, 1 << 47)
"""Bytes that one machine gives and another refuses: no behaviour of a library. Past them, no address space is left."""


@dataclass(frozen=True)
class Strides:
    """A layout in elements, as a command gave it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass
class Held:
    """An array of the library, and the bytes of the buffer that it is a view of."""

    array: Any
    memory: Any


def layout(shape: Sequence[int], strides: Sequence[int], offset: int) -> Strides:
    """A canonical layout, whatever it is later laid over.

    The libraries have no layouts apart from arrays, so they refuse none: what the rules refuse is left out.
    """
    extents = [max(1, extent) for extent in shape]
    if len(shape) > MAX_RANK or len(strides) != len(shape) or min(shape, default=0) < 0:
        raise NotImplementedError("layouts apart from arrays")
    if math.prod(extents) > MAX_ELEMENTS:
        raise NotImplementedError("layouts apart from arrays")
    if 0 in shape:
        return Strides(tuple(shape), (0,) * len(shape), 0)
    steps = [stride if extent > 1 else 0 for extent, stride in zip(shape, strides, strict=True)]
    ends = [step * (extent - 1) for step, extent in zip(steps, shape, strict=True)]
    lowest = offset + sum(end for end in ends if end < 0)
    highest = offset + sum(end for end in ends if end > 0)
    if lowest < 0 or highest >= MAX_ELEMENTS:
        raise NotImplementedError("layouts apart from arrays")
    return Strides(tuple(shape), tuple(steps), offset)


def contiguous(shape: Sequence[int]) -> Strides:
    """The C-contiguous layout of a shape."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    return layout(shape, strides[: len(shape)], 0)


def affordable(dtype: str, shape: Sequence[int]) -> None:
    """Leave out arrays whose memory depends on the machine alone."""
    if min(shape, default=0) >= 0 and math.prod(shape) * Dtype.of_name(dtype).bits // 8 in TOO_BIG_TO_TRY:
        raise NotImplementedError("as much memory as that")


def bits_of(array: np.ndarray[Any, Any], name: str) -> dict[str, Any]:
    """An array's elements in C order, as the protocol writes them. ``array``: of that dtype or of its raw words."""
    dtype = Dtype.of_name(name)
    raw = np.ascontiguousarray(array).reshape(-1)
    words = raw.view(np.uint64 if raw.itemsize > 8 else f"u{raw.itemsize}").tolist()
    if raw.itemsize > 8:
        words = [low | high << 64 for low, high in zip(words[::2], words[1::2], strict=True)]
    return {"dtype": name, "bits": [f"{word:0{digits(dtype)}x}" for word in words]}


def element(found: dict[str, Any], shape: Sequence[int]) -> dict[str, Any]:
    """What ``array.get`` answers: one element's bits, or all of them where the library gave a whole row."""
    return found if len(shape) else {**found, "bits": found["bits"][0]}


def is_past_words(index: Sequence[int]) -> bool:
    """Whether an entry of an index has more than 64 bits: what overflows is then not the value."""
    return max(map(abs, index), default=0) >= 1 << 63


def slices(ranges: Sequence[Sequence[int]]) -> tuple[slice, ...]:
    """A Slice move's ranges as Python's slices: start, count, step."""
    found = []
    for start, count, step in ranges:
        stop = start + count * step
        found.append(slice(start, None if step < 0 and stop < 0 else stop, step))
    return tuple(found)
