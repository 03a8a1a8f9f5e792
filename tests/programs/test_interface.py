"""What a routine reads, writes, replays and mentions."""

import pytest
from hypothesis import given
from tests.programs.building import (
    Buffers,
    Drawn,
    add_to,
    copy,
    declared,
    observed,
    padded,
    planned,
    programs,
    refusal,
    run,
    spec,
    store,
)
from tests.programs.test_lowering import plans

from counterfoil_reference.programs import NOTHING_DECIDED, Decisions, execute, plan_lowered
from counterfoil_spec.programs.assignments import Constant, Embed, Fetch, Merge
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Loop,
    Lowered,
    Number,
    Position,
    Store,
    Zero,
    statements,
)
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.placements import Mode, Placement
from counterfoil_spec.programs.projections import affine, at, fixed
from counterfoil_spec.programs.symbols import Iterator, Symbol


def test_reads_are_what_is_read_before_it_is_definitely_written() -> None:
    """Only read, read before written, and written first are told apart; a write of a part does not make it written."""
    x, y, z, w = (observed(name, (2,)) for name in "xyzw")
    c = Node("c", ())
    plan = planned(
        copy(y, x),  # y is written first
        add_to(z, y),  # z accumulates
        spec("-> 0", w, c, accumulator="arg2", initialize=False),  # a part of w
        add_to(y, w),
    )
    assert plan.read_only == (x, c) and plan.read_before_write == (z, w)
    assert plan.writes == (y, z, w) and plan.arguments == (x, y, z, w, c)


def test_a_symbolic_loop_is_no_definite_write() -> None:
    """A store over a symbolic extent may leave elements: reading the node later makes it an input."""
    n, e = observed("n", (3,)), Symbol("e", 3, extent=True)
    part = spec("i -> i; i=$e", n, Node("x", (3,)), accumulator="arg2", initialize=False, symbols={"e": e})
    assert planned(part, copy(observed("a", (3,)), n)).read_before_write == (n,)


def test_a_loop_without_points_writes_nothing() -> None:
    """A store below a loop of extent 0 is not definite."""
    n, x = observed("n", (2,)), Node("x", (2, 0))
    nothing = spec("ik -> i", n, x, accumulator="arg2", initialize=False)
    assert planned(nothing, copy(observed("a", (2,)), n)).read_before_write == (n,)


def test_leaves_of_a_replayed_definition_are_reads() -> None:
    """A routine that reads an inlined node of an earlier one reads its leaves, and mentions its symbols."""
    s = Symbol("s", 4)
    x, e, n = Node("x", (2,)), Node("e", (2,)), Node("n", (2,))
    first = planned(Fetch(e, Embed(s)), store(n, "add", x, e))
    assert first.arguments == () and first.symbols == (s,) and first.lowered.body == ()
    second = planned(copy(observed("a", (2,)), n), decisions=first.decisions)
    assert second.read_only == (x,) and second.symbols == (s,)


def test_a_definition_that_is_not_read_reads_nothing() -> None:
    """Assignments to inlined nodes are not executed: without a reader they have no merge node and no arguments."""
    plan = planned(copy(Node("n", (2,)), Merge(Node("g", (2,)))))
    assert plan.merge is None and plan.arguments == () and plan.steps == ()


def test_scratch_is_no_argument() -> None:
    """A Local node is written and read and appears nowhere among the arguments."""
    h = declared("h", Intent.LOCAL)
    a = observed("a", (2,))
    plan = planned(copy(h, Node("x", (2,))), copy(a, h))
    assert h not in plan.arguments and plan.writes == (a,)


@given(programs(routines=2))
def test_what_is_no_read_does_not_matter(drawn: Drawn) -> None:
    """Other former contents of arguments that are not read change no other argument."""
    for each in plans(drawn, drawn.decisions):
        reads = {*each.read_only, *each.read_before_write}
        results = []
        for noise in (0, 3):
            values = {node: padded(node, drawn.given[node]) for node in each.arguments}
            for node in each.arguments:
                if node not in reads:
                    values[node] = padded(node, [type(value)(noise) for value in drawn.given[node]])
            store = Buffers(each.arguments, drawn.merged, values)
            execute(each, store, drawn.bindings)
            results.append({node: store.values[node] for node in reads})
        assert repr(results[0]) == repr(results[1])


@given(programs(routines=2))
def test_what_is_read_only_is_left_alone(drawn: Drawn) -> None:
    """Arguments outside the writes hold after a run what they held before."""
    for each in plans(drawn, drawn.decisions):
        values = {node: padded(node, drawn.given[node]) for node in each.arguments}
        found = run(each, each.arguments, {node: drawn.given[node] for node in each.arguments}, drawn.bindings)
        assert all(repr(found[node]) == repr(values[node]) for node in each.arguments if node not in each.writes)


