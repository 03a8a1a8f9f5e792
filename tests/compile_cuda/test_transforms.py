"""What a transform may hand back: the same values however a routine is cut or nested."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compile.running import buffer, unpadded
from tests.compile.test_schedules import opaque
from tests.compile_cuda.computing import bound, computed, planned, small
from tests.compile_cuda.hosting import run
from tests.programs.building import Drawn, copy, padded, programs, spec, store

import counterfoil.compile as fast
from counterfoil.compile.cuda import generate
from counterfoil_spec.dtypes import float32
from counterfoil_spec.programs.assignments import Sequence
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    Local,
    LocalValue,
    Loop,
    Lowered,
    Number,
    SetLocal,
    Statement,
    Store,
)
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.projections import affine, at, fixed
from counterfoil_spec.programs.symbols import Iterator
from counterfoil_spec.refusals import InvalidArgument, Refusal


@settings(max_examples=20, deadline=None)
@given(programs(loose=False))
def test_segments_and_opaque_loops_compute_the_same(drawn: Drawn) -> None:
    """A kernel per statement, and everything inside one loop, give the bits of the routine as it was lowered."""
    try:
        plan = fast.plan(Sequence(tuple(drawn.routines[0])), fast.NOTHING_DECIDED, "r")
    except Refusal:
        return
    split = [Lowered((statement,)) for statement in plan.lowered.body] or [Lowered()]
    results = []
    for segments in ([plan.lowered], split, [opaque(plan.lowered)]):
        buffers = {node: buffer(node, padded(node, drawn.given[node])) for node in plan.arguments}
        run(generate(segments, plan), plan, buffers, drawn.bindings)
        results.append([array.tobytes() for array in buffers.values()])
    assert results[0] == results[1] == results[2]


def test_code_that_leaves_its_node_is_refused() -> None:
    """A transform's kernel whose index can pass the end of its node is refused before anything is emitted."""
    x, y = bound("x", (4,)), bound("y", (4,))
    plan = planned(copy(y, x))
    loop = Iterator("i")
    wild = Lowered((Loop(loop, 5, (Store(y, (fixed(0),), Load(x, (at(loop),))),)),))
    with pytest.raises(InvalidArgument) as refused:
        generate([wild], plan)
    assert refused.value.rule == "compile/index-range"


def ran(body: tuple[Statement, ...], plan: fast.Plan, given: dict[Node, np.ndarray]) -> dict[Node, np.ndarray]:
    """The buffers after kernels of a transform."""
    buffers = {node: buffer(node) for node in plan.arguments}
    for node, values in given.items():
        buffers[node][...] = values
    run(generate([Lowered(body)], plan), plan, buffers)
    return buffers


def test_locals_shared_by_statements() -> None:
    """A local set by one statement of a kernel is what a later one of the same kernel sees."""
    x, y = bound("x", (4,)), bound("y", (4,))
    i, total = Iterator("i"), Local("total", float32)
    added = SetLocal(total, Apply("add", (LocalValue(total), Load(x, (at(i),)))))
    body = (SetLocal(total, Number(0.0)), Loop(i, 4, (added,)), Store(y, (fixed(2),), LocalValue(total)))
    assert ran(body, planned(copy(y, x)), {x: np.array([1, 2, 3, 4])})[y].tolist() == [0, 0, 10, 0]


def test_stores_of_one_loop() -> None:
    """Stores that share a loop are carried out in step; where the second reads another point, in the loop's order."""
    x, y = bound("x", (40,)), bound("y", (40,))
    i = Iterator("i")
    shifted = affine([(-1, i)], 39)
    given = {x: small((40,), 1)}
    for index, in_order in (((at(i),), False), ((shifted,), True)):
        plan = planned(copy(y, x), copy(x, y))
        body = (Loop(i, 40, (
            Store(y, (at(i),), Apply("neg", (Load(x, (at(i),)),))),
            Store(x, (at(i),), Apply("add", (Load(y, index), Load(x, (at(i),))))),
        )),)  # fmt: skip
        want_x, want_y = given[x].copy(), np.zeros(40)
        for place in range(40):
            want_y[place] = -want_x[place]
            want_x[place] += want_y[39 - place if in_order else place]
        buffers = ran(body, plan, given)
        assert np.array_equal(buffers[x], want_x) and np.array_equal(buffers[y], want_y)
        assert (generate([Lowered(body)], plan).launches[0].block == (1, 1, 1)) is in_order


def test_conditions_around_stores() -> None:
    """A store under loops and a condition reaches the points that meet it, and reads nothing elsewhere."""
    x, y = bound("x", (30,)), bound("y", (5, 20))
    i, j = Iterator("i"), Iterator("j")
    place = affine([(6, i), (1, j)])
    guarded = If(place, fixed(30), (Store(y, (at(i), at(j)), Load(x, (place,))),))
    given = {x: small((30,), 1)}
    buffers = ran((Loop(i, 5, (Loop(j, 20, (guarded,)),)),), planned(copy(y, y), copy(x, x)), given)
    want = np.array([[given[x][6 * a + b] if 6 * a + b < 30 else 0 for b in range(20)] for a in range(5)])
    assert np.array_equal(buffers[y], want)


def test_margins_of_scratch_and_of_inlined_nodes_hold_their_value() -> None:
    """A padded node read past its end gives its margin, whether it is scratch or inlined."""
    for intent in (Intent.LOCAL, Intent.VIRTUAL):
        x, y = bound("x", (6,)), bound("y", (6,))
        inner = Node("inner", (6,), float32, padding=((1, 1),), margin=5.0)
        inner.require(intent)
        buffers, _ = computed([store(inner, "neg", x), spec("i+1->i", y, inner)], {x: np.arange(6)})
        assert unpadded(y, buffers[y]).tolist() == [-1, -2, -3, -4, -5, 5]
