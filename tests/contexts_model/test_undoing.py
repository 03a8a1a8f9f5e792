"""Rollback and poison (context:77, context:79; C5)."""

from __future__ import annotations

from tests.contexts_model.building import adding, fetch, gradient, node, program, refused, rule, store, zeroing

from counterfoil_reference import Context


def test_rollback_withdraws_the_latest_run(root: Context) -> None:
    """The mark, the written record and the dependents' permission go; running again restores them."""
    x, y = node("x"), node("y")
    c1, init = root.compile(program("init", fetch(x, 1), embedded=[x]))
    c2, use = c1.compile(program("use", store(y, x), embedded=[y]))
    c1.run(init)
    c2.rollback_execution(init.routine_id)
    assert not c1.buffer_written(x) and not root.can_run(use)
    c1.run(init)
    assert c2.run(use).get_values(y) == [1.0, 1.0]


def test_rollback_keeps_what_was_written_before(root: Context) -> None:
    """A value uploaded before the run is a written one again, and serves a merge fill (notes 6)."""
    x = node("x")
    c1, tick = root.set_values(x, [1, 2]).compile(program("tick", fetch(x, 5)))
    done = c1.run(tick)
    records = root.ledger_records
    done.rollback_execution(tick.routine_id)
    assert root.ledger_records == records - 2 and done.buffer_written(x)
    assert rule(lambda: done.copy_from(done, x, into_merge_buffer=True)) is None


def test_rollback_puts_counts_back(root: Context) -> None:
    """Counts that a zeroing run removed are there again, its own additions are not (C5)."""
    g, x = gradient(), node("x")
    c, zero = root.set_values(x, [1, 2]).compile(zeroing(g))
    c, add = c.compile(adding(g, x))
    c.run(zero)
    c.run(add)
    c.run(zero)
    c.rollback_execution(zero.routine_id)
    c.set_values(x, [3, 4])
    assert rule(lambda: c.run(add)) == "run/dependencies"
    c.run(zero)
    c.run(add)
    c.rollback_execution(add.routine_id)
    assert rule(lambda: c.run(add)) is None


def test_rollback_of_an_overtaken_run_is_refused(root: Context) -> None:
    """Only the latest writer of its buffers is rolled back; in reverse order every one can be."""
    x = node("x")
    c, one = root.compile(program("one", fetch(x, 1), embedded=[x]))
    c, two = c.compile(program("two", fetch(x, 2)))
    c.run(one)
    c.run(two)
    overtaken = ("run/rollback-overtaken", {"routine": "one", "nodes": ["x"]})
    assert refused(lambda: c.rollback_execution(one.routine_id)) == overtaken
    c.rollback_execution(two.routine_id)
    c.rollback_execution(one.routine_id)
    assert not c.buffer_written(x)


def test_rollback_of_what_never_ran_does_nothing(root: Context) -> None:
    """An id not executed, or a fill's, is left as it is; an unknown one is refused."""
    x = node("x")
    c, one = root.set_values(x, [1, 2]).compile(program("one", fetch(x, 1)))
    filled = c.copy_from(c, x, into_merge_buffer=True)
    records = c.ledger_records
    c.rollback_execution(one.routine_id)
    c.rollback_execution(one.routine_id + 1)
    assert filled.ledger_records == records
    assert refused(lambda: c.rollback_execution(99)) == ("run/unknown-routine", {"routine": 99})
    assert rule(lambda: Context.cpu().rollback_execution(one.routine_id)) == "run/unknown-routine"


def test_poison_refuses_everything_that_touches_buffers(root: Context) -> None:
    """Runs, syncs, reads, writes and copies on any value of the root name the routine and the first failure."""
    x = node("x")
    fed = root.set_values(x, [1, 2])
    child, routine = fed.compile(program("tick", fetch(x, 5)))
    root.poison_lineage(routine.routine_id, ValueError("lost power"))
    root.poison_lineage(routine.routine_id, ValueError("again"))
    other = Context.cpu().set_values(x, [3, 4])
    doors = {
        "run": lambda: child.run(routine), "sync": lambda: root.sync(), "to_host": lambda: fed.to_host(x),
        "get_values": lambda: fed.get_values(x), "set_values": lambda: fed.set_values(x, [0, 0]),
        "copy_from": lambda: other.copy_from(fed, x), "from_host": lambda: fed.from_host(x, other.to_host(x)),
    }  # fmt: skip
    for operation, door in doors.items():
        subjects = {"operation": operation, "routine": "tick", "failure": "ValueError: lost power"}
        assert refused(door) == ("run/poisoned", subjects)
    assert rule(lambda: fed.copy_from(other, x)) == "run/poisoned" and rule(lambda: other.sync()) is None
    assert str(child.poisoned_failure) == "lost power" and other.poisoned_failure is None
    assert rule(lambda: child.compile(program("more", fetch(x, 1)))) is None
    child.release()


def test_a_routine_of_a_poisoned_root(root: Context) -> None:
    """The routine's root is looked at too when another root's value runs it (C15)."""
    x = node("x")
    child, routine = root.compile(program("tick", fetch(x, 5), embedded=[x]))
    child.poison_lineage(routine.routine_id, ValueError("lost"))
    assert rule(lambda: Context.cpu().run(routine)) == "run/poisoned"


def test_a_routine_runs_through_another_root(root: Context) -> None:
    """The books are those of the routine's root; the value returned marks what it binds itself (C15)."""
    x = node("x")
    child, routine = root.compile(program("tick", fetch(x, 5), embedded=[x]))
    other = Context.cpu()
    after = other.run(routine)
    assert child.buffer_written(x) and not after.is_initialized(x) and after.ledger_records == 0
    away = Context.cpu(threads=2)
    assert refused(lambda: away.run(routine)) == ("run/other-device", {"routine": "tick"})
