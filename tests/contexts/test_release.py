"""Release, executable; and (k): memory that grows, or is given back twice."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from tests.contexts.scenario import (
    adding,
    chain,
    failing,
    gradient,
    live_bytes,
    live_pools,
    merged,
    node,
    number,
    program,
    put,
    refusal,
    rule,
    stored,
)


def two_levels(root: Any) -> tuple[Any, Any, Any, Any]:
    """s = x in one compile, y = 2 s in the next, both run: both contexts, s and y."""
    x, s, y = node("x"), stored("s"), stored("y")
    fed = root.set_values(x, [1, 2])
    one, first = fed.compile(program("init", put(s, "identity", x), embedded=[s]))
    two, second = one.compile(program("use", put(y, "add", s, s), embedded=[y]))
    return one.run(first), two.run(second), s, y


def test_5_6_a_second_release_does_nothing(cf: Any, root: Any) -> None:
    """Nothing is freed twice."""
    one, two, _, _ = two_levels(root)
    before = cf.inspection.census()["pools_freed"]
    for _ in range(3):
        two.release()
    assert cf.inspection.census()["pools_freed"] == before + 1
    assert one.lifecycle_depth == 1


def test_5_6_compile_siblings_are_independent(root: Any) -> None:
    """Releasing one of two compiles of one comp leaves the other."""
    s = stored("s")
    comp = program("init", number(s, 3), embedded=[s])
    (one, first), (two, second) = root.compile(comp), root.compile(comp)
    one.run(first)
    two.run(second)
    one.release()
    assert two.get_values(s) == [3.0, 3.0]
    assert rule(lambda: one.get_values(s)) == "release/dead-handle"


def test_5_6_a_shared_pool_is_freed_with_the_last_fork(cf: Any, root: Any) -> None:
    """An upload from a superseded value forks: it holds the shared pool after the chain is gone."""
    a, b, c = stored("a"), stored("b"), stored("c")
    first = root.set_values(a, [1, 2])
    tip, fork = first.set_values(b, [3, 4]), first.set_values(c, [5, 6])
    assert not tip.same_release_unit(fork)
    before = live_pools(cf)
    tip.release()
    assert live_pools(cf) == before - 1
    assert fork.get_values(a) == [1.0, 2.0]
    fork.release()
    assert live_pools(cf) == before - 3


def test_5_6_an_interior_release_makes_descendants_refuse(root: Any) -> None:
    """At every door, saying how many levels up; they can still be released."""
    one, two, s, y = two_levels(root)
    comp = program("more", put(y, "identity", s))
    one.release()
    calls = {
        "compile": lambda: two.compile(comp),
        "sync": two.sync,
        "to_host": lambda: two.to_host(y),
        "get_values": lambda: two.get_values(y),
        "set_values": lambda: two.set_values(y, [1, 2]),
        "copy_from": lambda: two.copy_from(two, y),
        "decide_materialized": lambda: two.decide_materialized([y]),
        "decide_inline": lambda: two.decide_inline([y]),
        "decide_footprint": lambda: two.decide_footprint([y]),
        "adopt_ancestor": lambda: two.adopt_ancestor(one),
    }
    for operation, call in calls.items():
        expected = {"operation": operation, "context": "cc:0/init/use", "levels": 1}
        assert (refusal(call).rule, refusal(call).subjects) == ("release/dead-ancestor", expected)
    two.release()
    assert rule(two.sync) == "release/dead-handle"


def test_5_6_what_shares_a_unit(root: Any) -> None:
    """A run's result, a copy into an existing buffer and an upload of a new node at the tip; not a decision."""
    one, _, s, _ = two_levels(root)
    written = one.copy_from(root.set_values(s, [5, 5]), s)
    fresh = written.set_values(node("z"), [7, 8])
    decided = fresh.decide_inline([s])
    assert all(each.same_release_unit(one) for each in (written, fresh))
    assert not decided.same_release_unit(one)
    assert decided.lifecycle_depth == one.lifecycle_depth + 1


def test_5_6_a_descendant_of_a_released_chain_is_refused(root: Any) -> None:
    """Though a fork still holds that chain's pools."""
    a, y = stored("a"), stored("y")
    first = root.set_values(a, [1, 2])
    child, routine = first.compile(program("use", put(y, "identity", a), embedded=[y]))
    tip, fork = first.set_values(node("b"), [3, 4]), first.set_values(node("c"), [5, 6])
    tip.release()
    assert rule(lambda: child.run(routine)) == "release/dead-ancestor"
    assert rule(lambda: first.get_values(a)) == "release/dead-handle"
    assert fork.get_values(a) == [1.0, 2.0]


def test_metadata_outlives_the_buffers(root: Any) -> None:
    """Names, depth, placements and counts of a released value are read as before."""
    one, two, s, _ = two_levels(root)
    placements = dict(two.placements)
    two.release()
    one.release()
    assert (two.name, two.lifecycle_depth, dict(two.placements)) == ("cc:0/init/use", 2, placements)
    assert not one.buffer_written(s)
    assert one.ledger_records == root.ledger_records


