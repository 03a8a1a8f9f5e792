"""The CUDA C of works that give each thread one point, or neighbours in memory at once, and of what follows a sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil.compile.buffers import offset
from counterfoil.compile.cuda.work import Work, stride
from counterfoil.compile.cuda.writer import THREADS, Writer
from counterfoil.compile.nests import Loops
from counterfoil_spec.programs.loops import Apply, Load, Number, Scalar, loads
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Iterator

WORTH_PACKS: Final = 1 << 16
"""Fewer points are one a thread: that hides latency better than wide accesses save time."""

SPREAD: Final = 1 << 15
"""Fewer threads are in smaller blocks, so that more of the device has some."""


def write_elements(writer: Writer, works: Sequence[Work]) -> None:
    """Maps over the same loops: each thread one point of all of them, or as many neighbours as 16 bytes hold."""
    lanes = _lanes(works)
    loops = works[0].parallel
    threads = works[0].threads // lanes
    if lanes == 1:
        open_threads(writer, loops, threads)
        for work in works:
            write_point(writer, work)
        return
    *outer, (last, extent) = loops
    pack, lane = Iterator("pack"), Iterator("lane")
    open_threads(writer, (*outer, (pack, extent // lanes)), threads)
    writer.define(last, f"{lanes} * {writer.variable(pack)}")
    first = writer.variable(last)
    for work in works:
        write_pack(writer, work, Pack(last, first, writer.variable(lane), lanes))


def open_threads(writer: Writer, loops: Loops, threads: int) -> None:
    """A thread for each point of the loops, the last one fastest; those past the end leave. Few are spread out."""
    wide = threads >= 1 << 31
    size = THREADS if threads >= SPREAD else min(64, -(-threads // 32) * 32)
    blocks = -(-threads // size)
    writer.grid, writer.block = (blocks, 1, 1), (size, 1, 1)
    if threads == 1:
        writer.block = (1, 1, 1)
        writer.decompose("0", loops)
        return
    kind = "u64" if wide else "u32"
    writer.line(f"const {kind} g = {f'({kind})' if wide else ''}blockIdx.x * {size}u + threadIdx.x;")
    if blocks * size != threads:
        writer.line(f"if (g >= {threads}u) return;")
    writer.decompose("g", loops)


def write_point(writer: Writer, work: Work) -> None:
    """One point of a map, or all of a sum with few terms."""
    guards, present = work.outside, dict(writer.known)
    if guards:
        writer.open(f"if ({writer.condition(guards)})")
    nest = work.nest
    if work.is_map or not work.accumulates:
        if not work.is_map:
            writer.forget(nest.node)  # each point may see what the one before it stored
        for iterator, extent in work.serial:
            writer.loop(iterator, extent)
        writer.open_inside(work)
        _store(writer, work)
        writer.close_inside(work)
        for _ in work.serial:
            writer.close()
    else:
        name = writer.fresh()
        writer.line(f"{writer.ctype(nest.node)} {name} = {start_of(writer, work)};")
        write_terms(writer, work, name)
        finish(writer, work, name)
    if guards:
        writer.close()
        writer.known = present
        writer.forget(nest.node)


def write_terms(writer: Writer, work: Work, name: str) -> None:
    """All terms of an accumulation, in order, into a register."""
    for iterator, extent in work.serial:
        writer.loop(iterator, extent)
    add_term(writer, work, name)
    for _ in work.serial:
        writer.close()


def add_term(writer: Writer, work: Work, name: str) -> None:
    """The term at the present point into a register."""
    nest = work.nest
    assert nest.accumulator is not None
    writer.open_inside(work)
    term = writer.value(nest.term, nest.node.dtype)
    writer.line(f"{name} = {writer.operators.applied(nest.accumulator, (name, term), nest.node.dtype)};")
    writer.close_inside(work)


def start_of(writer: Writer, work: Work) -> str:
    """What an accumulation starts from: a number, or what is stored."""
    nest = work.nest
    if nest.start is not None:
        return writer.numbers.number(nest.start, nest.node.dtype)
    return writer.value(Load(nest.node, nest.store.index), nest.node.dtype)


def finish(writer: Writer, work: Work, name: str) -> None:
    """Store a register's value, and remember that it stands there."""
    nest = work.nest
    writer.store(nest.node, f"{writer.element(nest.node, nest.store.index, True)} = {name};")
    remember(writer, nest.node, nest.target, name)


def remember(writer: Writer, node: Node, position: Affine, name: str) -> None:
    """Later loads of the element find it in a register."""
    for key in [key for key in writer.known if key[0] is node]:
        del writer.known[key]
    writer.known[node, position] = name


