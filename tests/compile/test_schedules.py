"""What a transform may hand back, threads, scratch: the same values however a routine is carried out."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compile.running import PARALLEL_FOR, SHARE, buffer, run, services, unpadded
from tests.programs.building import Drawn, copy, padded, programs, spec, store

import counterfoil.compile as fast
from counterfoil.compile import products, sharing
from counterfoil.compile.source import source
from counterfoil_spec.dtypes import float32, int32
from counterfoil_spec.programs.assignments import (
    Accumulate,
    Assignment,
    Constant,
    Embed,
    Fetch,
    Fill,
    Offsets,
    Read,
    Row,
)
from counterfoil_spec.programs.assignments import Sequence as Code
from counterfoil_spec.programs.loops import Apply, Load, Local, LocalValue, Loop, Lowered, Number, SetLocal, Store
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.projections import at, fixed
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import InvalidArgument, Refusal


def bound(label: str, shape: Sequence[int]) -> Node:
    """A node of float32 with a buffer."""
    node = Node(label, shape, float32)
    node.require(Intent.ON_DEVICE)
    return node


def planned(*assignments: Assignment) -> fast.Plan:
    return fast.plan(Code(assignments), fast.NOTHING_DECIDED, "r")


def opaque(lowered: Lowered) -> Lowered:
    """The kernel inside a loop of one iteration that holds all of its statements: no nest is seen any more."""
    return Lowered((Loop(Iterator("once"), 1, lowered.body),)) if lowered.body else lowered


@settings(max_examples=20, deadline=None)
@given(programs(loose=False))
def test_segments_and_opaque_loops_compute_the_same(drawn: Drawn) -> None:
    """A kernel per statement, and everything inside one loop, give the bits of the routine as it was lowered."""
    try:
        plan = fast.plan(Code(tuple(drawn.routines[0])), fast.NOTHING_DECIDED, "r")
    except Refusal:
        return
    split = [Lowered((statement,)) for statement in plan.lowered.body] or [Lowered()]
    results = []
    for segments in ([plan.lowered], split, [opaque(plan.lowered)]):
        buffers = {node: buffer(node, padded(node, drawn.given[node])) for node in plan.arguments}
        run(fast.generate(segments, plan), plan, buffers, drawn.bindings)
        results.append([array.tobytes() for array in buffers.values()])
    assert results[0] == results[1] == results[2]


def test_code_that_leaves_its_node_is_refused() -> None:
    """A transform's kernel whose index can pass the end of its node is refused before anything is compiled."""
    x, y = bound("x", (4,)), bound("y", (4,))
    plan = planned(copy(y, x))
    loop = Iterator("i")
    wild = Lowered((Loop(loop, 5, (Store(y, (fixed(0),), Load(x, (at(loop),))),)),))
    with pytest.raises(InvalidArgument) as refused:
        fast.generate([wild], plan)
    assert refused.value.rule == "compile/index-range"
    assert refused.value.subjects == {"node": "x", "axis": 0, "low": 0, "high": 4, "extent": 4}


def test_locals_shared_by_statements() -> None:
    """A local set by one statement of a kernel is what a later one of the same kernel sees."""
    x, y = bound("x", (4,)), bound("y", (4,))
    plan = planned(copy(y, x))
    i, total = Iterator("i"), Local("total", float32)
    added = SetLocal(total, Apply("add", (LocalValue(total), Load(x, (at(i),)))))
    body = (SetLocal(total, Number(0.0)), Loop(i, 4, (added,)), Store(y, (fixed(2),), LocalValue(total)))
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = [1, 2, 3, 4]
    run(fast.generate([Lowered(body)], plan), plan, buffers)
    assert buffers[y].tolist() == [0, 0, 10, 0]


def shuffled_shares(calls: list[tuple[int, int]]) -> object:
    """A parallel_for that carries shares of uneven sizes out backwards."""

    def parallel_for(body: int, state: int, count: int, grain: int) -> None:
        ends = sorted({0, count, *range(grain, count, grain + 1)})
        for first, last in reversed(list(itertools.pairwise(ends))):
            calls.append((first, last))
            SHARE(body)(state, first, last)

    return PARALLEL_FOR(parallel_for)


