"""Constant pools that several roots bind, and records that outlive what made them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from tests.contexts.scenario import adding, chain, gradient, live_pools, number, program, put, rule, stored

from counterfoil_spec.programs.nodes import Node


def literal(label: str) -> Node:
    """Twenty values that a device shares."""
    return Node(label, (20,), literal=[float(i) for i in range(20)])


def test_a_pool_of_a_literal_and_a_value_of_one_root_is_forgotten_whole(cf: Any, root: Any) -> None:
    """The last binder is of another root: the first one's own constant leaves its cache all the same (C6)."""
    other, before = cf.Context.cpu(), live_pools(cf)
    shared, own, y, z = literal("c"), Node("x", (20,)), stored("y", (20,)), stored("z", (20,))
    both = program("both", put(y, "add", shared, own), embedded=[own, y])
    first, _ = root.compile(both)
    second, _ = other.compile(program("one", put(z, "identity", shared), embedded=[z]))
    first.release()
    second.release()
    assert live_pools(cf) == before
    again, routine = root.compile(both)
    assert again.set_values(own, [1.0] * 20).run(routine).get_values(y)[:3] == [1.0, 2.0, 3.0]


def test_a_rollback_brings_no_retired_writer_back(root: Any) -> None:
    """What a run found as the current writer, and what was released since, is nobody (C17)."""
    s = stored("s")
    fed = root.set_values(s, [1, 2])
    (one, first), (two, second) = (fed.compile(program(name, number(s, 1))) for name in ("one", "two"))
    one.run(first)
    two.run(second)
    one.release()
    two.rollback_execution(second.routine_id)
    assert fed.ledger_records == 1
    assert rule(lambda: fed.copy_from(fed, s, into_merge_buffer=True)) is None


def test_what_a_fork_still_runs_of_a_retired_routine_leaves_no_trace(root: Any) -> None:
    """The fork holds every pool the routine binds (C14), but nobody's lineage holds the routine (C17)."""
    a, b, s = stored("a"), stored("b"), stored("s")
    start = root.set_values(s, [1, 2])
    start.set_values(a, [1, 2])
    fork = start.set_values(b, [3, 4])
    child, (routine,) = chain(fork, program("seven", number(s, 7)))
    child.release()
    before = fork.ledger_records
    assert fork.run(routine).get_values(s) == [7.0, 7.0]
    assert fork.ledger_records == before
    del child, routine
    gc.collect()
    assert rule(lambda: fork.copy_from(fork, s, into_merge_buffer=True)) is None


def test_a_retired_routine_overdraws_no_less(root: Any) -> None:
    """What a fork still runs of it is counted, and no restored history gives it another run (C12, C14)."""
    x, g, a, b = stored("x"), gradient(), stored("a"), stored("b")
    start = root.set_values(x, [1, 2]).set_values(g, [0, 0])
    start.set_values(a, [1, 2])
    fork = start.set_values(b, [3, 4])
    child, routine = fork.compile(adding(g, x))
    restore = fork.save_accumulation_history()
    child.release()
    fork.run(routine)
    restore()
    assert rule(lambda: fork.run(routine)) == "gradients/without-reset"
    fork.set_values(g, [0, 0])
    assert fork.run(routine).get_values(g) == [1.0, 2.0]


def test_values_that_release_their_context_while_they_are_read(cf: Any, root: Any) -> None:
    """The upload is refused and allocates nothing: the context is looked at again after the caller's values."""
    a, b = stored("a"), stored("b")
    fed, before = root.set_values(a, [1, 2]), live_pools(cf)

    def values() -> Iterator[float]:
        yield 1.0
        fed.release()
        yield 2.0

    assert rule(lambda: fed.set_values(b, values())) == "release/dead-handle"
    assert live_pools(cf) == before - 1


def test_a_transform_that_releases_its_context(root: Any) -> None:
    """The compile is refused and draws no id: the context is looked at again before the link."""
    a, y = stored("a"), stored("y")
    fed = root.set_values(a, [1, 2])
    before = fed.ledger_records

    def releasing(lowered: Any) -> list[Any]:
        fed.release()
        return [lowered]

    comp = program("p", put(y, "identity", a), embedded=[y])
    assert rule(lambda: fed.compile(comp, transform=releasing)) == "release/dead-handle"
    assert fed.ledger_records == before
