"""``counterfoil exhaustive``: every float32 through every narrow store and every code path, against exact staircases.

A path is a version of the core (for this CPU, for an older one, for any, without vectors) and a way of lying
(contiguous, with gaps, in rows shorter than a vector so that all is tail). Steps are compared where they are, not
sampled: every one of the 2**32 codes is converted and compared. A slice, the same every time, takes seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from counterfoil_oracles import cores
from counterfoil_oracles.cores import Core
from counterfoil_oracles.staircase import Codes, Staircase, staircase
from counterfoil_spec.dtypes import Dtype, float32

NARROW: Final = tuple(dtype for dtype in Dtype.all if dtype.bits <= 16)
CHUNK: Final = 1 << 22
SLICES: Final = 4096
ROW: Final = 7
SHARE: Final = 16 * CHUNK

ALL: Final = 1 << 32


@dataclass
class Tally:
    """Codes compared, and what was wrong in words."""

    compared: int = 0
    wrong: list[str] = field(default_factory=list)


# --- conversions -----------------------------------------------------------------------------------------------------


class Operands:
    """float32 codes in memory with gaps, and room for results: both seen at any stride by one core."""

    def __init__(self, core: Core, size: int) -> None:
        self.core = core
        self.codes = np.zeros(2 * size + 2, np.uint32)
        self.results = np.zeros(2 * size + 64, np.uint16)

    def cast(self, target: Dtype, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> None:
        """Cast source to destination, both of one layout."""
        dst = self.core.array(target, self.results, shape, strides, offset)
        src = self.core.array(float32, self.codes, shape, strides, offset)
        answer = self.core.lib.cf_cast(dst, src)
        assert answer == 0, answer


def stored(dtype: Dtype, memory: Codes, count: int, step: int = 1) -> Codes:
    """The first ``count`` elements, ``step`` apart, as one code each."""
    if dtype.bits == 16:
        return memory[: count * step : step]
    packed = memory.view(np.uint8)
    if dtype.bits == 8:
        return packed[: count * step : step]
    if dtype.bits == 1:
        return np.unpackbits(packed[: -(-count * step // 8)], bitorder="little")[: count * step : step]
    used = packed[: -(-count * step // 2)]
    return np.stack([used & 15, used >> 4], axis=1).reshape(-1)[: count * step : step]


Way = Callable[[Operands, Dtype, Codes], Codes]


def contiguous(operands: Operands, target: Dtype, codes: Codes) -> Codes:
    """One run."""
    operands.codes[: len(codes)] = codes
    operands.cast(target, [len(codes)], [1])
    return stored(target, operands.results, len(codes))


def gapped(operands: Operands, target: Dtype, codes: Codes) -> Codes:
    """Every other element on both sides."""
    operands.codes[: 2 * len(codes) : 2] = codes
    operands.cast(target, [len(codes)], [2])
    return stored(target, operands.results, len(codes), 2)


def rows(operands: Operands, target: Dtype, codes: Codes) -> Codes:
    """Rows of seven, one element between them: each is a tail."""
    count = len(codes) // ROW
    whole = codes[: count * ROW].reshape(count, ROW)
    operands.codes[: count * (ROW + 1)].reshape(count, ROW + 1)[:, :ROW] = whole
    operands.cast(target, [count, ROW], [ROW + 1, 1])
    lying = stored(target, operands.results, count * (ROW + 1)).reshape(count, ROW + 1)
    rest = codes[count * ROW :]
    return np.concatenate([lying[:, :ROW].reshape(-1), contiguous(operands, target, rest)])


def paths(versions: Sequence[Core], size: int) -> Iterator[tuple[str, Operands, Way]]:
    """Every version on contiguous elements, the installed one also with gaps and in rows."""
    first = Operands(versions[0], size)
    for way in (contiguous, gapped, rows):
        yield f"{versions[0].name}, {way.__name__}", first, way
    for core in versions[1:]:
        yield f"{core.name}, contiguous", Operands(core, size), contiguous


# --- comparing -------------------------------------------------------------------------------------------------------


def compare(
    tally: Tally, target: Dtype, codes: Codes, expected: Codes, along: Sequence[tuple[str, Operands, Way]]
) -> None:
    """Convert codes along every path and compare; the first difference of each is put in words."""
    for name, operands, way in along:
        found = way(operands, target, codes)
        tally.compared += len(codes)
        if not np.array_equal(found, expected):
            at = int(np.flatnonzero(found != expected)[0])
            code, gave, right = int(codes[at]), int(found[at]), int(expected[at])
            tally.wrong.append(f"float32 {code:#010x} to {target.name} ({name}): {gave:#x}, not {right:#x}")


def storage(dtype: Dtype) -> type[np.unsignedinteger[Any]]:
    """What holds a code."""
    return np.uint16 if dtype.bits == 16 else np.uint8


def sliced(count: int = 64) -> Iterator[tuple[int, int]]:
    """One code of 4096, as ``count`` runs spread over all."""
    length, apart = ALL // SLICES // count, ALL // count
    for number in range(count):
        start = number * apart + number * length % (apart - length)
        yield start, start + length


def check_slice(versions: Sequence[Core]) -> Tally:
    """A 4096th of all codes, and all the codes around every step."""
    tally = Tally()
    stairs = {target: staircase(target, storage(target)) for target in NARROW}
    size = max(ALL // SLICES // 64, max(len(stair.near_steps()) for stair in stairs.values()))
    along = list(paths(versions, size))
    for target, stair in stairs.items():
        near = stair.near_steps()
        at_steps = stair.codes[np.searchsorted(stair.starts, near, "right") - 1]
        compare(tally, target, near.astype(np.uint32), at_steps, along)
        for first, last in sliced():
            compare(tally, target, np.arange(first, last, dtype=np.uint32), stair.between(first, last), along)
    return tally


def check_all(versions: Sequence[Core], stairs: dict[Dtype, Staircase], first: int, last: int) -> Tally:
    """Every code from ``first`` on, before ``last``; stops at the end of a chunk with differences."""
    tally = Tally()
    along = list(paths(versions, CHUNK))
    for start in range(first, last, CHUNK):
        end = min(start + CHUNK, last)
        codes = np.arange(start, end, dtype=np.uint32)
        for target, stair in stairs.items():
            compare(tally, target, codes, stair.between(start, end), along)
        if tally.wrong:
            break
    return tally


class _Worker:
    """What a process of the full check keeps: the versions and the staircases."""

    versions: ClassVar[list[Core]]
    stairs: ClassVar[dict[Dtype, Staircase]]

    @classmethod
    def begin(cls, stairs: dict[Dtype, Staircase]) -> None:
        cls.versions, cls.stairs = all_versions(), stairs

    @classmethod
    def check(cls, first: int) -> Tally:
        return check_all(cls.versions, cls.stairs, first, min(first + SHARE, ALL))


def all_versions() -> list[Core]:
    """The installed core, then the others that this CPU runs."""
    return [cores.installed(), *cores.versions()]


def check_everything() -> Tally:
    """All codes, on every CPU there is; stops after the first share with differences."""
    all_versions()  # built once, before the processes want them
    stairs = {target: staircase(target, storage(target)) for target in NARROW}
    total, began = Tally(), time.monotonic()
    with ProcessPoolExecutor(initializer=_Worker.begin, initargs=(stairs,)) as pool:
        for done, tally in enumerate(pool.map(_Worker.check, range(0, ALL, SHARE)), 1):
            total.compared += tally.compared
            total.wrong += tally.wrong
            _progress(f"{done * SHARE / ALL:6.1%} of the codes, {time.monotonic() - began:.0f} s")
            if total.wrong:
                pool.shutdown(cancel_futures=True)
                break
    return total


def main(argv: Sequence[str] | None = None) -> int:
    """0 if every code is right along every path, 1 with the first differences if not."""
    description = "Every float32 through every narrow store and every code path."
    parser = argparse.ArgumentParser(prog="counterfoil exhaustive", description=description)
    parser.add_argument("--slice", action="store_true", help="a 4096th of all codes and those around every step")
    options = parser.parse_args(argv)
    tally = check_slice(all_versions()) if options.slice else check_everything()
    print(f"{tally.compared:,} conversions compared")
    for words in tally.wrong:
        print(words)
    return 1 if tally.wrong else 0


def _progress(words: str) -> None:
    if sys.stdout.isatty():
        print(f"\r{words}", end="\n" if words.startswith("100") else "", flush=True)


if __name__ == "__main__":
    sys.exit(main())
