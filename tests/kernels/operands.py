"""Operands and calls as plain data: a dtype, a layout, and the bits of the elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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

    def positions(self) -> Iterator[int]:
        """The position of each index, in C order."""
        for index in itertools.product(*map(range, self.shape)):
            yield self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))

    def distinct(self) -> bool:
        """Whether no two indices have one position."""
        places = list(self.positions())
        return len(set(places)) == len(places)

    def tight(self, bits: int) -> Way:
        """The same layout over the fewest bytes; elements narrower than a byte keep their place in it."""
        places = list(self.positions())
        if not places:
            return Way(self.shape, self.strides, 0, 0)
        first = min(places) - min(places) % max(8 // bits, 1)
        return Way(self.shape, self.strides, self.offset - first, max(places) + 1 - first)


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
    """An array to be: ``codes`` are its elements in C order, ``filler`` every byte beside them."""

    dtype: Dtype
    way: Way
    codes: Sequence[int]
    filler: int

    def memory(self) -> bytearray:
        """The bytes of its memory."""
        memory = bytearray([self.filler]) * self.dtype.nbytes(self.way.room)
        for position, code in zip(self.way.positions(), self.codes, strict=True):
            put(memory, self.dtype, position, code)
        return memory


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
