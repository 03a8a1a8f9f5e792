"""Execution dependencies: which routine waits for which, rolled back and poisoned."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import add, chain, gradient, merged, node, number, program, put, refusal, rule, stored


def training(root: Any) -> tuple[Any, list[Any], Any]:
    """w = 8; gw = w x; w -= gw at x = 2: the last context, the routines init, grad and sgd, and w."""
    w, gw, x = stored("w", ()), gradient("gw", ()), node("x", ())
    context, routines = chain(
        root.set_values(x, [2]),
        program("init", number(w, 8), embedded=[w]),
        program("grad", put(gw, "mul", w, x), embedded=[gw]),
        program("sgd", put(w, "sub", w, gw)),
    )
    return context, routines, w


def test_1_a_step_depends_on_the_one_before(root: Any) -> None:
    """sgd depends on the gradient; gradient, then sgd is right."""
    context, (init, grad, sgd), w = training(root)
    assert sgd.execution_deps == {init.routine_id, grad.routine_id}
    assert grad.execution_deps == {init.routine_id}
    for routine in (init, grad, sgd):
        context = context.run(routine)
    assert context.get_values(w) == [-8.0]


@pytest.mark.parametrize("backwards", [False, True])
def test_2_siblings_are_independent(root: Any, backwards: bool) -> None:
    """Two siblings over the same nodes both run, in either order."""
    w, x, y = stored("w"), stored("x"), stored("y")
    base, (init,) = chain(root, program("init", number(w, 1), embedded=[w]))
    one, first = base.compile(program("gx", put(x, "add", w, w), embedded=[x]))
    two, second = base.compile(program("gy", put(y, "add", w, w), embedded=[y]))
    assert first.execution_deps == second.execution_deps == {init.routine_id}
    base.run(init)
    order = [(two, second), (one, first)] if backwards else [(one, first), (two, second)]
    for context, routine in order:
        context.run(routine)
    assert (one.get_values(x), two.get_values(y)) == ([2.0, 2.0], [2.0, 2.0])


def test_3_can_run_before_and_after(root: Any) -> None:
    """can_run is false before the gradient ran and true after."""
    context, (init, grad, sgd), _ = training(root)
    context.run(init)
    assert not context.can_run(sgd)
    context.run(grad)
    assert context.can_run(sgd)


def test_4_sgd_first_is_refused(root: Any) -> None:
    """A step before its gradient is refused naming it."""
    context, (init, _, sgd), w = training(root)
    context.run(init)
    assert refusal(lambda: context.run(sgd)).subjects == {"routine": "sgd", "missing": ["grad"]}
    assert context.get_values(w) == [8.0]


def test_5_again_and_again(root: Any) -> None:
    """What ran once need not run again: grad, sgd, grad is right."""
    context, (init, grad, sgd), w = training(root)
    for routine in (init, grad, sgd, grad, sgd):
        context = context.run(routine)
    assert context.get_values(w) == [8.0]


def test_6_rollback(root: Any) -> None:
    """A run taken back makes its dependents wait, seen from every context of the root; a run restores it."""
    context, (init, grad, sgd), w = training(root)
    context.run(init)
    context.run(grad)
    root.rollback_execution(grad.routine_id)
    assert not context.can_run(sgd)
    assert rule(lambda: context.run(sgd)) == "run/dependencies"
    context.run(grad)
    assert context.run(sgd).get_values(w) == [-8.0]


def test_7_poisoned(cf: Any, root: Any) -> None:
    """Everything that touches buffers refuses, naming the routine and the cause; another root does not."""
    context, (init, grad, _), w = training(root)
    context = context.run(init)
    other = cf.Context.cpu().set_values(w, [1])
    context.poison_lineage(init.routine_id, ValueError("half written"))
    calls = {
        "run": lambda: context.run(grad),
        "sync": context.sync,
        "get_values": lambda: context.get_values(w),
        "set_values": lambda: context.set_values(w, [1]),
    }
    for operation, call in calls.items():
        assert refusal(call).subjects == {
            "operation": operation,
            "routine": "init",
            "failure": "ValueError: half written",
        }
    for copy in (lambda: other.copy_from(context, w), lambda: context.copy_from(other, w)):
        assert refusal(copy).rule == "run/poisoned"
    assert str(root.poisoned_failure) == "half written"
    assert other.get_values(w) == [1.0]


def test_7_the_first_poison_stays(root: Any) -> None:
    """A second failure does not replace the first."""
    context, (init, grad, _), _ = training(root)
    context.poison_lineage(init.routine_id, ValueError("first"))
    context.poison_lineage(grad.routine_id, ValueError("second"))
    assert str(context.poisoned_failure) == "first"


def test_8_a_merge_source_waits_for_its_writer(root: Any) -> None:
    """No transfer before the source's writer ran; a sibling's own unwritten buffer does not serve either."""
    n = stored("n")
    comp = program("write", put(n, "identity", node("c", literal=[11, 22])), embedded=[n])
    one, writer = root.compile(comp)
    two, _ = root.compile(comp)
    caught = refusal(lambda: root.copy_from(one, n, into_merge_buffer=True))
    assert (caught.rule, caught.subjects) == ("transfers/source-pending", {"node": "n", "writer": "write"})
    one.run(writer)
    root.copy_from(one, n, into_merge_buffer=True)
    assert rule(lambda: root.copy_from(two, n, into_merge_buffer=True)) == "transfers/source-pending"


def test_8_the_buffers_writer_counts_not_the_frontiers(root: Any) -> None:
    """Once the concrete buffer's writer ran, a later compiled writer that did not is no hindrance."""
    n = stored("n")
    first = program("first", put(n, "identity", node("c", literal=[11, 22])), embedded=[n])
    context, (one, _) = chain(root, first, program("second", number(n, 9)))
    context.run(one)
    filled = root.copy_from(context, n, into_merge_buffer=True)
    y = stored("y")
    child, reading = filled.compile(program("use", merged(y, n), embedded=[y]))
    assert child.run(reading).get_values(y) == [11.0, 22.0]


