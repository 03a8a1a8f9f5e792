"""Memory, arrays and brute-force answers for the tests of the C core alone, through cffi."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from counterfoil._native import ffi, lib
from counterfoil_spec.dtypes import Dtype


@dataclass(frozen=True)
class Strides:
    """A layout as plain numbers: shape, strides and offset in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def positions(self) -> Iterator[int]:
        """The position of each index, in C order."""
        for index in product(*map(range, self.shape)):
            yield self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))

    def lowest(self) -> Strides:
        """The same layout moved so that its least position is 0."""
        low = min(self.positions(), default=0)
        return Strides(self.shape, self.strides, self.offset - low)


def layout_of(layout: Strides) -> Any:
    """The core's layout; AssertionError if it refuses it."""
    made = ffi.new("cf_layout *")
    rank = len(layout.shape)
    assert lib.cf_layout_make(made, rank, list(layout.shape), list(layout.strides), layout.offset, ffi.NULL) == 0
    return made


class Memory:
    """Host memory of the core: one buffer over all of it, and arrays over that buffer."""

    def __init__(self, nbytes: int, offset: int = 0, base: Any = None) -> None:
        self.device = ffi.gc(lib.cf_device_create(ffi.NULL), lib.cf_device_destroy)
        if base is None:
            record = lib.cf_memory_create(nbytes + offset, self.device, ffi.NULL, 0)
        else:
            record = lib.cf_memory_adopt(base, nbytes + offset, self.device, ffi.NULL, 0)
        self.memory = ffi.gc(record, lib.cf_memory_destroy)
        self.buffer = ffi.new("cf_buffer *")
        lib.cf_buffer_make(self.buffer, self.memory, offset, nbytes, self.device, 1)

    def array(self, dtype: Dtype, layout: Strides) -> Any:
        """An array over the buffer; AssertionError if the core refuses it."""
        made = ffi.new("cf_array *")
        assert lib.cf_array_make(made, dtype.code, layout_of(layout), self.buffer) == 0
        return made

    def claims(self) -> tuple[int, bool, bool]:
        """Counted claims, held exclusive, exported."""
        exclusive, exported = ffi.new("bool *"), ffi.new("bool *")
        count = lib.cf_claims_state(self.memory, exclusive, exported)
        return count, bool(exclusive[0]), bool(exported[0])


def bytes_of(dtype: Dtype, layout: Strides) -> set[int]:
    """The bytes, counted from the buffer's first, that hold bits of some element."""
    return {
        byte
        for position in layout.positions()
        for byte in range(position * dtype.bits // 8, (position * dtype.bits + dtype.bits - 1) // 8 + 1)
    }


def bits_of(dtype: Dtype, layout: Strides) -> list[int]:
    """The first bit of each index's element, in C order."""
    return [position * dtype.bits for position in layout.positions()]


def operands(*arrays: Any) -> Any:
    """The C vector of operands of a door call."""
    return ffi.new("cf_array *[]", list(arrays))


def shape_of(layout: Any) -> tuple[int, ...]:
    """The shape of a core layout."""
    return tuple(layout.shape[axis] for axis in range(layout.rank))


def strides_of(layout: Any) -> tuple[int, ...]:
    """The strides of a core layout."""
    return tuple(layout.strides[axis] for axis in range(layout.rank))


def plain(layout: Any) -> Strides:
    """A core layout as plain numbers."""
    return Strides(shape_of(layout), strides_of(layout), layout.offset)


def extents(shape: Sequence[int]) -> int:
    """The product of the extents."""
    size = 1
    for extent in shape:
        size *= extent
    return size
