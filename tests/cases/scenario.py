"""What the cases share: arrays over given bytes, and what a refusal must leave untouched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def is_fast(cf: Any) -> bool:
    """Whether the half is the fast one, for cases whose size the reference does not carry."""
    return bool(cf.__name__ == "counterfoil")


def host_buffer(cf: Any, data: bytes) -> Any:
    """A host buffer of those bytes."""
    buffer = cf.host().buffer(len(data))
    cf.inspection.poke(buffer, data)
    return buffer


def over(cf: Any, dtype: Any, buffer: Any, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Any:
    """An array of a strided layout over a buffer."""
    return cf.Array(dtype, cf.Layout(shape, strides, offset), buffer)


def counted(cf: Any, dtype: Any, shape: Sequence[int]) -> Any:
    """A host array of 0, 1, 2, ... in C order."""
    size = cf.Layout.contiguous(shape).size
    return cf.from_values(dtype, shape, [float(k) if "float" in dtype.name else k for k in range(size)])


def from_codes(cf: Any, dtype: Any, codes: Sequence[int]) -> Any:
    """A host array of rank 1 whose elements, of a byte or more, have those bits."""
    width = dtype.bits // 8
    buffer = host_buffer(cf, b"".join(code.to_bytes(width, "little") for code in codes))
    return over(cf, dtype, buffer, [len(codes)], [1])


def codes_of(cf: Any, array: Any) -> list[int]:
    """The bits of each element in C order, for elements of a byte or more in a fresh copy."""
    width = array.dtype.bits // 8
    data = raw(cf, array.copy())
    return [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]


def raw(cf: Any, array: Any) -> bytes:
    """The bytes of an array's buffer as they are."""
    return bytes(cf.inspection.memory_bytes(array.buffer))


def transposed(cf: Any, array: Any) -> Any:
    """The array with its two axes swapped."""
    return array.move(cf.Permute([1, 0]))


def sliced(cf: Any, array: Any, *ranges: tuple[int, ...]) -> Any:
    """The array at (start, count) or (start, count, step) of each axis."""
    return array.move(cf.Slice(*(cf.Range(*entry) for entry in ranges)))


def refuses(cf: Any, answer: str, operands: Sequence[Any], call: Callable[[], Any]) -> None:
    """The call answers so, changes no byte and no claim, and ``refused`` names every operand."""
    before = _state(cf, operands)
    given = call()
    assert given.name == answer
    assert _state(cf, operands) == before
    with pytest.raises(cf.DoorRefusal) as caught:
        cf.refused("case", given, operands)
    assert caught.value.operands == tuple((array.dtype.name, tuple(array.shape)) for array in operands)


def unchanged_after(cf: Any, rule: str, arrays: Sequence[Any], call: Callable[[], Any]) -> Any:
    """The call is refused by the rule and changes no byte and no claim; the refusal is returned."""
    before = _state(cf, arrays)
    with pytest.raises(cf.Refusal) as caught:
        call()
    assert caught.value.rule == rule
    assert _state(cf, arrays) == before
    return caught.value


def fresh(cf: Any, dtype: Any, values: Iterable[Any], shape: Sequence[int] | None = None) -> Any:
    """A host array of those values, of rank 1 unless a shape is given."""
    entries = list(values)
    return cf.from_values(dtype, [len(entries)] if shape is None else shape, entries)


def consumed(buffer: Any, cf: Any, why: str) -> Any:
    """Donate a buffer and consume it; the live buffer over its memory."""
    with cf.claims(donate=[buffer]) as held:
        return held.consume(buffer, why)


def _state(cf: Any, arrays: Sequence[Any]) -> list[object]:
    return [(raw(cf, array), array.buffer.claims, array.buffer.dead) for array in arrays]
