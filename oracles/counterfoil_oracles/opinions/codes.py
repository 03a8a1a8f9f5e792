"""Element codes into a half's memory and out of it, and kernel calls on them. A batch is called once on each half."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype

Codes = tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """A kernel call on vectors of one length: the sources' codes, their dtype, and the dtype of the result."""

    kernel: str
    source: Dtype
    result: Dtype
    arguments: tuple[Codes, ...]


@dataclass(frozen=True)
class Element:
    """One element of a batch: the question is what its result is."""

    batch: Batch
    index: int

    @property
    def arguments(self) -> Codes:
        """The codes of the element's arguments."""
        return tuple(codes[self.index] for codes in self.batch.arguments)

    def __str__(self) -> str:
        shown = ", ".join(f"{code:#x}" for code in self.arguments)
        return f"{self.batch.kernel}({shown}) of {self.batch.source} into {self.batch.result}"


def elements(batch: Batch) -> list[Element]:
    """The questions of a batch."""
    return [Element(batch, index) for index in range(len(batch.arguments[0]))]


def result_code(half: Any, element: Element) -> int:
    """The code that the half's kernel stores for the element."""
    return _results(half, element.batch)[element.index]


@functools.lru_cache(maxsize=8)
def _results(half: Any, batch: Batch) -> Codes:
    count = len(batch.arguments[0])
    dst = half.host_array(batch.result, [count])
    sources = [stored(half, batch.source, codes) for codes in batch.arguments]
    answer = getattr(half.kernels, batch.kernel)(dst, *sources)
    if answer is not Answer.DONE:
        raise AssertionError(f"{half.__name__} answers {answer.name} for {batch.kernel} of {batch.source}")
    return unpacked(half.inspection.memory_bytes(dst.buffer), batch.result.bits, count)


def stored(half: Any, dtype: Dtype, codes: Sequence[int]) -> Any:
    """A vector of those codes."""
    array = half.host_array(dtype, [len(codes)])
    half.inspection.poke(array.buffer, packed(codes, dtype.bits))
    return array


def packed(codes: Sequence[int], bits: int) -> bytes:
    """Codes of ``bits`` bits side by side, the low bits of a byte first."""
    whole = sum(code << position * bits for position, code in enumerate(codes))
    return whole.to_bytes(-(-len(codes) * bits // 8), "little")


def unpacked(data: bytes, bits: int, count: int) -> Codes:
    """The codes that lie side by side in the bytes."""
    whole = int.from_bytes(data, "little")
    return tuple(whole >> position * bits & (1 << bits) - 1 for position in range(count))
