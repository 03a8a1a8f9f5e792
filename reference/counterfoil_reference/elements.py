"""Elements as raw bits: where one lies, loading and storing it, with no claim and no wait.

Element ``p`` of ``b`` bits occupies the bits ``p*b .. p*b+b-1`` from the buffer's first byte on, the low bits of a
byte first; wider elements are little-endian.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil_reference.arrays import Array

Shape = tuple[int, ...]


def indices(shape: Shape) -> Iterator[Shape]:
    """All indices of a shape in C order."""
    return itertools.product(*(range(extent) for extent in shape))


def load_code(array: Array, index: Sequence[int]) -> int:
    """The bits of the element at an index, as a number of ``dtype.bits`` bits."""
    return _load(array, array.layout.position(tuple(index)))


def store_code(array: Array, index: Sequence[int], code: int) -> None:
    """Change the bits of the element at an index, and no other bit."""
    _store(array, array.layout.position(tuple(index)), code)


def codes(array: Array) -> list[int]:
    """The bits of all elements in C order."""
    return [_load(array, position) for position in array.layout.positions()]


def store_codes(array: Array, values: Iterable[int]) -> None:
    """Store one code per index, in C order."""
    for position, code in zip(array.layout.positions(), values, strict=True):
        _store(array, position, code)


def place(array: Array, position: int) -> tuple[int, int, int]:
    """Where an element lies in its memory: first byte, number of bytes, and its lowest bit in the first byte."""
    first_bit = position * array.dtype.bits
    return array.buffer.first + first_bit // 8, max(array.dtype.bits // 8, 1), first_bit % 8


def _load(array: Array, position: int) -> int:
    first, nbytes, low = place(array, position)
    word = int.from_bytes(array.buffer.memory.read(first, nbytes), "little")
    return word >> low & (1 << array.dtype.bits) - 1


def _store(array: Array, position: int, code: int) -> None:
    first, nbytes, low = place(array, position)
    memory, mask = array.buffer.memory, (1 << array.dtype.bits) - 1 << low
    word = int.from_bytes(memory.read(first, nbytes), "little")
    memory.write(first, (word & ~mask | code << low).to_bytes(nbytes, "little"))
