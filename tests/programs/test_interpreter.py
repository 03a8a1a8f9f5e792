"""What running a plan gives, against a second evaluator that inlines nothing."""

import math
from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, given
from tests.programs.building import Buffers, Drawn, copy, observed, padded, planned, programs, run, spec, store
from tests.programs.tiny import evaluate

from counterfoil_reference.intervals import watching
from counterfoil_reference.programs import execute
from counterfoil_spec.dtypes import float32, float64, int32
from counterfoil_spec.programs.assignments import (
    Accumulate,
    Assignment,
    Constant,
    Embed,
    Fetch,
    Fill,
    Merge,
    Offsets,
    Read,
    Row,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Projections, affine, at
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import Refusal

UNFIT = {"exp", "sin", "tanh", "log", "to_pow_of", "recip_sqrt"}
"""Functions, which numpy computes by its own bounds."""


def firm(steps: list[Assignment]) -> bool:
    """Whether numpy's scalars compute the steps within the rules: no function, a fused product of integers only."""
    names = {step.operation for step in steps if not isinstance(step, Fetch)}
    fused = any(
        step.operation == "fma" and step.target.dtype.float_format is not None
        for step in steps
        if not isinstance(step, Fetch)
    )
    return not names & UNFIT and not fused


@given(programs(merges=True))
def test_a_run_gives_what_plain_evaluation_may_give(drawn: Drawn) -> None:
    """Evaluating every assignment on buffers, in loop order, gives elements within the room of the run's."""
    steps = list(chain(*drawn.routines))
    assume(firm(steps))
    values = {node: padded(node, drawn.given[node]) for node in drawn.nodes}
    try:
        plan = planned(*steps, decisions=drawn.decisions)
    except Refusal:
        return
    arrays = {node: np.array(values[node], node.dtype.name).reshape(node.dims) for node in drawn.nodes}
    merged = np.array(drawn.merged, drawn.nodes[0].dtype.name).reshape(drawn.nodes[0].dims)
    evaluate(steps, arrays, drawn.bindings, merged)
    buffers = Buffers(plan.arguments, drawn.merged, {node: values[node] for node in plan.arguments})
    with watching() as log:
        execute(plan, buffers, drawn.bindings)
    for record in log:
        width = np.dtype(f"u{record.dst.dtype.bits // 8}")
        expected = arrays[record.dst].ravel()
        found = np.array(buffers.values[record.dst], record.dst.dtype.name)
        codes = zip(expected.view(width), found.view(width), record.accepts, strict=True)
        for theirs, ours, accept in codes:
            assert theirs == ours if accept is None else accept.accepts(record.dst.dtype, int(theirs))


def test_a_matrix_product() -> None:
    """Rows times columns, small integers: exact, and a second run accumulates nothing that the first left."""
    x, w, y = Node("x", (2, 2)), Node("w", (2, 2)), observed("y", (2, 2))
    plan = planned(spec("ij, jk -> ik", y, x, w))
    given_values = {x: [1.0, 2.0, 3.0, 4.0], w: [5.0, 6.0, 7.0, 8.0], y: [9.0] * 4}
    assert run(plan, plan.arguments, given_values)[y] == [19.0, 22.0, 43.0, 50.0]


def test_assignments_go_point_by_point() -> None:
    """An assignment that reads its own target at other places sees what it has just written."""
    x = observed("x", (4,))
    i = Iterator("i")
    onward = Projections(((i, 3),), (affine([(1, i)], 1),), ((at(i),),))
    shift = Accumulate(x, "arg2", "identity", (Read(x),), onward)
    assert run(planned(shift), [x], {x: [1.0, 2.0, 3.0, 4.0]})[x] == [1.0] * 4


def test_initialization_comes_before_what_is_read() -> None:
    """An accumulation that initializes reads its own target as the neutral value."""
    x = observed("x", (2,))
    plan = planned(spec("i -> i", x, x))
    assert plan.read_before_write == () and run(plan, [x], {x: [5.0, 7.0]})[x] == [0.0, 0.0]


def test_a_definition_is_replayed_over_its_leaves_as_they_are() -> None:
    """A later routine that reads an inlined node sees what its leaves hold now."""
    x, n, a = Node("x", (2,)), Node("n", (2,)), observed("a", (2,))
    first = planned(store(n, "neg", x))
    assert first.steps == () and first.arguments == ()
    second = planned(copy(x, Node("y", (2,))), copy(a, n), decisions=first.decisions)
    found = run(second, second.arguments, {x: [1.0, 2.0], second.arguments[-1]: [3.0, 4.0]})
    assert found[a] == [-3.0, -4.0]


def test_an_intermediate_is_rounded_to_its_own_dtype() -> None:
    """Through an inlined float32 node a float64 value loses what float32 does not hold; through int32 its fraction."""
    x = Node("x", (), float64)
    for dtype, expected in ((float32, float(np.float32(0.1))), (int32, 0.0)):
        n, a = Node("n", (), dtype), observed("a", (), float64)
        plan = planned(copy(n, x), copy(a, n))
        assert n in plan.decisions.stored and run(plan, plan.arguments, {x: [0.1]})[a] == [expected]


def test_margins_hold_the_margin_value() -> None:
    """A read in a margin gives the margin value, of a buffer, of scratch, of an inlined node."""
    for preferred in (False, True):
        x, y = Node("x", (2,)), observed("y", (2,))
        n = Node("n", (2,), padding=[(1, 1)], margin=7.0)
        if preferred:
            n.set_observable()
        plan = planned(copy(n, x), spec("i+1 -> i; i=2", y, n, accumulator="arg2", initialize=False))
        for what in (plan, [plan.lowered]):
            assert run(what, plan.arguments, {x: [1.0, 2.0]})[y] == [2.0, 7.0]


def test_symbols_and_definitions() -> None:
    """Offsets, fills, embedded symbols and rows are what they say; a symbolic extent stops where its symbol does."""
    s, e = Symbol("s", 3), Symbol("e", 3, extent=True)
    p, a, b, c, d = Node("p", (3, 2)), *(observed(name, (3,)) for name in "abc"), observed("d", (2,))
    t = observed("t")
    plan = planned(
        Fetch(a, Offsets()), Fetch(b, Fill((4, 5.5, -0.0))), Fetch(c, Embed(s)), Fetch(d, Row(p, s)),
        spec("k, k -> ; k=$e", t, a, b, symbols={"e": e}),
    )  # fmt: skip
    assert plan.symbols == (s, e)
    for what in (plan, [plan.lowered]):
        found = run(what, plan.arguments, {p: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}, {s: 2, e: 2})
        assert [found[a], found[b], found[c]] == [[0.0, 1.0, 2.0], [4.0, 5.5, -0.0], [2.0] * 3]
        assert found[d] == [4.0, 5.0] and found[t] == [5.5]
        assert run(what, plan.arguments, {}, {s: 0, e: 0})[t] == [0.0]


def test_a_view_is_written_in_its_parent() -> None:
    """Storing to a slice view, or fetching into it, changes one row of the parent; reading it reads that row."""
    s = Symbol("s", 2)
    parent, y = observed("p", (2, 2)), observed("y", (2,))
    row = Node("row", (2,), slice_of=(parent, s))
    plan = planned(Fetch(row, Fill((3.0, 4.0))), store(y, "neg", row))
    for what in (plan, [plan.lowered]):
        found = run(what, plan.arguments, {parent: [1.0] * 4}, {s: 1})
        assert found[parent] == [1.0, 1.0, 3.0, 4.0] and found[y] == [-3.0, -4.0]


def test_an_accumulation_into_a_view_starts_its_row_alone() -> None:
    """What initializes a slice view leaves the parent's other rows, reads nothing of its own and is not definite."""
    s = Symbol("s", 2)
    parent, x = observed("p", (2, 2)), Node("x", (2,))
    row = Node("row", (2,), slice_of=(parent, s))
    plan = planned(spec("i -> i", row, x))
    assert plan.read_before_write == () and plan.writes == (parent,)
    for what in (plan, [plan.lowered]):
        assert run(what, plan.arguments, {parent: [1.0] * 4, x: [5.0, 6.0]}, {s: 0})[parent] == [5.0, 6.0, 1.0, 1.0]
    through = planned(spec("i -> i", row, x), copy(observed("a", (2, 2)), parent))
    assert through.read_before_write == (parent,)
    across = planned(spec("1 i -> i", row, parent))
    assert across.read_before_write == (parent,)


def test_a_merge_operand_reads_the_merge_buffer() -> None:
    """A merge operand is an element of the slab, laid out as its node; the node itself is no argument."""
    g, a = Node("g", (2,), padding=[(1, 0)]), observed("a", (2,))
    plan = planned(copy(a, Merge(g)))
    for what in (plan, [plan.lowered]):
        assert run(what, plan.arguments, {}, merged=[0.0, 5.0, 6.0])[a] == [5.0, 6.0]
    assert plan.arguments == (a,)


@pytest.mark.parametrize("accumulator", ["add", "sub", "mul", "max", "min", "div", "mod", "cmplt", "arg1", "or"])
def test_accumulators_start_from_the_target_or_from_neutral(accumulator: str) -> None:
    """With ``initialize`` the former value of the target plays no part; without it, it is the first operand."""
    x, t = Node("x", ()), observed("t")
    fresh = planned(spec("->", t, x, accumulator=accumulator))
    onto = planned(spec("->", t, x, accumulator=accumulator, initialize=False))
    plain = {"add": 9.0, "sub": 5.0, "mul": 14.0, "max": 7.0, "min": 2.0, "div": 3.5, "mod": 1.0, "cmplt": 0.0,
             "arg1": 7.0, "or": 1.0}  # fmt: skip
    assert run(onto, [t, x], {x: [2.0], t: [7.0]})[t] == [plain[accumulator]]
    results = {run(fresh, [t, x], {x: [2.0], t: [before]})[t][0] for before in (7.0, -1.0, math.inf)}
    assert len(results) == 1


def test_a_constant_converts_as_a_cast_does() -> None:
    """A number in code is truncated and saturated into an integer node; NaN becomes 0."""
    for value, expected in ((2.9, 2), (-2.9, -2), (1e30, 2**31 - 1), (math.nan, 0), (2**31, -(2**31))):
        n = observed("n", (), int32)
        assert run(planned(Fetch(n, Constant(value))), [n], {})[n] == [expected]
