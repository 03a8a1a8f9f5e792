"""Operands of one shape as ``fast/cuda/layout.cuh`` takes them: merged by the core, packed with their addresses."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from counterfoil._native import ffi, lib
from counterfoil.arrays import Array
from counterfoil.cuda.device import pointer
from counterfoil.cuda.kernels.walks import NARROW, divider

CAPACITIES: Final = (2, 4, 8, 16, 32)
"""How many axes a kernel is compiled for."""

VECTOR: Final = 16
"""Bytes of the widest access."""

_LOOP: Final = ffi.typeof("cf_loop *")
_CONTIGUOUS: Final = int(lib.CF_LAYOUT_CONTIGUOUS)

always_wide = False
"""Whether every index takes 64 bits: the variant that otherwise only huge operands need."""


@dataclass(frozen=True, slots=True)
class Operands:
    """The loop over some arrays, the written one first. ``data``: where each one's elements are counted from.

    ``starts``: the positions of the first elements; other than 0 only for elements narrower than a byte, and of a
    counted operand (``counted``), which has no bytes.
    """

    size: int
    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    data: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def capacity(self) -> int:
        """The capacity of the kernel that takes them."""
        return next(capacity for capacity in CAPACITIES if capacity >= len(self.shape))

    @property
    def alike(self) -> int:
        """Which sources are one element along the innermost axis (bit k: source k); -1 where some other operand is not
        contiguous along it."""
        if self.strides[0][-1] != 1:
            return -1
        found = 0
        for place, steps in enumerate(self.strides[1:]):
            if steps[-1] == 0:
                found |= 1 << place
            elif steps[-1] != 1:
                return -1
        return found

    @property
    def wide(self) -> bool:
        """Whether some index or position needs 64 bits."""
        if always_wide or self.size >= NARROW:
            return True
        return any(
            sum(abs(stride) * (extent - 1) for stride, extent in zip(steps, self.shape, strict=True)) >= NARROW
            for steps in self.strides
        )

    def packed(self) -> bytes:
        """A ``cf_operands``."""
        wide, room = self.wide, self.capacity
        number, step, bits = ("Q", "q", 64) if wide else ("I", "i", 32)
        empty = (0,) * (room - len(self.shape))
        dividers = [divider(extent, bits) for extent in self.shape]
        numbers = [self.size, len(self.shape), *self.shape, *empty]
        for part in (0, 1):
            numbers += [*(pair[part] for pair in dividers), *empty]
        steps = [stride for strides in self.strides for stride in (*strides, *empty)]
        made = struct.pack(f"@{len(self.data)}Q{len(self.starts)}q", *self.data, *self.starts)
        made += struct.pack(f"@{len(numbers)}{number}", *numbers) + struct.pack(f"@{len(steps)}{step}", *steps)
        return made + bytes(-len(made) % 8)

    def lanes(self, widths: Sequence[int]) -> int:
        """Elements of one vector, given the operands' bytes an element; 0 where rows do not begin with a whole one.

        Asked where ``alike`` tells. Of more than one row, rows are whole vectors too.
        """
        lanes = VECTOR // max(widths)
        if len(self.shape) > 1 and self.shape[-1] % lanes:
            return 0
        for address, width, steps in zip(self.data, widths, self.strides, strict=True):
            if steps[-1] and (address % (lanes * width) or any(step % lanes for step in steps[:-1])):
                return 0
        return lanes

    def vectors(self, lanes: int) -> Operands:
        """The same loop over vectors; operands that are alike are still counted in elements."""
        shape = (*self.shape[:-1], self.shape[-1] // lanes)
        strides = tuple((*(step // lanes for step in steps[:-1]), 1) if steps[-1] else steps for steps in self.strides)
        return Operands(self.size // lanes, shape, strides, self.data, self.starts)


def operands_of(arrays: Sequence[Array]) -> Operands:
    """The loop over arrays of one shape with an element, the written one first."""
    structures = [array._c for array in arrays]
    for structure in structures:
        if not structure.layout.flags & _CONTIGUOUS:
            return _taken(structures, arrays)
    size, firsts = structures[0].layout.size, [structure.layout.offset for structure in structures]
    data, starts = _placed(arrays, firsts)
    return Operands(size, (size,), ((1,),) * len(data), data, starts)


def counted(array: Array, axis: int) -> Operands:
    """The loop over an array and an operand whose position is the index along an axis."""
    index = ffi.new("cf_array *", array._c[0])
    index.layout.flags = 0
    index.layout.offset = 0
    for place in range(index.layout.rank):
        index.layout.strides[place] = place == axis
    return _taken([array._c, index], (array,))


def _taken(structures: list[Any], arrays: Sequence[Array]) -> Operands:
    loop = ffi.new(_LOOP)
    count = len(structures)
    lib.cf_loop_build(loop, structures, count, False)
    rank, firsts = loop.rank, ffi.unpack(loop.start, count)
    data, starts = _placed(arrays, firsts)
    strides = tuple(tuple(ffi.unpack(loop.strides[place], rank)) for place in range(count))
    return Operands(loop.size, tuple(ffi.unpack(loop.shape, rank)), strides, data, starts)


def _placed(arrays: Sequence[Array], firsts: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the bytes of the elements at these positions lie, and what is left of the positions."""
    data, starts = [0] * len(firsts), list(firsts)
    for place, array in enumerate(arrays):
        bits = array._c.bits
        whole, part = divmod(firsts[place] * bits, 8)
        data[place], starts[place] = pointer(array._buffer) + whole, part // bits
    return tuple(data), tuple(starts)