def test_a_released_routine_leaves_the_records(root: Any) -> None:
    """Once nobody holds a routine's lineage its name, mark and writers are gone (C17)."""
    before = root.ledger_records
    one, two, _, _ = two_levels(root)
    assert root.ledger_records > before
    two.release()
    one.release()
    assert root.ledger_records == before


def test_b57_memory_is_flat_over_fresh_graphs(root: Any) -> None:
    """Fifty steps, each a fresh graph around a big literal, released: used memory is what it was after the first."""
    used = set()
    for step in range(50):
        c, y = node("c", (256,), literal=[float(step)] * 256), stored("y", (256,))
        child, routine = root.compile(program("use", put(y, "add", c, c), embedded=[y]))
        assert child.run(routine).get_value(y, (0,)) == 2.0 * step
        child.release()
        used.add(root.used_memory)
    assert len(used) == 1


def test_b57_a_dropped_literal_is_collected(root: Any) -> None:
    """Released and forgotten, a literal's node is collectable."""
    c, y = node("c", (64,), literal=[1.0] * 64), stored("y", (64,))
    child, routine = root.compile(program("use", put(y, "add", c, c), embedded=[y]))
    child.run(routine)
    child.release()
    watched = weakref.ref(c)
    del c, y, child, routine
    gc.collect()
    assert watched() is None


def test_b58_a_literal_lives_with_its_last_binder(cf: Any, root: Any) -> None:
    """Two roots share a literal: the first release leaves it, the last frees it, and the next compile uploads anew."""
    c, y = node("c", literal=[3, 4]), stored("y")
    comp = program("use", put(y, "identity", c), embedded=[y])
    (one, _), (two, routine) = root.compile(comp), cf.Context.cpu().compile(comp)
    before = cf.inspection.census()["constant_pools"]
    one.release()
    assert cf.inspection.census()["constant_pools"] == before
    assert two.run(routine).get_values(y) == [3.0, 4.0]
    two.set_values(c, [9, 9])
    two.release()
    assert cf.inspection.census()["constant_pools"] == before - 1
    three, again = root.compile(comp)
    assert three.run(again).get_values(y) == [3.0, 4.0]


def test_b58_one_live_entry_keeps_its_whole_pool(cf: Any, root: Any) -> None:
    """Constants are packed: a unit that binds one of them keeps them all."""
    c, d, y = node("c", literal=[3, 4]), node("d", literal=[5, 6]), stored("y")
    both, _ = root.compile(program("both", put(y, "add", c, d), embedded=[y]))
    one, routine = root.compile(program("one", put(y, "identity", d), embedded=[y]))
    before = cf.inspection.census()["constant_bytes"]
    both.release()
    assert cf.inspection.census()["constant_bytes"] == before
    assert one.run(routine).get_values(y) == [5.0, 6.0]


def test_b59_a_running_total_holds_memory_flat(cf: Any, root: Any) -> None:
    """Two hundred runs, copies and fills: as many pools, records and levels as after the first."""
    sum_, loss = stored("total", ()), node("loss", ())
    fed = root.set_values(sum_, [0]).set_values(loss, [1])
    context, (adds,) = chain(fed, program("total", put(sum_, "add", sum_, loss)))
    source = cf.Context.cpu().set_values(loss, [1])
    seen = set()
    for _ in range(200):
        context = context.run(adds).copy_from(source, loss)
        context = context.copy_from(source, loss, into_merge_buffer=True)
        seen.add((live_pools(cf), context.ledger_records, context.lifecycle_depth))
    assert len(seen) == 1
    assert context.get_values(sum_) == [200.0]


def test_b60_release_in_the_wrong_order(cf: Any, root: Any) -> None:
    """The inner context first: its descendant is refused and still frees its own; nothing is freed twice."""
    before = cf.inspection.census()
    one, two, _, y = two_levels(root)
    one.release()
    assert refusal(lambda: two.to_host(y)).subjects["levels"] == 1
    two.release()
    one.release()
    root.release()
    after = cf.inspection.census()
    assert after["working_pools"] == before["working_pools"]
    assert after["pools_freed"] - before["pools_freed"] == after["pools_allocated"] - before["pools_allocated"] == 3


@pytest.mark.parametrize("seam", ["delta-pool-allocated", "link-after-delta"])
def test_a_compile_that_fails_frees_its_pools(cf: Any, root: Any, seam: str) -> None:
    """After a pool was allocated, and after all were: what was allocated is freed, nothing is recorded."""
    y, c = stored("y"), node("c", literal=[1, 2])
    before = (live_pools(cf), root.ledger_records)
    with failing(cf, seam), pytest.raises(RuntimeError, match="injected"):
        root.compile(program("use", put(y, "identity", c), embedded=[y]))
    assert (live_pools(cf), root.ledger_records) == before


