"""Small semantics that are easy to miss, one claim each."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    Fragment,
    adding,
    chain,
    failing,
    gradient,
    live_pools,
    merged,
    node,
    number,
    program,
    put,
    refusal,
    rule,
    stored,
    zeroing,
)


def test_allocation_happens_at_the_link(root: Any) -> None:
    """Right after compile a routine's nodes have buffers, and literals their values; nothing ran."""
    c, y = node("c", literal=[3, 4]), stored("y")
    child, routine = root.compile(program("use", put(y, "identity", c), embedded=[y]))
    assert (child.mem(c), child.mem(y), root.mem(y)) == (True, True, False)
    assert (child.get_values(c), child.get_values(y)) == ([3.0, 4.0], [0.0, 0.0])
    assert not child.buffer_written(y)
    assert child.can_run(routine)


def test_is_initialized_is_of_the_value(root: Any) -> None:
    """Marked by runs, uploads and copies along a value's history; the written record is the buffer's."""
    y = stored("y")
    child, routine = root.compile(program("init", number(y, 3), embedded=[y]))
    after = child.run(routine)
    assert (child.is_initialized(y), after.is_initialized(y)) == (False, True)
    assert child.buffer_written(y)


def test_a_run_returns_its_value_with_outputs_marked(root: Any) -> None:
    """The same unit, lineage and frontier."""
    y, z = stored("y"), stored("z")
    child, routine = root.compile(program("init", number(y, 3), embedded=[y]))
    after = child.run(routine)
    assert after.same_release_unit(child)
    assert (after.name, after.lifecycle_depth) == (child.name, child.lifecycle_depth)
    _, second = after.compile(program("use", put(z, "identity", y), embedded=[z]))
    assert second.execution_deps == {routine.routine_id}


def test_a_run_through_another_value_writes_the_routines_buffers(root: Any) -> None:
    """Outputs go where the routine's context binds them, and the value that does not is not marked."""
    y = stored("y")
    child, routine = root.compile(program("init", number(y, 3), embedded=[y]))
    after = root.run(routine)
    assert child.get_values(y) == [3.0, 3.0]
    assert not after.is_initialized(y)
    assert rule(lambda: after.get_values(y)) == "observability/needs-context"


