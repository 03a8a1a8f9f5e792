"""Kernels that fuse or part what shares elements: no thread touches what another one writes, in whatever order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compile.running import buffer
from tests.compile.running import run as run_on_host
from tests.compile_cuda.computing import bound, computed, planned, small
from tests.compile_cuda.hosting import run
from tests.compile_cuda.races import races
from tests.programs.building import copy, spec

import counterfoil.compile as fast
from counterfoil.compile.cuda import generate
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.assignments import Accumulate, Read
from counterfoil_spec.programs.loops import (
    Apply,
    Load,
    Local,
    LocalValue,
    Loop,
    Lowered,
    Number,
    Scope,
    SetLocal,
    Statement,
    Store,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Projections, affine, at
from counterfoil_spec.programs.symbols import Iterator

pytestmark = pytest.mark.long


def test_assignments_that_share_iterators() -> None:
    """One assignment's row loop is another one's column loop: each keeps its own meaning in one kernel."""
    x, y, m, z = bound("x", (4,)), bound("y", (4,)), bound("m", (4, 4)), bound("z", (4,))
    i, k = Iterator("i"), Iterator("k")
    first = Accumulate(y, "arg2", "neg", (Read(x),), Projections(((i, 4),), (at(i),), ((at(i),),)))
    crossed = Projections(((k, 4), (i, 4)), (at(k),), ((at(k), at(i)),))
    second = Accumulate(z, "add", "identity", (Read(m),), crossed, True)
    given = {x: small((4,), 1), m: small((4, 4), 2)}
    buffers, program = computed([first, second], given)
    assert len(program.launches) == 1
    assert np.array_equal(buffers[z], given[m].sum(1)) and np.array_equal(buffers[y], -given[x])


@pytest.mark.parametrize("extent", [4, 80])
@pytest.mark.parametrize("backend", ["cuda", "cc"])
def test_a_loop_inside_a_value_shares_an_iterator(backend: str, extent: int) -> None:
    """The loop of a transform's scope has the iterator that the nest before it runs over."""
    x, y = bound("x", (extent,)), bound("y", (extent,))
    m, z = bound("m", (extent, extent)), bound("z", (extent,))
    i, k, total = Iterator("i"), Iterator("k"), Local("total", float32)
    added = SetLocal(total, Apply("add", (LocalValue(total), Load(m, (at(k), at(i))))))
    row = Scope(total, (SetLocal(total, Number(0.0)), Loop(i, extent, (added,))))
    body = (
        Loop(i, extent, (Store(y, (at(i),), Apply("neg", (Load(x, (at(i),)),))),)),
        Loop(k, extent, (Store(z, (at(k),), row),)),
    )
    plan = planned(copy(y, x), spec("i k -> i", z, m))
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[m][...] = small((extent, extent), 2)
    if backend == "cuda":
        run(generate([Lowered(body)], plan), plan, buffers)
    else:
        run_on_host(fast.generate([Lowered(body)], plan), plan, buffers)
    assert np.array_equal(buffers[z], buffers[m].sum(1))


def overlapping(extent: int) -> tuple[fast.Plan, tuple[Statement, ...]]:
    """Rows of 4 read 2 * extent - 1 wide, then written 3 wide, by loops with the same iterators."""
    x, y = bound("x", (24,)), bound("y", (34,))
    p, i, j = Iterator("p"), Iterator("i"), Iterator("j")
    place = affine([(4, p), (1, i), (1, j)])
    read = Store(y, (affine([(7, p), (1, i), (1, j)]),), Load(x, (place,)))
    written = Store(x, (place,), Number(5.0))
    body = (
        Loop(p, 4, (Loop(i, extent, (Loop(j, extent, (read,)),)),)),
        Loop(p, 4, (Loop(i, 2, (Loop(j, 2, (written,)),)),)),
    )
    return planned(copy(x, x), copy(y, y)), body


@pytest.mark.parametrize("extent", [2, 3, 4])
def test_rows_that_reach_into_one_another(extent: int) -> None:
    """A thread of the first loop reads what another one of the second writes: then they are two kernels."""
    plan, body = overlapping(extent)
    assert races([Lowered(body)], {}) == []
    run(generate([Lowered(body)], plan), plan, {node: buffer(node) + 1 for node in plan.arguments})


