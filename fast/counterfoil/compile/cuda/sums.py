"""The CUDA C of sums: by a thread, a warp, a block, or the rows of a block of columns; always in one order.

Whoever ends up with the whole sum adds it to its start, stores it, and carries out the maps that follow at that point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterfoil.compile.cuda.elements import add_term, finish, open_threads, start_of, write_point
from counterfoil.compile.cuda.strategy import COMBINED, Way, neutral
from counterfoil.compile.cuda.work import Work
from counterfoil.compile.cuda.writer import THREADS, Writer
from counterfoil_spec.programs.loops import Load

WARP: Final = 32

ROWS: Final = 8
"""Threads that share out a column's terms."""

UNROLLED: Final = 4
"""Terms that a thread reads ahead."""


def write_sum(writer: Writer, works: Sequence[Work], way: Way) -> None:
    """A sum, and the works that follow it at each of its points."""
    if way is Way.THREAD:
        open_threads(writer, works[0].parallel, works[0].threads)
        for work in works:
            write_point(writer, work)
        return
    {Way.WARP: _by_warps, Way.BLOCK: _by_blocks, Way.COLUMNS: _by_columns}[way](writer, works)


def _by_warps(writer: Writer, works: Sequence[Work]) -> None:
    work = works[0]
    warps = min(THREADS // WARP, work.threads)
    writer.grid, writer.block = (-(-work.threads // warps), 1, 1), (warps * WARP, 1, 1)
    writer.line(f"const u32 lane = threadIdx.x % {WARP};")
    if work.threads > 1:
        writer.line(f"const u32 g = blockIdx.x * {warps}u + threadIdx.x / {WARP};")
    if work.threads % warps:
        writer.line(f"if (g >= {work.threads}u) return;")
    writer.decompose("g", work.parallel)
    _write_share(writer, work, "lane", WARP)
    _write_shuffles(writer, work, WARP)
    if _reads_what_follows(works):
        writer.line("__syncwarp();")  # shuffles order no memory: every lane has read before one stores there
    _write_rest(writer, works, "lane == 0")


def _reads_what_follows(works: Sequence[Work]) -> bool:
    """Whether the first work's terms read a node that a later one stores to."""
    read = {load.node for load in works[0].nest.loads if isinstance(load, Load)}
    return any(work.nest.node in read for work in works[1:])


def _by_blocks(writer: Writer, works: Sequence[Work]) -> None:
    work, warps = works[0], THREADS // WARP
    writer.grid, writer.block = (work.threads, 1, 1), (THREADS, 1, 1)
    writer.line("const u32 lane = threadIdx.x;")
    writer.decompose("blockIdx.x", work.parallel)
    _write_share(writer, work, "lane", THREADS)
    _write_shuffles(writer, work, WARP)
    writer.line(f"__shared__ {writer.ctype(work.nest.node)} part[{warps}];")
    writer.line(f"if (lane % {WARP} == 0) part[lane / {WARP}] = r;")
    writer.line("__syncthreads();")
    writer.line(f"if (lane >= {WARP}) return;")
    writer.line(f"if (lane < {warps}) r = part[lane];")
    _write_shuffles(writer, work, warps)
    _write_rest(writer, works, "lane == 0")


def _by_columns(writer: Writer, works: Sequence[Work]) -> None:
    work = works[0]
    threads = work.threads
    writer.grid, writer.block = (-(-threads // WARP), 1, 1), (WARP, ROWS, 1)
    writer.line(f"const u32 g = blockIdx.x * {WARP}u + threadIdx.x, lane = threadIdx.y;")
    edge = threads % WARP != 0
    writer.decompose(f"(g < {threads}u ? g : {threads - 1}u)" if edge else "g", work.parallel)
    _write_share(writer, work, "lane", ROWS)
    writer.line(f"__shared__ {writer.ctype(work.nest.node)} part[{ROWS}][{WARP}];")
    writer.line("part[lane][threadIdx.x] = r;")
    writer.line("__syncthreads();")
    writer.open(f"if (lane == 0{f' && g < {threads}u' if edge else ''})")
    writer.line("#pragma unroll")
    combined = _combined(writer, work, "r", "part[row][threadIdx.x]")
    writer.line(f"for (i32 row = 1; row < {ROWS}; row++) r = {combined};")
    _write_whole(writer, works)
    writer.close()


def _write_share(writer: Writer, work: Work, lane: str, lanes: int) -> None:
    """Every lanes-th term, from ``lane`` on, into r."""
    nest = work.nest
    assert nest.accumulator is not None
    start = writer.numbers.number(neutral(nest.accumulator), nest.node.dtype)
    writer.line(f"{writer.ctype(nest.node)} r = {start};")
    kind = "u64" if work.terms >= 1 << 31 else "u32"
    if work.outside:
        writer.open(f"if ({writer.condition(work.outside)})")
    if work.terms >= UNROLLED * lanes:
        writer.line(f"#pragma unroll {UNROLLED}")
    writer.open(f"for ({kind} q = {lane}; q < {work.terms}u; q += {lanes})")
    writer.decompose("q", work.serial)
    add_term(writer, work, "r")
    writer.close()
    if work.outside:
        writer.close()


def _write_shuffles(writer: Writer, work: Work, lanes: int) -> None:
    """The sum over the first lanes of a warp, a power of two, into r of its first one."""
    writer.line("#pragma unroll")
    combined = _combined(writer, work, "r", "__shfl_down_sync(0xffffffffu, r, step)")
    writer.line(f"for (u32 step = {lanes // 2}; step > 0; step /= 2) r = {combined};")


def _write_rest(writer: Writer, works: Sequence[Work], condition: str) -> None:
    writer.open(f"if ({condition})")
    _write_whole(writer, works)
    writer.close()


def _write_whole(writer: Writer, works: Sequence[Work]) -> None:
    """The sum r added to its start and stored, and what follows."""
    work, guards = works[0], works[0].outside
    if guards:
        writer.open(f"if ({writer.condition(guards)})")
    if not _starts_neutral(work):
        writer.line(f"r = {_combined(writer, work, start_of(writer, work), 'r')};")
    finish(writer, work, "r")
    if guards:
        writer.close()
        writer.forget(work.nest.node)
    for each in works[1:]:
        write_point(writer, each)


def _starts_neutral(work: Work) -> bool:
    """Whether the start changes nothing: partial sums begin at +0 themselves."""
    nest = work.nest
    assert nest.accumulator is not None
    return nest.start is not None and str(float(nest.start)) == str(neutral(nest.accumulator))


def _combined(writer: Writer, work: Work, left: str, right: str) -> str:
    accumulator = work.nest.accumulator
    assert accumulator is not None
    return writer.operators.applied(COMBINED[accumulator], (left, right), work.nest.node.dtype)