@given(programs(routines=2))
def test_the_lowered_routine_touches_the_arguments_and_scratch(drawn: Drawn) -> None:
    """The nodes stored to are those written and the Local ones; Virtual nodes do not occur."""
    for each in plans(drawn, drawn.decisions):
        stored = {s.node for s in statements(each.lowered.body) if isinstance(s, Store | Zero)}
        modes = {node: each.decisions.placements[node].mode for node in stored}
        assert {node for node, mode in modes.items() if mode is Mode.ON_DEVICE} <= set(each.writes)
        assert Mode.VIRTUAL not in modes.values()


# --- code given lowered ----------------------------------------------------------------------------------------------


def loop(node: Node, value: object, extent: int | Symbol = 2) -> Loop:
    """``node[i] = value`` for each i."""
    i = Iterator("i")
    return Loop(i, extent, (Store(node, (at(i),), value),))  # type: ignore[arg-type]


def test_lowered_code_says_itself_what_it_reads() -> None:
    """Loads before a definite store are reads; a store in each element's loop and a Zero are definite."""
    x, y, z = (Node(name, (2,)) for name in "xyz")
    i = Iterator("i")
    sum_ = Store(z, (at(i),), Apply("add", (Load(z, (at(i),)), Load(x, (at(i),)))))
    plan = plan_lowered(Lowered((loop(y, Number(1)), Zero(z), Loop(i, 2, (sum_,)))), NOTHING_DECIDED, "r")
    assert (plan.read_only, plan.read_before_write, plan.writes) == ((x,), (), (y, z))
    assert plan.decisions.placements == dict.fromkeys((x, y, z), Placement(Mode.ON_DEVICE, 23))
    assert run(plan, plan.arguments, {x: [1.0, 2.0], z: [7.0, 7.0]})[z] == [1.0, 2.0]


@pytest.mark.parametrize("case", ["part", "conditional", "symbolic", "repeated"])
def test_lowered_code_that_may_leave_elements_is_not_definite(case: str) -> None:
    """A store of a part, under an If, over a symbolic extent, or not one-to-one leaves the node an input if read."""
    n, a, e = Node("n", (2,)), Node("a", (2,)), Symbol("e", 2, extent=True)
    i = Iterator("i")
    write = {
        "part": loop(n, Number(1), 1),
        "conditional": If(fixed(0), at(e), (loop(n, Number(1)),)),
        "symbolic": loop(n, Number(1), e),
        "repeated": Loop(i, 2, (Store(n, (affine([(0, i)]),), Number(1)),)),
    }[case]
    j = Iterator("j")
    read = Loop(j, 2, (Store(a, (at(j),), Load(n, (at(j),))),))
    assert plan_lowered(Lowered((write, read)), NOTHING_DECIDED, "r").read_before_write == (n,)


def test_lowered_code_reads_one_merge_buffer_and_mentions_its_symbols() -> None:
    """Two merge nodes are refused; symbols in indices, extents, conditions and positions are found."""
    g, h, a, s = Node("g", ()), Node("h", ()), Node("a", (2,)), Symbol("s", 2)
    one = Store(a, (at(s),), Apply("add", (LoadMerge(g, ()), Position(at(s)))))
    plan = plan_lowered(Lowered((one,)), NOTHING_DECIDED, "r")
    assert plan.merge is g and plan.symbols == (s,)
    two = Store(a, (fixed(0),), LoadMerge(h, ()))
    found = refusal(lambda: plan_lowered(Lowered((one, two)), NOTHING_DECIDED, "r"))
    assert found == ("compile/merge-nodes", {"nodes": ["g", "h"]})


def test_lowered_code_keeps_what_the_lineage_decided() -> None:
    """A node placed before keeps its placement."""
    n = Node("n", (2,))
    decided = Decisions(placements={n: Placement(Mode.ON_DEVICE, 19)})
    plan = plan_lowered(Lowered((loop(n, Number(1)),)), decided, "r")
    assert plan.decisions.placements[n] == Placement(Mode.ON_DEVICE, 19)


def test_kernels_a_transform_split_compute_the_same() -> None:
    """Statements given as one kernel each, in order, give what the one kernel gives."""
    x, h, a = Node("x", (2,)), declared("h", Intent.LOCAL), observed("a", (2,))
    plan = planned(store(h, "neg", x), Fetch(a, Constant(2.0)), add_to(a, h))
    split = [Lowered((statement,)) for statement in plan.lowered.body]
    whole = run(plan, plan.arguments, {x: [1.0, 2.0]})
    assert run(split, plan.arguments, {x: [1.0, 2.0]}) == whole and whole[a] == [1.0, 0.0]
    assert len(split) == 3
