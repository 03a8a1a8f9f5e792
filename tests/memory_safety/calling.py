"""Kernel calls of the core alone, over memory given by address."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.kernels.operands import Call, Operand
from tests.memory_safety.guarded import Guarded, Side

from counterfoil._native import ffi, lib
from counterfoil.numbers import value_bits
from counterfoil.programs import Program
from counterfoil_spec.kernels import KERNELS, Family

DEVICE = lib.cf_device_create(ffi.NULL)


class Tight:
    """An operand over no more bytes than it needs. ``mask`` has its elements' bits, ``codes`` what they are."""

    def __init__(self, operand: Operand) -> None:
        self.dtype, self.way = operand.dtype, operand.way.tight(operand.dtype.bits)
        self.nbytes = self.dtype.nbytes(self.way.room)
        width = max(self.dtype.bits // 8, 1)
        full = np.full(
            len(operand.codes) * width, 255 if self.dtype.bits >= 8 else (1 << self.dtype.bits) - 1, np.uint8
        )
        self.mask = int.from_bytes(Operand(self.dtype, self.way, full, 0).memory(), "little")
        self.codes = int.from_bytes(Operand(self.dtype, self.way, operand.codes, 0).memory(), "little")

    def memory(self, poison: int, elements: bool) -> bytes:
        """Its bytes, poisoned beside the elements, and without ``elements`` there too."""
        beside = int.from_bytes(bytes([poison]) * self.nbytes, "little")
        return (beside & ~self.mask | self.codes if elements else beside).to_bytes(self.nbytes, "little")

    def bits(self, memory: bytes) -> int:
        """The elements' bits in such memory."""
        return int.from_bytes(memory, "little") & self.mask

    def untouched(self, memory: bytes, poison: int) -> bool:
        """Whether every bit beside the elements still has the poison."""
        return int.from_bytes(memory, "little") & ~self.mask == self.bits_beside(poison)

    def bits_beside(self, poison: int) -> int:
        """The bits of fresh poisoned memory beside the elements."""
        return int.from_bytes(bytes([poison]) * self.nbytes, "little") & ~self.mask


class Placed:
    """An operand over memory of its own, against one side of its guards."""

    def __init__(self, operand: Tight, memory: bytes, guarded: Guarded, side: Side) -> None:
        self.nbytes = operand.nbytes
        self.address = guarded.place(memory, operand.dtype.alignment, side)
        pointer = ffi.cast("void *", self.address)
        self._memory = ffi.gc(lib.cf_memory_adopt(pointer, self.nbytes, DEVICE, ffi.NULL, 0), lib.cf_memory_destroy)
        self._buffer = ffi.new("cf_buffer *")
        lib.cf_buffer_make(self._buffer, self._memory, 0, self.nbytes, DEVICE, 1)
        layout = ffi.new("cf_layout *")
        way = operand.way
        made = lib.cf_layout_make(layout, len(way.shape), way.shape, way.strides, way.offset, ffi.NULL)
        self.array = ffi.new("cf_array *")
        assert made == lib.cf_array_make(self.array, operand.dtype.code, layout, self._buffer) == lib.CF_FINE

    def bytes(self) -> bytes:
        """The bytes as they are now."""
        return ctypes.string_at(self.address, self.nbytes)


class Prepared:
    """A call whose operands are tight: run as often as wanted."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.dst, self.sources = Tight(call.dst), [Tight(source) for source in call.sources]

    def run(self, guards: Sequence[Guarded], side: Side, poison: int) -> tuple[int, int]:
        """The answer and the bits of the destination's elements; AssertionError if any bit beside elements changed."""
        sources = [
            Placed(source, source.memory(poison, True), guard, side)
            for source, guard in zip(self.sources, guards[1:], strict=False)
        ]
        which = self.call.identical
        guard = guards[0 if which is None else 1 + which]
        dst = Placed(self.dst, self.dst.memory(poison, which is not None), guard, side)
        answer = getattr(lib, f"cf_{self.call.kernel}")(dst.array, *_arguments(self.call, sources))
        assert self.dst.untouched(dst.bytes(), poison)
        for k, (source, placed) in enumerate(zip(self.sources, sources, strict=True)):
            assert k == which or placed.bytes() == source.memory(poison, True)
        return answer, self.dst.bits(dst.bytes())


def _arguments(call: Call, sources: Sequence[Placed]) -> list[Any]:
    arrays = [source.array for source in sources]
    family = KERNELS[call.kernel].family
    if family is Family.MAP:
        assert call.expression is not None
        program = Program(call.expression, [source.dtype for source in call.sources], call.dst.dtype)
        return [ffi.gc(program.c, lambda _, kept=program: None), arrays, len(arrays)]
    if family is Family.FILL:
        return [*arrays, *value_bits(call.dst.dtype, call.parameters[0])]
    if family in (Family.REDUCE, Family.ARG):
        return [*arrays, call.parameters[0], len(call.parameters[0])]
    return [*arrays, *call.parameters]