SHARED: dict[str, tuple[str, str, tuple[int, ...], list[tuple[int, ...]]]] = {
    "elementwise": ("exp", "bij -> bij", (16, 64, 128), [(16, 64, 128)]),
    "rows": ("identity", "bij -> bi", (16, 64), [(16, 64, 256)]),
    "product": ("mul", "bi, ij -> bj", (512, 128), [(512, 384), (384, 128)]),
    "batched product": ("mul", "bik, bkj -> bij", (16, 64, 32), [(16, 64, 64), (16, 64, 32)]),
    "pooled rows": ("identity", "b 2*i+h j -> b i j; h=2", (16, 32, 256), [(16, 64, 256)]),
    "overlapping": ("mul", "b i h j, h j -> b i+h j", (1, 32, 1024), [(1, 31, 2, 1024), (2, 1024)]),
}
"""Large nests: the operation, the projection, the shape of the target, those of the operands."""


@pytest.mark.parametrize("kind", list(SHARED))
def test_shares_of_threads_give_the_same_bits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large nests are shared among threads where their rows are their own; who carries which share out changes no
    bit, and what a row starts from is there before."""
    monkeypatch.setattr(sharing, "PARALLEL_POINTS", 1 << 17)
    monkeypatch.setattr(products, "SHARED_PRODUCTS", 1 << 21)
    operation, text, shape, shapes = SHARED[kind]
    target, operands = bound("target", shape), [bound(f"x{place}", each) for place, each in enumerate(shapes)]
    accumulator = "max" if kind == "pooled rows" else "add"
    plan = planned(spec(text, target, *operands, operation=operation, accumulator=accumulator))
    kernel = fast.generate([plan.lowered], plan)
    results, calls = [], []
    callback = shuffled_shares(calls)
    for table in (services(), services(parallel_for=ctypes.cast(callback, ctypes.c_void_p))):
        buffers = {node: buffer(node) for node in plan.arguments}
        for place, node in enumerate(operands):
            buffers[node][...] = np.random.default_rng(place).standard_normal(node.shape)
        run(kernel, plan, buffers, table=table)
        results.append([array.tobytes() for array in buffers.values()])
    assert results[0] == results[1]
    assert (len(calls) > 1) is (kind != "overlapping")


def test_much_scratch_is_taken_from_the_heap() -> None:
    """Forty scratch nodes needed at once, 640 KiB of them: not on the stack, and each its own."""
    x, y = bound("x", (4096,)), bound("y", (4096,))
    scratch = [Node(f"s{place}", (4096,), float32) for place in range(40)]
    for node in scratch:
        node.require(Intent.LOCAL)
    body: list[Assignment] = [store(scratch[0], "neg", x)]
    body += [store(later, "sub", earlier, x) for earlier, later in itertools.pairwise(scratch)]
    body += [Fetch(y, Constant(0.0))]
    body += [spec("-1*i+4095->i", y, node, initialize=False) for node in scratch]
    plan = planned(*body)
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = np.arange(4096) % 5
    run(fast.generate([plan.lowered], plan), plan, buffers)
    assert "__builtin_malloc" in source([plan.lowered], plan.arguments, plan.symbols)
    assert np.array_equal(buffers[y], -buffers[x][::-1] * sum(range(1, 41)))


def test_scratch_not_needed_at_once_lies_at_one_place() -> None:
    """A chain of scratch nodes, each read only by the next, takes the room of two."""
    x, y = bound("x", (4096,)), bound("y", (4096,))
    scratch = [Node(f"s{place}", (4096,), float32) for place in range(20)]
    for node in scratch:
        node.require(Intent.LOCAL)
    chain = [x, *scratch, y]
    turns = [spec("-1*i+4095->i", later, earlier) for earlier, later in itertools.pairwise(chain)]
    plan = planned(*turns)
    assert "scratch[32768]" in source([plan.lowered], plan.arguments, plan.symbols)
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = np.arange(4096)
    run(fast.generate([plan.lowered], plan), plan, buffers)
    assert np.array_equal(buffers[y], buffers[x][::-1])


def test_slice_views_are_rows_of_their_parents() -> None:
    """Reads and writes of a view reach the row its symbol names, whatever kind of assignment it is."""
    row = Symbol("row", 5)
    parent, other, x = bound("parent", (5, 4)), bound("other", (5, 4)), bound("x", (4,))
    view, second = (Node("view", (4,), slice_of=(node, row)) for node in (parent, other))
    body = [
        Fetch(view, Fill((7.0, 7.0, 7.0, 7.0))),
        store(view, "neg", x),
        Fetch(second, Offsets()),
        Accumulate(second, "add", "mul", (Read(x), Read(view)), pointwise(second, [x, view])),
    ]
    plan = planned(*body)
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = [1, 2, 3, 4]
    run(fast.generate([plan.lowered], plan), plan, buffers, {row: 3})
    assert buffers[parent].tolist() == [[0] * 4] * 3 + [[-1, -2, -3, -4]] + [[0] * 4]
    assert buffers[other][3].tolist() == [0 - 1, 1 - 4, 2 - 9, 3 - 16] and not buffers[other][:3].any()
    assert plan.read_before_write == (parent, other) and plan.read_only == (x,)


def test_an_initialized_view_is_its_row_alone() -> None:
    """A sum into a view starts that row from 0, leaves the others, and reads nothing of the parent."""
    row = Symbol("row", 3)
    parent, x = bound("parent", (3, 2)), bound("x", (2, 6))
    view = Node("view", (2,), slice_of=(parent, row))
    plan = planned(spec("ij->i", view, x))
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = 1
    buffers[parent][...] = 9
    run(fast.generate([plan.lowered], plan), plan, buffers, {row: 1})
    assert buffers[parent].tolist() == [[9, 9], [6, 6], [9, 9]]
    assert plan.read_before_write == ()


def test_rows_and_symbols_are_taken_from_the_bindings() -> None:
    """A fetched row is copied, an embedded symbol is its value, at each run anew."""
    row, count = Symbol("row", 3), Symbol("count", 3, extent=True)
    parent, x, y, z = bound("parent", (3, 2)), bound("x", (2,)), bound("y", (2,)), bound("z", (3,))
    loop = Iterator("i")
    partial = Accumulate(
        z, "arg2", "identity", (Read(y),), type(pointwise(z, []))(((loop, count),), (at(loop),), ((fixed(0),),))
    )
    plan = planned(Fetch(x, Row(parent, row)), Fetch(y, Embed(row)), Fetch(z, Constant(7.0)), partial)
    kernel = fast.generate([plan.lowered], plan)
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[parent][...] = np.arange(6).reshape(3, 2)
    for value in (2, 0, 1):
        run(kernel, plan, buffers, {row: value, count: value})
        assert buffers[x].tolist() == [2 * value, 2 * value + 1] and buffers[y].tolist() == [value] * 2
        assert buffers[z].tolist() == [value] * value + [7] * (3 - value)


def test_scopes_inside_short_loops_of_scopes() -> None:
    """A definition replayed inside another's loop, which is written out, has locals of its own each time."""
    x, y = bound("x", (4, 3)), bound("y", (4,))
    doubled, sums = Node("doubled", (4, 3), int32), Node("sums", (4,), float32)
    plan = planned(store(doubled, "add", x, x), spec("ij->i", sums, doubled), store(y, "neg", sums))
    assert len(plan.lowered.body) == 1
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x][...] = np.arange(12).reshape(4, 3) + 0.75
    run(fast.generate([plan.lowered], plan), plan, buffers)
    assert buffers[y].tolist() == (-2 * np.arange(12).reshape(4, 3).sum(1)).tolist()


def test_margins_of_scratch_and_of_inlined_nodes_hold_their_value() -> None:
    """A padded node read past its end gives its margin, whether it is scratch or inlined."""
    for intent in (Intent.LOCAL, Intent.VIRTUAL):
        x, y = bound("x", (6,)), bound("y", (6,))
        inner = Node("inner", (6,), float32, padding=((1, 1),), margin=5.0)
        inner.require(intent)
        plan = planned(store(inner, "neg", x), spec("i+1->i", y, inner))
        buffers = {node: buffer(node) for node in plan.arguments}
        unpadded(x, buffers[x])[...] = np.arange(6)
        run(fast.generate([plan.lowered], plan), plan, buffers)
        assert buffers[y].tolist() == [-1, -2, -3, -4, -5, 5]