def _store(writer: Writer, work: Work) -> None:
    """The store at the present point."""
    nest = work.nest
    name = writer.fresh()
    text = writer.value(_stored(work), nest.node.dtype)
    writer.line(f"const {writer.ctype(nest.node)} {name} = {text};")
    if work.is_map and not work.guards and not work.solved:
        finish(writer, work, name)
    else:
        writer.line(f"{writer.element(nest.node, nest.store.index, True)} = {name};")
        writer.kept.add(nest.node)
        writer.forget(nest.node)


def _stored(work: Work) -> Scalar:
    nest = work.nest
    if nest.start is not None and nest.accumulator is not None:
        return Apply(nest.accumulator, (Number(nest.start), nest.term))
    return nest.store.value


def _lanes(works: Sequence[Work]) -> int:
    """How many neighbours a thread takes: 16 bytes of the widest element, where every store is a whole pack."""
    loops, points = works[0].parallel, works[0].threads
    if points < WORTH_PACKS or not loops or any(work.guards or work.solved or work.has_loops for work in works):
        return 1
    lanes = 16 * 8 // max(_bits(work) for work in works)
    last, extent = loops[-1]
    if extent % lanes or not all(is_pack(work.nest.target, last, lanes) for work in works):
        return 1
    return lanes


def _bits(work: Work) -> int:
    return max([work.nest.node.dtype.bits, *(load.node.dtype.bits for load in work.nest.loads)])


def is_pack(position: Affine, last: Iterator, lanes: int) -> bool:
    """Whether neighbours in the last loop are a whole pack in memory, at a multiple of its size."""
    if stride(position, last) != 1 or position.offset % lanes:
        return False
    return all(factor % lanes == 0 for factor, variable in position.terms if variable is not last)


@dataclass(frozen=True)
class Pack:
    """Neighbours in the ``last`` loop that one thread takes: where they begin, the name of their count, how many."""

    last: Iterator
    first: str
    lane: str
    lanes: int


def write_pack(writer: Writer, work: Work, pack: Pack) -> None:
    """One map of a thread that has several neighbours: whole packs read, then lane by lane, then a pack written."""
    nest, lanes, present = work.nest, pack.lanes, dict(writer.known)
    for load in _own_loads(work):
        position = offset(load.node, load.index)
        if (load.node, position) not in writer.known and is_pack(position, pack.last, lanes):
            writer.known[load.node, position] = f"{read_pack(writer, load, lanes)}[{pack.lane}]"
    result = writer.fresh()
    writer.line(f"{writer.ctype(nest.node)} {result}[{lanes}];")
    open_lanes(writer, pack)
    writer.line(f"{result}[{pack.lane}] = {writer.value(_stored(work), nest.node.dtype)};")
    close_lanes(writer, pack)
    writer.known = present
    finish_pack(writer, work, pack, result)


def open_lanes(writer: Writer, pack: Pack) -> None:
    """A loop over the neighbours."""
    writer.line("#pragma unroll")
    writer.open(f"for (i32 {pack.lane} = 0; {pack.lane} < {pack.lanes}; {pack.lane}++)")
    writer.rename(pack.last, f"({pack.first} + {pack.lane})")


def close_lanes(writer: Writer, pack: Pack) -> None:
    """Its end."""
    writer.rename(pack.last, pack.first)
    writer.close()


def finish_pack(writer: Writer, work: Work, pack: Pack, result: str) -> None:
    """Store the values of all neighbours, and remember that they stand in registers."""
    nest = work.nest
    writer.operators.used.add("pack")
    writer.store(nest.node, f"cf_write<{pack.lanes}>(&{writer.element(nest.node, nest.store.index, True)}, {result});")
    remember(writer, nest.node, nest.target, f"{result}[{pack.lane}]")


def _own_loads(work: Work) -> list[Load]:
    """What is read whatever holds, the element it stores included where it is added to."""
    nest = work.nest
    found = [load for load in loads(nest.term) if isinstance(load, Load)]
    if nest.accumulator is not None and nest.start is None:
        found.insert(0, Load(nest.node, nest.store.index))
    return found


def read_pack(writer: Writer, load: Load, lanes: int) -> str:
    """The name of an array that holds an element and its neighbours."""
    writer.operators.used.add("pack")
    name = writer.fresh()
    writer.line(f"{writer.ctype(load.node)} {name}[{lanes}];")
    writer.line(f"cf_read<{lanes}>({name}, &{writer.element(load.node, load.index, False)});")
    return name