def test_the_check_finds_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all works count as independent, the walk names a race, and some order of threads shows it."""
    monkeypatch.setattr("counterfoil.compile.cuda.grouping.are_independent", lambda earlier, later: True)
    x, y, z = (bound(label, (8,)) for label in "xyz")
    shifted = Projections(((i := Iterator("i"), 8),), (at(i),), ((affine([(-1, i)], 7),),))
    plan = planned(copy(y, x), Accumulate(z, "arg2", "identity", (Read(y),), shifted))
    assert any("meet at y" in each for each in races([plan.lowered], {}))
    with pytest.raises(AssertionError, match="order of threads"):
        run(generate([plan.lowered], plan), plan, {node: buffer(node) + node.uid for node in plan.arguments})


# --- drawn loops -----------------------------------------------------------------------------------------------------

NODES, SIZE = 6, 80


@st.composite
def bodies(draw: st.DrawFn) -> tuple[list[Node], tuple[Statement, ...]]:
    """Nests over a few shared iterators, at strided and overlapping places of some vectors, as a transform may say."""
    nodes = [bound(f"n{place}", (SIZE,)) for place in range(NODES)]
    shared = [Iterator(label) for label in "abc"]
    common = draw(st.sampled_from([2, 4]))
    statements: list[Statement] = []
    for _ in range(draw(st.integers(2, 4))):
        iterators = draw(st.permutations(shared))[: draw(st.sampled_from([1, 1, 2, 2, 3]))]
        extents = [draw(st.sampled_from([common] * 8 + [3])) for _ in iterators]
        target, operand = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
        kept = iterators[: draw(st.integers(1, len(iterators)))]  # the others are added up
        place = draw(places(kept, extents))
        other = place if draw(st.booleans()) else draw(places(iterators, extents))
        value: Apply | Load = Load(operand, (other,))
        if len(kept) < len(iterators) or draw(st.booleans()):
            value = Apply(draw(st.sampled_from(["add", "max", "sub"])), (Load(target, (place,)), value))
        statement: Statement = Store(target, (place,), value)
        for iterator, extent in reversed(list(zip(iterators, extents, strict=True))):
            statement = Loop(iterator, extent, (statement,))
        statements.append(statement)
    return nodes, tuple(statements)


@st.composite
def places(draw: st.DrawFn, iterators: list[Iterator], extents: list[int]) -> Affine:
    """A place within a vector: mostly rows of rows, some backwards; else any strides, which may overlap."""
    strides = draw(st.permutations([1, 4, 16])) if draw(st.integers(0, 2)) else draw(st.lists(STRIDES, min_size=3))
    terms, low, high = [], 0, 0
    for iterator, extent, stride in zip(iterators, extents, strides, strict=False):
        factor = stride * draw(st.sampled_from([1, 1, 1, -1]))
        terms.append((factor, iterator))
        low, high = low + min(0, factor * (extent - 1)), high + max(0, factor * (extent - 1))
    return affine(terms, draw(st.sampled_from([0, 0, 1, 4])) - low)


STRIDES = st.sampled_from([1, 1, 2, 3, 4, 8])


@settings(max_examples=40, deadline=None)
@given(bodies())
def test_drawn_loops(drawn: tuple[list[Node], tuple[Statement, ...]]) -> None:
    """No thread touches what another one writes; fused or each alone, in every order, the bits are the same."""
    nodes, body = drawn
    plan = planned(*(copy(node, node) for node in nodes))
    results = []
    for segments in ([Lowered(body)], [Lowered((statement,)) for statement in body]):
        assert races(segments, {}) == []
        buffers = {node: small(node.shape, node.uid % 7).astype(np.float32) for node in plan.arguments}
        run(generate(segments, plan), plan, buffers)
        results.append([buffers[node].tobytes() for node in plan.arguments])
    alone = {node: small(node.shape, node.uid % 7).astype(np.float32) for node in plan.arguments}
    for statement in body:
        run(generate([Lowered((statement,))], plan), plan, alone)
    assert results[0] == results[1] == [alone[node].tobytes() for node in plan.arguments]
