"""What the adapters of NumPy-like libraries share: layouts as plain data, moves, elements as bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import digits

NUMPY = {
    "float64": np.float64, "float32": np.float32, "float16": np.float16, "int64": np.int64, "int32": np.int32,
    "int16": np.int16, "int8": np.int8, "uint64": np.uint64, "uint32": np.uint32, "uint16": np.uint16,
    "uint8": np.uint8, "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
}  # fmt: skip
"""The dtypes that NumPy has too."""


@dataclass(frozen=True)
class Strides:
    """A layout in elements, as a command gave it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def bits_of(array: np.ndarray[Any, Any], name: str) -> dict[str, Any]:
    """An array's elements in C order, as the protocol writes them."""
    dtype = Dtype.of_name(name)
    raw = np.ascontiguousarray(array).reshape(-1)
    width = raw.itemsize
    data = raw.astype(raw.dtype.newbyteorder(">")).tobytes() if raw.dtype.kind != "c" else _complex_bytes(raw)
    texts = [data[at : at + width].hex()[-digits(dtype) :] for at in range(0, len(data), width)]
    return {"dtype": name, "bits": texts}


def _complex_bytes(raw: np.ndarray[Any, Any]) -> bytes:
    """The bytes of complex elements, the imaginary part first: the number whose low half is the real part."""
    half = np.dtype(f">f{raw.itemsize // 2}")
    parts = np.stack([raw.imag, raw.real], axis=-1).astype(half)
    return parts.tobytes()


def slices(ranges: list[list[int]]) -> tuple[slice, ...]:
    """A Slice move's ranges as Python's slices: start, count, step."""
    found = []
    for start, count, step in ranges:
        stop: int | None = start + count * step
        found.append(slice(start, None if stop is not None and stop < 0 else stop, step))
    return tuple(found)