def consumer(root: Any) -> tuple[Any, Any, Any, Any, Any]:
    """n written in a source and filled into the merge buffer, which a compiled routine adds to y."""
    n, y = stored("n"), stored("y")
    write = program("write", put(n, "identity", node("c", literal=[11, 22])), embedded=[n])
    tick = program("tick", number(y, 0), embedded=[y])
    source, (writer,) = chain(root, write)
    source = source.run(writer)
    target, (ticking,) = chain(root, tick)
    filled = target.run(ticking).copy_from(source, n, into_merge_buffer=True)
    child, reading = filled.compile(program("use", merged(y, n)))
    return source, n, child, reading, y


def test_8_a_consumer_depends_on_the_transfer(root: Any) -> None:
    """A consumer depends on the fill, and on the writer of what it writes; not on writers of the filled node."""
    source, n, child, reading, y = consumer(root)
    assert len(reading.execution_deps) == 2
    assert reading.inputs == ()
    assert child.run(reading).get_values(y) == [11.0, 22.0]
    source.set_values(n, [1, 1])
    assert child.run(reading).get_values(y) == [11.0, 22.0]


def test_8_a_refill_waits_for_consumers(root: Any) -> None:
    """While a consumer is pending the slab is not filled again; after its run it is, and the old consumer is dead."""
    source, n, child, reading, y = consumer(root)
    caught = refusal(lambda: child.copy_from(source, n, into_merge_buffer=True))
    assert (caught.rule, caught.subjects["consumers"]) == ("transfers/pending-consumers", ["use"])
    child.run(reading)
    refilled = child.copy_from(source.set_values(n, [5, 6]), n, into_merge_buffer=True)
    assert rule(lambda: child.run(reading)) == "run/dependencies"
    again, second = refilled.compile(program("again", merged(y, n)))
    assert again.run(second).get_values(y) == [5.0, 6.0]


def test_8_releasing_an_unrun_consumer_unblocks_the_slab(root: Any) -> None:
    """A consumer that is released will not run: the slab is free."""
    source, n, child, _, y = consumer(root)
    child.release()
    refilled = source.copy_from(source.set_values(n, [5, 6]), n, into_merge_buffer=True)
    again, reading = refilled.compile(program("again", merged(y, n), embedded=[y]))
    assert again.run(reading).get_values(y) == [5.0, 6.0]


def test_8_a_rolled_back_writer_does_not_hide_an_explicit_value(root: Any) -> None:
    """A value set by hand, then a run that is taken back: the value by hand is what the source has."""
    n = stored("n")
    context, (writer,) = chain(root, program("write", number(n, 9), embedded=[n]))
    context = context.set_values(n, [5, 6])
    context.run(writer)
    context.rollback_execution(writer.routine_id)
    y = stored("y")
    filled = root.copy_from(context, n, into_merge_buffer=True)
    child, reading = filled.compile(program("read", merged(y, n), embedded=[y]))
    assert child.run(reading).get_values(y) == context.get_values(n)


def test_an_upload_supersedes_a_writer(root: Any) -> None:
    """A reader compiled from the value an upload returned does not wait for the writer before it."""
    n, y = stored("n"), stored("y")
    before, _ = root.compile(program("write", number(n, 1), embedded=[n]))
    after = before.set_values(n, [5, 6])
    child, reading = after.compile(program("read", put(y, "identity", n), embedded=[y]))
    assert not reading.execution_deps
    assert child.run(reading).get_values(y) == [5.0, 6.0]


def test_two_readers_and_a_writer(root: Any) -> None:
    """A writer waits for every reader since the last write, and for no reader before it."""
    n, y, z = stored("n"), stored("y"), stored("z")
    fed = root.set_values(n, [1, 2])
    comps = [
        program("one", put(y, "identity", n), embedded=[y]),
        program("two", put(z, "identity", n), embedded=[z]),
        program("over", number(n, 9)),
        program("again", number(n, 7)),
    ]
    _, (one, two, over, again) = chain(fed, *comps)
    assert over.execution_deps == {one.routine_id, two.routine_id}
    assert again.execution_deps == {over.routine_id}


def test_read_modify_write_is_no_reader(root: Any) -> None:
    """x += 1 waits for x's writer and is its next writer."""
    x, one = stored("x"), node("one", literal=[1, 1])
    _, (init, tick, over) = chain(
        root,
        program("init", number(x, 0), embedded=[x]),
        program("tick", add(x, "identity", one)),
        program("over", number(x, 5)),
    )
    assert tick.execution_deps == {init.routine_id}
    assert over.execution_deps == {tick.routine_id}


def test_deferral_alone_depends_on_nothing(root: Any) -> None:
    """A routine all of whose definitions are kept for later reads, writes and waits for nothing."""
    x, v = node("x"), node("v")
    _, (later,) = chain(root.set_values(x, [1, 2]), program("later", put(v, "add", x, x)))
    assert (later.inputs, later.outputs, later.execution_deps) == ((), (), frozenset())
