"""Questions about where elements lie: layouts as plain numbers, pairs of operands, and how the halves answer.

Nothing here is computed by a half: sizes and positions are enumerated.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype

Shape = tuple[int, ...]

ROOM_BITS = 1 << 20
"""No pair of operands needs more memory than this."""


@dataclass(frozen=True)
class Places:
    """A layout as plain numbers, in elements."""

    shape: Shape
    strides: Shape
    offset: int

    def on(self, half: Any) -> Any:
        """The half's layout."""
        return half.Layout(self.shape, self.strides, self.offset)

    def positions(self) -> list[int]:
        """The position of each index, in C order."""
        indices = itertools.product(*map(range, self.shape))
        return [self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True)) for index in indices]

    def lowest(self, at: int) -> Places:
        """The same layout moved so that its least position is ``at``."""
        reaches = [(d - 1) * s for d, s in zip(self.shape, self.strides, strict=True) if d > 0]
        return Places(self.shape, self.strides, at - sum(reach for reach in reaches if reach < 0))

    def end(self) -> int:
        """One past the greatest position, 0 without an element."""
        if 0 in self.shape:
            return 0
        return self.offset + 1 + sum((d - 1) * s for d, s in zip(self.shape, self.strides, strict=True) if s > 0)


@dataclass(frozen=True)
class Operand:
    """An operand of a pair: its dtype, its layout, and the byte of the common memory at which its buffer starts."""

    dtype: Dtype
    places: Places
    start: int


@dataclass(frozen=True)
class Pair:
    """Two operands over one memory of ``nbytes`` bytes. The first one's elements lie at distinct positions."""

    one: Operand
    two: Operand
    nbytes: int


def small(rng: random.Random, most: int = 9) -> Places:
    """Few elements, strides that meet often: either sign, zero, extents 0 and 1, sometimes many axes of extent 1."""
    rank = rng.randrange(5)
    shape = [rng.choice((0, 1, 2, 2, 3, 4, 5)) if rng.random() < 0.9 else 1 for _ in range(rank)]
    strides = [rng.choice((rng.randint(-most, most), rng.choice((0, 1, 2, 3, 4, 8, 12)))) for _ in shape]
    if rng.random() < 0.1:
        extra = rng.randint(1, 20)
        shape, strides = [1] * extra + shape, [rng.randint(-(2**40), 2**40) for _ in range(extra)] + strides
        strides = [0 if d == 1 else s for d, s in zip(shape, strides, strict=True)]
    return Places(tuple(shape), tuple(strides), 0).lowest(rng.randrange(8))


def sparse(rng: random.Random, most: int, most_extent: int = 7) -> Places:
    """Three or four axes of large strides: common divisors now and then, nesting or not."""
    rank = rng.randint(1, 4)
    shape = tuple(rng.randint(2, most_extent) for _ in range(rank))
    scale = rng.choice((1, 1, 2, 3, 4, 8))
    top = max(most // (scale * most_extent * rank), 4)
    strides = tuple(rng.choice((-1, 1)) * scale * rng.randint(1, top) for _ in range(rank))
    return Places(shape, strides, 0).lowest(rng.randrange(64))


def distinct(rng: random.Random, draw: str, most: int) -> Places:
    """A layout no two of whose indices meet, found by enumerating."""
    while True:
        places = small(rng) if draw == "small" else sparse(rng, most)
        found = places.positions()
        if len(set(found)) == len(found):
            return places


def pairs(rng: random.Random, count: int, dtypes: tuple[Dtype, ...]) -> Iterator[Pair]:
    """Pairs of operands whose hulls mostly meet: small ones, sparse ones, and interleaved copies of one layout."""
    for _ in range(count):
        kind = rng.choice(("small", "small", "sparse", "interleaved"))
        widest = ROOM_BITS // 4
        first = rng.choice(dtypes)
        second = first if kind == "interleaved" else rng.choice(dtypes)
        one = distinct(rng, "small" if kind == "small" else "sparse", widest // first.bits)
        if kind == "interleaved":
            two = Places(one.shape, one.strides, one.offset + rng.randint(1, 12))
        else:
            two = small(rng) if kind == "small" else sparse(rng, widest // second.bits)
        starts = [8 * rng.randrange(3) for _ in range(2)]
        ends = [start + -(-places.end() * dtype.bits // 8)
                for start, places, dtype in zip(starts, (one, two), (first, second), strict=True)]  # fmt: skip
        yield Pair(Operand(first, one, starts[0]), Operand(second, two, starts[1]), max(*ends, 1))


def overlapping(half: Any, pair: Pair) -> bool:
    """Whether the half's door says that the two share a byte (A1).

    Both written where both may be, since two written operands may share none at all; else the second is read, and
    cannot be identical to the first, whose elements are distinct.
    """
    memory = half.host().buffer(pair.nbytes)
    arrays = [
        half.Array(each.dtype, each.places.on(half), memory.view(each.start, pair.nbytes - each.start))
        for each in (pair.one, pair.two)
    ]
    found = pair.two.places.positions()
    written = 2 if len(set(found)) == len(found) else 1
    answer = half.door(arrays[:written], arrays[written:], lambda: None)
    if answer not in (Answer.DONE, Answer.OVERLAPPING):
        raise AssertionError(f"{half.__name__} answers {answer.name} for {pair}")
    return bool(answer is Answer.OVERLAPPING)
