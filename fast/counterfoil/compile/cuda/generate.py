"""Kernels of the loop IR to CUDA C and the launches that carry a routine out."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.compile.buffers import Buffers, offset
from counterfoil.compile.cuda.elements import write_elements
from counterfoil.compile.cuda.elision import elided
from counterfoil.compile.cuda.grouping import Group, groups
from counterfoil.compile.cuda.items import works_of
from counterfoil.compile.cuda.operators import CudaOperators
from counterfoil.compile.cuda.prelude import HEAD, helpers
from counterfoil.compile.cuda.products import product_of
from counterfoil.compile.cuda.program import CudaProgram
from counterfoil.compile.cuda.strategy import Way, parted, way_of
from counterfoil.compile.cuda.sums import write_sum
from counterfoil.compile.cuda.tabling import is_tabled, tabled
from counterfoil.compile.cuda.tiles import write_product
from counterfoil.compile.cuda.work import Work
from counterfoil.compile.cuda.writer import Writer
from counterfoil.compile.decisions import Plan
from counterfoil.compile.deep import deeply
from counterfoil.compile.nests import Nest
from counterfoil.compile.ranges import check_lowered
from counterfoil.compile.scratch import Span, arranged
from counterfoil_spec.programs.loops import Lowered, Number, Store
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import affine
from counterfoil_spec.programs.symbols import Iterator, Symbol


def generate(segments: Sequence[Lowered], plan: Plan) -> CudaProgram:
    """The CUDA C of a plan's kernels, run one after the other; nothing is compiled.

    Refuses compile/index-range (kernels of a transform).
    """
    return deeply(lambda: _checked(segments, plan))


def _checked(segments: Sequence[Lowered], plan: Plan) -> CudaProgram:
    for segment in segments:
        if segment is not plan.lowered:
            check_lowered(segment)
    try:
        return _written(segments, Buffers(plan.arguments), plan.symbols)
    finally:
        offset.cache_clear()  # what it keeps would keep nodes alive


def _written(segments: Sequence[Lowered], buffers: Buffers, symbols: Sequence[Symbol]) -> CudaProgram:
    operators = CudaOperators()
    writers = [_kernel(group, buffers, symbols, operators) for group in grouped(segments)]
    margins = [_margins(node, buffers, symbols, operators) for node in buffers.scratch if node.is_padded]
    writers = _needed([*margins, *writers], buffers)
    offsets, size = arranged(_spans(buffers, writers))
    arguments = {node: place for place, node in enumerate(buffers.arguments)}
    names = [f"k{place}" for place in range(len(writers))]
    plain = [writer.launch(name, offsets, arguments) for name, writer in zip(names, writers, strict=True)]
    bodies = [writer.text(launch.name, is_tabled(launch)) for launch, writer in zip(plain, writers, strict=True)]
    launches, texts, size = tabled(plain, bodies, size)
    return CudaProgram("".join([HEAD, helpers(operators.used), *texts]), tuple(launches), size)


def grouped(segments: Sequence[Lowered]) -> list[Group]:
    """What each kernel carries out, in order; kernels that nobody needs included."""
    items = elided(works_of(segments))
    return groups(part for item in items for part in (parted(item) if isinstance(item, Work) else [item]))


def _kernel(group: Group, buffers: Buffers, symbols: Sequence[Symbol], operators: CudaOperators) -> Writer:
    works = [item for item in group if isinstance(item, Work)]
    writer = Writer(buffers, symbols, operators, works)
    if not works:
        for statement in group:
            assert not isinstance(statement, Work)
            writer.whole(statement)
        return writer
    way = way_of(works[0])
    product = product_of(works[0]) if way is Way.TILES else None
    if product is not None:
        write_product(writer, product, works)
    elif all(work.is_map for work in works):
        write_elements(writer, works)
    else:
        write_sum(writer, works, way)
    return writer


def _margins(node: Node, buffers: Buffers, symbols: Sequence[Symbol], operators: CudaOperators) -> Writer:
    """A kernel that gives all of a scratch node, margins and inside, the margin's value."""
    loops = tuple((Iterator("m"), extent) for extent in node.dims if extent != 1)
    left = iter(loops)
    index = tuple(
        affine([(1, next(left)[0])] if extent != 1 else [], -before)
        for extent, (before, _) in zip(node.dims, node.padding, strict=True)
    )
    work = Work(Nest(loops, Store(node, index, Number(node.margin))), loops, ())
    return _kernel([work], buffers, symbols, operators)


def _needed(writers: list[Writer], buffers: Buffers) -> list[Writer]:
    """The kernels without stores to scratch that nobody reads, and without those that then do nothing."""
    while True:
        read = {node for writer in writers for node in writer.reads}
        unread = {node for node in buffers.scratch if node not in read}
        for writer in writers:
            writer.drop(unread)
        left = [writer for writer in writers if writer.writes]
        if len(left) == len(writers):
            return left
        writers = left


def _spans(buffers: Buffers, writers: Sequence[Writer]) -> dict[Node, Span]:
    """From where to where each scratch node is needed; one with margins, from the start."""
    spans: dict[Node, Span] = {}
    for position, writer in enumerate(writers):
        for node in (*writer.writes, *writer.reads):
            if node in buffers.scratch:
                first = 0 if node.is_padded else spans.get(node, (position, position))[0]
                spans[node] = first, position
    return spans