def test_bug_23_an_upload_that_fails_frees_its_pool(cf: Any, root: Any) -> None:
    """A failed upload to a fresh node frees it; a failed overwrite keeps buffer and value (571)."""
    x = stored("x")
    before = live_pools(cf)
    for seam in ("transfer-pool-allocated", "from-host-before-copy", "from-host-before-await"):
        with failing(cf, seam), pytest.raises(RuntimeError, match="injected"):
            root.set_values(x, [1, 2])
        assert live_pools(cf) == before
    fed = root.set_values(x, [1, 2])
    with failing(cf, "from-host-before-copy"), pytest.raises(RuntimeError, match="injected"):
        fed.set_values(x, [3, 4])
    assert fed.get_values(x) == [1.0, 2.0]


def test_a_read_that_fails_keeps_the_source(cf: Any, root: Any) -> None:
    """And the next one reads it."""
    x = stored("x")
    fed = root.set_values(x, [1, 2])
    with failing(cf, "to-host-before-copy"), pytest.raises(RuntimeError, match="injected"):
        fed.to_host(x)
    assert fed.get_values(x) == [1.0, 2.0]


def test_a_release_whose_wait_fails_changes_nothing(cf: Any, root: Any) -> None:
    """The context lives on; the next release frees once."""
    s = stored("s")
    context, (init,) = chain(root, program("init", number(s, 3), embedded=[s]))
    before = live_pools(cf)
    with failing(cf, "finalize-before-await"), pytest.raises(RuntimeError, match="injected"):
        context.release()
    assert live_pools(cf) == before
    assert context.run(init).get_values(s) == [3.0, 3.0]
    context.release()
    assert live_pools(cf) == before - 1


def test_a_release_is_resumed(cf: Any, root: Any) -> None:
    """Failing before the second of two pools: one freed; the next release frees the other alone; a third nothing."""
    one, _, _, _ = two_levels(root)
    context = one.decide_inline([]).set_values(stored("a"), [1, 2]).set_values(stored("b"), [3, 4])
    before = live_pools(cf)
    with failing(cf, "finalize-before-free", at=2), pytest.raises(RuntimeError, match="injected"):
        context.release()
    assert live_pools(cf) == before - 1
    context.release()
    assert live_pools(cf) == before - 2
    context.release()
    assert live_pools(cf) == before - 2


def test_census_peak(cf: Any, root: Any) -> None:
    """The mark is at least what lives, a release does not lower it, a reset sets it to what lives."""
    x = stored("x", (1024,))
    cf.inspection.reset_peak()
    start = live_bytes(cf)
    fed = root.set_values(x, [0] * 1024)
    assert cf.inspection.census()["peak_pool_bytes"] == live_bytes(cf) == start + 4096
    fed.release()
    assert cf.inspection.census()["peak_pool_bytes"] == start + 4096
    cf.inspection.reset_peak()
    assert cf.inspection.census()["peak_pool_bytes"] == live_bytes(cf) == start


def test_candidates_are_released_one_by_one(cf: Any, root: Any) -> None:
    """A hundred candidates compiled, run and released: never more than one lives beside their context."""
    x, y = node("x", literal=[1, 2]), stored("y")
    before, most = live_pools(cf), 0
    for _ in range(100):
        child, routine = root.compile(program("candidate", put(y, "add", x, x), embedded=[y]))
        child.run(routine)
        most = max(most, live_pools(cf))
        child.release()
    assert live_pools(cf) == before
    assert most == before + 2


def test_an_upload_fork_keeps_a_consumer_pending(root: Any) -> None:
    """A consumer compiled into a chain stays pending until every leaf that holds its buffers is released."""
    n, y, g = stored("n"), stored("y"), stored("z")
    fed = root.set_values(n, [1, 2])
    child, _ = fed.copy_from(fed, n, into_merge_buffer=True).compile(program("use", merged(y, n), embedded=[y]))
    tip, fork = child.set_values(g, [1, 1]), child.set_values(stored("w"), [1, 1])
    tip.release()
    assert rule(lambda: fed.copy_from(fed, n, into_merge_buffer=True)) == "transfers/pending-consumers"
    fork.release()
    fed.copy_from(fed, n, into_merge_buffer=True)


def test_a_poisoned_context_is_released(cf: Any, root: Any) -> None:
    """Cleaning up is possible after any failure."""
    g, x = gradient(), node("x")
    before = live_pools(cf)
    child, routine = root.set_values(x, [1, 2]).compile(adding(g, x))
    child.poison_lineage(routine.routine_id, RuntimeError("boom"))
    child.release()
    root.release()
    assert live_pools(cf) == before


def test_a_live_fork_runs_what_its_origin_compiled(root: Any) -> None:
    """A routine whose compile context was released runs through a fork that holds all it binds, and nowhere else."""
    s = stored("s")
    one, (init,) = chain(root, program("init", number(s, 3), embedded=[s]))
    one = one.run(init)
    _, twice = one.compile(program("twice", put(s, "add", s, s)))
    tip, fork = one.set_values(stored("a"), [1, 1]), one.set_values(stored("b"), [1, 1])
    tip.release()
    assert rule(lambda: root.run(twice)) == "run/compile-context-released"
    assert fork.run(twice).get_values(s) == [6.0, 6.0]