def shared_constant(cf: Any, root: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Two roots that compiled a reader of one literal of twenty elements."""
    c, y = node("c", (20,), literal=[1] * 20), stored("y", (20,))
    comp = program("use", put(y, "identity", c), embedded=[y])
    one, first = root.compile(comp)
    two, second = cf.Context.cpu().compile(comp)
    return c, y, one, first, two, second


def test_a_constant_of_two_roots_is_one_buffer(cf: Any, root: Any) -> None:
    """One pool, one upload."""
    before = cf.inspection.census()["constant_pools"]
    c, _, one, _, two, _ = shared_constant(cf, root)
    assert cf.inspection.census()["constant_pools"] == before + 1
    one.set_values(c, [7] * 20)
    assert two.get_values(c) == [7.0] * 20


def test_a_foreign_write_is_refused_until_adopted_or_overwritten(cf: Any, root: Any) -> None:
    """A's write: A runs, B is refused; B adopts: B runs; B writes: B runs, A is refused."""
    c, y, one, first, two, second = shared_constant(cf, root)
    written = one.set_values(c, [7] * 20)
    one.run(first)
    assert refusal(lambda: two.run(second)).subjects == {"routine": "use", "nodes": ["c"]}
    adopted = two.copy_from(written, c)
    assert adopted.run(second).get_values(y) == [7.0] * 20
    adopted.set_values(c, [8] * 20)
    two.run(second)
    assert rule(lambda: one.run(first)) == "run/foreign-write"


def test_siblings_share_what_their_root_wrote(root: Any) -> None:
    """Within a root there is no foreign write."""
    c, y = node("c", literal=[1, 2]), stored("y")
    comp = program("use", put(y, "identity", c), embedded=[y])
    (one, _), (two, second) = root.compile(comp), root.compile(comp)
    one.set_values(c, [7, 8])
    assert two.run(second).get_values(y) == [7.0, 8.0]


def test_shared_reads_are_told(root: Any) -> None:
    """A routine's shared_reads are the nodes it reads in constant pools."""
    c, x, y = node("c", literal=[1, 2]), node("x"), stored("y")
    _, routine = root.set_values(x, [1, 2]).compile(program("use", put(y, "add", c, x), embedded=[y]))
    assert routine.shared_reads == (c,)
    assert routine.inputs == (x,)


def test_check_runnable_is_run_short_of_the_reset(root: Any) -> None:
    """In each state of a small history check_runnable refuses what run would, but for the reset."""
    g, x = gradient(), node("x")
    context, (zero, adds) = chain(root.set_values(x, [1, 2]), zeroing(g), adding(g, x))
    states = []
    for routine in (adds, zero, adds, adds):
        states.append((rule(lambda: context.check_runnable(routine)), rule(lambda: context.run(routine))))  # noqa: B023
    late = (None, "gradients/without-reset")
    assert states == [("run/dependencies", "run/dependencies"), (None, None), (None, None), late]


def test_merge_generations(root: Any) -> None:
    """Transfer ids are routine ids; refills keep the number of records."""
    n = stored("n")
    context = root.set_values(n, [1, 2])
    counts = set()
    for _ in range(5):
        context = context.copy_from(context, n, into_merge_buffer=True)
        counts.add(context.ledger_records)
    assert len(counts) == 1
    y = stored("y")
    _, routine = context.compile(program("use", merged(y, n), embedded=[y]))
    assert max(routine.execution_deps) < routine.routine_id


def test_fragments_are_recorded_once_the_link_succeeded(cf: Any, root: Any) -> None:
    """A compile that fails at its link owns nothing: the same comp compiles afterwards."""
    y = stored("y")
    comp = program("init", number(y, 3), embedded=[y], owned=[Fragment(1, "forward", "y")])
    with failing(cf, "link-after-delta"), pytest.raises(RuntimeError):
        root.compile(comp)
    child, _ = root.compile(comp)
    assert rule(lambda: child.compile(comp)) == "compile/owned-twice"


def test_analysis_leaves_everything(cf: Any, root: Any) -> None:
    """Checks, classification and explanations leave records, pools and counts as they were."""
    y = stored("y")
    child, routine = root.compile(program("init", number(y, 3), embedded=[y]))
    before = (child.ledger_records, live_pools(cf), cf.inspection.compile_count())
    child.check_runnable(routine)
    child.can_run(routine)
    child.observability(y)
    child.stored_components(y)
    assert (child.ledger_records, live_pools(cf), cf.inspection.compile_count()) == before


def test_routines_are_records(cf: Any, root: Any) -> None:
    """A routine's fields are read and not set, and no program makes one."""
    y = stored("y")
    _, routine = root.compile(program("init", number(y, 3), embedded=[y]))
    with pytest.raises(AttributeError):
        routine.name = "other"
    with pytest.raises((TypeError, cf.Refusal)):
        cf.Routine()


def test_ids_are_never_used_again(root: Any) -> None:
    """A released routine's id stays its own."""
    y = stored("y")
    seen = set()
    for _ in range(3):
        child, routine = root.compile(program("init", number(y, 3), embedded=[y]))
        seen.add(routine.routine_id)
        child.release()
    assert len(seen) == 3


def test_the_repeated_handout_of_code_is_one_comp(cf: Any) -> None:
    """Taken again, a tensor's code is the same comp (issue 955)."""
    with cf.tensor.Session():
        y = cf.tensor.data("x", ()) * 2
        assert cf.tensor.forward(y) is cf.tensor.forward(y)


def test_decisions_wait_for_the_next_compile(root: Any) -> None:
    """A node decided by an earlier compile keeps its place; inline and footprint withdraw each other."""
    x, h, y = node("x"), node("h"), stored("y")
    comp = program("use", put(h, "add", x, x), put(y, "mul", h, h), embedded=[h, y])
    fed = root.set_values(x, [1, 2])
    context, _ = chain(fed, comp)
    before = context.placements[h]
    assert context.decide_materialized([h]).placements[h] == before
    for decided in (fed.decide_inline([h]).decide_footprint([h]), fed.decide_footprint([h]).decide_inline([h])):
        child, routine = decided.compile(comp)
        assert child.placements[h].mode.value == "virtual"
        assert child.run(routine).get_values(y) == [4.0, 16.0]


def test_a_vector_is_applied_in_order(root: Any) -> None:
    """Materialize, Inline, Footprint: one child each, and of one node the last preference holds."""
    h, k = node("h"), node("k")
    decided = root.decide_readings([h], [k], [k])
    assert (decided.name, decided.lifecycle_depth) == ("cc:0/decide/decide/decide", 3)
    assert root.decide_readings([], [], []) is root
    assert root.decide_readings([], [], [], skip_empty=False).lifecycle_depth == 3
    with_names = [root.decide_reading(name, [h]).lifecycle_depth for name in ("materialized", "inline", "footprint")]
    assert with_names == [1, 1, 1]


def test_contexts_and_routines_do_not_change(root: Any) -> None:
    """Nothing that they show can be assigned (context:17)."""
    child, routine = root.compile(program("p"))
    shown = {child: ("name", "buffers", "lineage"), routine: ("context", "inputs", "outputs", "routine_id")}
    for it, names in shown.items():
        for name in names:
            with pytest.raises(AttributeError):
                setattr(it, name, getattr(it, name))
