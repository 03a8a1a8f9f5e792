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
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from counterfoil_oracles import cores
from counterfoil_oracles.cores import Core
from counterfoil_oracles.staircase import Codes, Staircase, staircase
from counterfoil_spec.dtypes import Dtype, float32

NARROW: Final = tuple(dtype for dtype in Dtype.all if dtype.bits <= 16)
CHUNK: Final = 1 << 22
SLICES: Final = 4096
ROW: Final = 7

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
        dst = self._array(target, self.results, shape, strides, offset)
        src = self._array(float32, self.codes, shape, strides, offset)
        answer = self.core.lib.cf_cast(dst, src)
        assert answer == 0, answer

    def _array(self, dtype: Dtype, values: Codes, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        ffi, lib = self.core.ffi, self.core.lib
        base = ffi.cast("void *", values.ctypes.data)
        memory = ffi.gc(lib.cf_memory_adopt(base, values.nbytes, self.core.device, ffi.NULL, 0), lib.cf_memory_destroy)
        buffer, layout, array = ffi.new("cf_buffer *"), ffi.new("cf_layout *"), ffi.new("cf_array *")
        lib.cf_buffer_make(buffer, memory, 0, values.nbytes, self.core.device, 1)
        made = lib.cf_layout_make(layout, len(shape), shape, strides, offset, ffi.NULL)
        assert made == lib.cf_array_make(array, dtype.code, layout, buffer) == lib.CF_FINE
        return ffi.gc(array, lambda _, kept=(memory, buffer): None)


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
            tally.wrong.append(
                f"float32 {int(codes[at]):#010x} to {target.name} ({name}): {int(found[at]):#x}, not {int(expected[at]):#x}"
            )


def storage(dtype: Dtype) -> type[np.unsignedinteger[Any]]:
    """What holds a code."""
    return np.uint16 if dtype.bits == 16 else np.uint8


def whole(first: int, last: int) -> Iterator[tuple[int, int]]:
    """All codes from ``first`` on, in chunks."""
    for start in range(first, last, CHUNK):
        yield start, min(start + CHUNK, last)


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


def check_all(
    versions: Sequence[Core], stairs: dict[Dtype, Staircase], first: int, last: int, said: Callable[[str], None]
) -> Tally:
    """Every code from ``first`` on; stops at the end of a chunk with differences."""
    tally = Tally()
    along = list(paths(versions, CHUNK))
    began = time.monotonic()
    for start, end in whole(first, last):
        codes = np.arange(start, end, dtype=np.uint32)
        for target, stair in stairs.items():
            compare(tally, target, codes, stair.between(start, end), along)
        share = (end - first) / (last - first)
        said(f"{share:6.1%} of the codes, {tally.compared:,} conversions, {time.monotonic() - began:.0f} s")
        if tally.wrong:
            break
    return tally


def main(argv: Sequence[str] | None = None) -> int:
    """0 if every code is right along every path, 1 with the first differences if not."""
    parser = argparse.ArgumentParser(prog="counterfoil exhaustive", description=__doc__)
    parser.add_argument("--slice", action="store_true", help="a 4096th of all codes and those around every step")
    options = parser.parse_args(argv)
    versions = [cores.installed(), *cores.versions()]
    if options.slice:
        tally = check_slice(versions)
    else:
        stairs = {target: staircase(target, storage(target)) for target in NARROW}
        tally = check_all(versions, stairs, 0, ALL, _progress)
    print(f"\n{tally.compared:,} conversions compared along {len(versions)} versions of the core")
    for words in tally.wrong:
        print(words)
    return 1 if tally.wrong else 0


def _progress(words: str) -> None:
    if sys.stdout.isatty():
        print(f"\r{words}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
