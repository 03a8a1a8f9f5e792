"""One kernel call on both halves, over equal bytes: the same answer, right values, no other bit changed (N5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.kernels.operands import Call, Operand, Way, bits_at, put

import counterfoil
import counterfoil_reference
from counterfoil_reference.intervals import Accept, watching
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access


class Twins:
    """An array in each half, laid out alike over memories of equal bytes."""

    def __init__(self, dtype: Dtype, way: Way, reference: Any, fast: Any) -> None:
        self.dtype, self.way, self.reference, self.fast = dtype, way, reference, fast

    @classmethod
    def of(cls, operand: Operand, place: counterfoil.Device | None = None) -> Twins:
        """The operand in each half: on the host, or the fast half's on a device."""
        fast = _array(counterfoil, operand, counterfoil.host() if place is None else place)
        reference = _array(counterfoil_reference, operand, counterfoil_reference.host())
        return cls(operand.dtype, operand.way, reference, fast)

    def again(self, dtype: Dtype) -> Twins:
        """The same bits read at another dtype of the same width: identical (A4)."""
        return Twins(dtype, self.way, self.reference.bitcast(dtype), self.fast.bitcast(dtype))


def _array(half: Any, operand: Operand, place: Any) -> Any:
    memory, way = operand.memory(), operand.way
    buffer = place.buffer(len(memory))
    half.inspection.poke(buffer, bytes(memory))
    return half.Array(operand.dtype, half.Layout(way.shape, way.strides, way.offset), buffer)


def agree(call: Call, place: counterfoil.Device | None = None) -> Answer:
    """Make a call on both halves and compare the answers and every bit of every memory; the answer.

    Where the reference says that other bits are right too, the fast half's are checked against that. ``place``: where
    the fast half's operands lie, if not on the host.
    """
    sources = [Twins.of(source, place) for source in call.sources]
    dst = Twins.of(call.dst, place) if call.identical is None else sources[call.identical].again(call.dst.dtype)
    with watching() as records:
        expected = _called(call, counterfoil_reference, "reference", dst, sources)
    answer = _called(call, counterfoil, "fast", dst, sources)
    for twins in (dst, *sources):
        twins.fast.buffer.wait(Access.READ)
    assert answer.name == expected.name
    for record in records:
        _take_over(dst, record.accepts)
    for twins in (dst, *sources):
        assert _memories(twins)[0] == _memories(twins)[1], _difference(twins)
    return expected


def _called(call: Call, module: Any, half: str, dst: Twins, sources: Sequence[Twins]) -> Answer:
    target, arrays = getattr(dst, half), [getattr(source, half) for source in sources]
    operands = tuple(arrays) if call.expression is None else (call.expression, arrays)
    answer: Answer = getattr(module.kernels, call.kernel)(target, *operands, *call.parameters)
    return answer


def _memories(twins: Twins) -> tuple[bytes, bytes]:
    return (
        counterfoil_reference.inspection.memory_bytes(twins.reference.buffer),
        counterfoil.inspection.memory_bytes(twins.fast.buffer),
    )


def _take_over(dst: Twins, accepts: Sequence[Accept | None]) -> None:
    """The fast half's bits, where the reference accepts them, replace its own."""
    if all(accept is None for accept in accepts):
        return
    expected, actual = (bytearray(memory) for memory in _memories(dst))
    for index, (position, accept) in enumerate(zip(dst.way.positions(), accepts, strict=True)):
        if accept is not None:
            code = bits_at(actual, dst.dtype, position)
            right = bits_at(expected, dst.dtype, position)
            assert accept.accepts(dst.dtype, code), f"element {index}: {code:#x}, not {right:#x} within {accept}"
            put(expected, dst.dtype, position, code)
    counterfoil_reference.inspection.poke(dst.reference.buffer, bytes(expected))


def _difference(twins: Twins) -> str:
    expected, actual = _memories(twins)
    for index, position in enumerate(twins.way.positions()):
        code, right = bits_at(actual, twins.dtype, position), bits_at(expected, twins.dtype, position)
        if code != right:
            return f"element {index} of {twins.way}: {code:#x}, not {right:#x}"
    places = [place for place, (a, b) in enumerate(zip(expected, actual, strict=True)) if a != b]
    return f"bits beside the elements of {twins.way} changed, in bytes {places}"
