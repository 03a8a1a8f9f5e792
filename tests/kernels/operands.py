"""Operands and calls as plain data: a dtype, a layout, and the bits of the elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.expressions import Node

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Way:
    """How an operand lies: a layout as plain numbers, and the positions its memory holds."""

    shape: Shape
    strides: Shape
    offset: int
    room: int

    def places(self) -> np.ndarray:
        """The position of each index, in C order."""
        found = np.array([self.offset])
        for extent, stride in zip(self.shape, self.strides, strict=True):
            found = (found[:, None] + np.arange(extent) * stride).reshape(-1)
        return found

    def positions(self) -> list[int]:
        """The same as integers."""
        places: list[int] = self.places().tolist()
        return places

    def distinct(self) -> bool:
        """Whether no two indices have one position."""
        places = self.places()
        return np.unique(places).size == places.size

    def tight(self, bits: int) -> Way:
        """The same layout over the fewest bytes; elements narrower than a byte keep their place in it."""
        places = self.places()
        if places.size == 0:
            return Way(self.shape, self.strides, 0, 0)
        first = int(places.min() - places.min() % max(8 // bits, 1))
        return Way(self.shape, self.strides, self.offset - first, int(places.max()) + 1 - first)


def way(shape: Sequence[int], strides: Sequence[int], before: int = 0, after: int = 0) -> Way:
    """The way whose least position is ``before``, with ``after`` positions past the greatest."""
    if 0 in shape:
        return Way(tuple(shape), tuple(strides), 0, before + after)
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    return Way(tuple(shape), tuple(strides), before - low, before - low + high + 1 + after)


def contiguous(shape: Sequence[int]) -> Shape:
    """C-order strides."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True)
class Operand:
    """An array to be: ``codes`` are its elements in C order (integers, or for many of them an ndarray of unsigned ones
    of the elements' width), ``filler`` every byte beside them."""

    dtype: Dtype
    way: Way
    codes: Sequence[int] | np.ndarray
    filler: int

    def memory(self) -> bytes:
        """The bytes of its memory."""
        width = max(self.dtype.bits // 8, 1)
        memory = np.full(self.dtype.nbytes(self.way.room), self.filler, np.uint8)
        if isinstance(self.codes, np.ndarray):
            codes = np.ascontiguousarray(self.codes).view(np.uint8)
        else:
            codes = np.frombuffer(b"".join(code.to_bytes(width, "little") for code in self.codes), np.uint8)
        if self.dtype.bits >= 8:
            memory.reshape(-1, width)[self.way.places()] = codes.reshape(-1, width)
            return memory.tobytes()
        loose = unpacked(memory, self.dtype.bits)
        loose[self.way.places()] = codes.reshape(-1)
        return packed(loose, self.dtype.bits).tobytes()


def unpacked(memory: np.ndarray, bits: int) -> np.ndarray:
    """Elements narrower than a byte, one a byte."""
    per_byte = 8 // bits
    return (memory[:, None] >> (np.arange(per_byte, dtype=np.uint8) * bits) & (1 << bits) - 1).reshape(-1)


def packed(loose: np.ndarray, bits: int) -> np.ndarray:
    """The inverse of ``unpacked``."""
    per_byte = 8 // bits
    found: np.ndarray = np.bitwise_or.reduce(
        loose.reshape(-1, per_byte) << (np.arange(per_byte, dtype=np.uint8) * bits), axis=1
    )
    return found


@dataclass(frozen=True)
class Call:
    """A kernel call. ``identical``: the source whose memory the destination is, read at the destination's dtype."""

    kernel: str
    dst: Operand
    sources: Sequence[Operand]
    parameters: tuple[Any, ...] = ()
    expression: Node | None = None
    identical: int | None = None


def put(memory: bytearray, dtype: Dtype, position: int, code: int) -> None:
    """Store an element's bits and no other."""
    first, shift = divmod(position * dtype.bits, 8)
    if dtype.bits >= 8:
        memory[first : first + dtype.bits // 8] = code.to_bytes(dtype.bits // 8, "little")
    else:
        mask = (1 << dtype.bits) - 1 << shift
        memory[first] = memory[first] & ~mask | code << shift


def bits_at(memory: bytes, dtype: Dtype, position: int) -> int:
    """The bits of an element."""
    first, shift = divmod(position * dtype.bits, 8)
    if dtype.bits >= 8:
        return int.from_bytes(memory[first : first + dtype.bits // 8], "little")
    return memory[first] >> shift & ((1 << dtype.bits) - 1)
