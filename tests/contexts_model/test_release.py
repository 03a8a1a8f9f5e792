"""Release units: what is freed when, tips and forks, adopted ancestors, resumed releases (notes 5.6)."""

from __future__ import annotations

import gc
import weakref

import pytest
from tests.contexts_model.building import add, failing, fetch, live_pools, node, program, refused, rule, store

from counterfoil_reference import Context, claims, host, inspection
from counterfoil_spec.programs.nodes import Node


def test_a_second_release_does_nothing(root: Context) -> None:
    """Release is idempotent (context:172)."""
    x = node("x")
    fed = root.set_values(x, [1, 2])
    fed.release()
    counts = inspection.census()
    fed.release()
    root.release()
    assert inspection.census() == counts


def test_compile_siblings_are_independent(root: Context) -> None:
    """Each compile has working pools of its own (context:172)."""
    x = node("x")
    made = program("init", fetch(x, 1), embedded=[x])
    first, _ = root.compile(made)
    second, routine = root.compile(made)
    first.release()
    assert second.run(routine).get_values(x) == [1.0, 1.0]
    assert refused(lambda: first.sync()) == ("release/dead-handle", {"operation": "sync", "context": "cc:0/init"})
    second.release()


def test_a_linear_chain_is_one_unit(root: Context) -> None:
    """Uploads from the tip extend the unit: the latest value's release releases all (context:172)."""
    before, (x, y) = live_pools(), (node("x"), node("y"))
    first = root.set_values(x, [1, 2])
    second = first.set_values(y, [3, 4])
    assert first.same_release_unit(second) and root.same_release_unit(second)
    assert second.lifecycle_depth == 0 and live_pools() == before + 2
    second.release()
    assert live_pools() == before and rule(lambda: first.get_values(x)) == "release/dead-handle"


def test_an_upload_from_an_earlier_value_forks(root: Context) -> None:
    """A fork has its own mark, shares the pools of the value it forked, and outlives the chain (context:172)."""
    before, (x, y, z) = live_pools(), (node("x"), node("y"), node("z"))
    first = root.set_values(x, [1, 2])
    chain = first.set_values(y, [3, 4])
    fork = first.set_values(z, [5, 6])
    assert not fork.same_release_unit(chain) and fork.lifecycle_depth == 0
    chain.release()
    assert live_pools() == before + 2
    assert fork.get_values(x) == [1.0, 2.0] and fork.get_values(z) == [5.0, 6.0]
    fork.release()
    assert live_pools() == before


def test_what_allocates_nothing_never_forks(root: Context) -> None:
    """Uploads into a buffer there is, runs and fills stay in the unit, from any value of it (C16)."""
    x, y = node("x"), node("y")
    first = root.set_values(x, [1, 2])
    tip = first.set_values(y, [3, 4])
    assert first.set_values(x, [7, 8]).same_release_unit(tip)
    assert first.copy_from(tip, x).same_release_unit(tip)
    assert first.copy_from(first, x, into_merge_buffer=True).same_release_unit(tip)
    tip.release()


def test_a_descendant_of_a_released_chain_is_refused(root: Context) -> None:
    """Also while a fork still holds the pools (context:176); it can still be released."""
    before, (x, y, z, w) = live_pools(), (node("x"), node("y"), node("z"), node("w"))
    first = root.set_values(x, [1, 2])
    chain = first.set_values(y, [3, 4])
    fork = first.set_values(z, [5, 6])
    child, routine = first.compile(program("init", fetch(w, 1), embedded=[w]))
    chain.release()
    expected = {"operation": "run", "context": "cc:0/init", "levels": 1}
    assert refused(lambda: child.run(routine)) == ("release/dead-ancestor", expected)
    child.release()
    fork.release()
    assert live_pools() == before


def test_an_interior_release_says_how_far_up(root: Context) -> None:
    """Every door refuses a descendant of a released context, naming the levels (context:176)."""
    x, y = node("x"), node("y")
    c1, _ = root.compile(program("one", fetch(x, 1), embedded=[x]))
    c2 = c1.decide_inline([])
    c3, routine = c2.compile(program("two", store(y, x), embedded=[y]))
    c1.release()
    for call in (
        lambda: c3.compile(program("three", fetch(y, 1))), lambda: c3.run(routine), lambda: c3.sync(),
        lambda: c3.set_values(y, [1, 2]), lambda: c3.to_host(y), lambda: c3.copy_from(root, y),
        lambda: root.copy_from(c3, y), lambda: c3.decide_materialized([]), lambda: c3.observability(y),
        lambda: c3.adopt_ancestor(c1),
    ):  # fmt: skip
        found = refused(call)
        assert found is not None and found[0] == "release/dead-ancestor" and found[1]["levels"] == 2
    assert c3.mem(y) and c3.name == "cc:0/one/decide/two" and c3.placements
    c3.release()


def test_a_routine_of_a_released_context(root: Context) -> None:
    """It is refused, unless the value is a live fork that holds its pools (context:53, C14)."""
    x, y, z = node("x"), node("y"), node("z")
    child, routine = root.compile(program("init", fetch(x, 1), embedded=[x]))
    tip = child.set_values(y, [1, 2])
    fork = child.set_values(z, [3, 4])
    tip.release()
    assert refused(lambda: root.run(routine)) == ("run/compile-context-released", {"routine": "init", "levels": 0})
    assert fork.run(routine).get_values(x) == [1.0, 1.0]
    fork.release()
    assert rule(lambda: root.run(routine)) == "run/compile-context-released"


def test_adopted_ancestors_go_last(root: Context) -> None:
    """An adopted ancestor is released by the last unit holding it, after that unit's own pools (context:186)."""
    before, (x, y, z, w) = live_pools(), (node("x"), node("y"), node("z"), node("w"))
    init, routine = root.compile(program("init", fetch(x, 1), embedded=[x]))
    init.run(routine)
    leaf, use = init.compile(program("use", store(y, x), embedded=[y]))
    leaf.adopt_ancestor(init)
    tip, fork = leaf.set_values(z, [1, 2]), leaf.set_values(w, [3, 4])
    tip.release()
    assert fork.run(use).get_values(y) == [1.0, 1.0]
    fork.release()
    assert live_pools() == before and rule(lambda: init.sync()) == "release/dead-handle"


def test_only_ancestors_are_adopted(root: Context) -> None:
    """Neither the value itself nor a sibling (context:186)."""
    x = node("x")
    made = program("init", fetch(x, 1), embedded=[x])
    one, two = root.compile(made)[0], root.compile(made)[0]
    for other in (one, two):
        expected = {"context": "cc:0/init", "ancestor": "cc:0/init"}
        assert refused(lambda other=other: one.adopt_ancestor(other)) == ("release/not-an-ancestor", expected)


def test_a_failed_release_resumes(root: Context) -> None:
    """Progress is kept and the mark is not: the next release frees only the rest (context:180)."""
    before, (x, y) = live_pools(), (node("x"), node("y"))
    tip = root.set_values(x, [1, 2]).set_values(y, [3, 4])
    with failing("finalize-before-await"), pytest.raises(RuntimeError):
        tip.release()
    assert tip.get_values(x) == [1.0, 2.0] and live_pools() == before + 2
    with failing("finalize-before-free", at=2), pytest.raises(RuntimeError):
        tip.release()
    assert live_pools() == before + 1 and rule(lambda: tip.sync()) is None
    freed = inspection.census()["pools_freed"]
    tip.release()
    tip.release()
    assert inspection.census()["pools_freed"] == freed + 1 and rule(lambda: tip.sync()) == "release/dead-handle"


def test_a_failed_compile_leaves_nothing(root: Context) -> None:
    """A failure after each pool, and after all of them, frees what was allocated (context:37)."""
    y, c = node("y"), Node("c", (2,), literal=[1, 2])
    made = program("use", store(y, c), embedded=[y])
    before, records = live_pools(), root.ledger_records
    for seam, at in (("delta-pool-allocated", 1), ("delta-pool-allocated", 2), ("link-after-delta", 1)):
        with failing(seam, at), pytest.raises(RuntimeError):
            root.compile(made)
        assert live_pools() == before and root.ledger_records == records
    child, routine = root.compile(made)
    assert child.run(routine).get_values(y) == [1.0, 2.0]
    child.release()


def test_failed_transfers_leave_no_pool(root: Context) -> None:
    """A failed upload or copy to a fresh node frees its pool; over a buffer there is it keeps it."""
    before, (x, y) = live_pools(), (node("x"), node("y"))
    for seam in ("transfer-pool-allocated", "from-host-before-copy", "from-host-before-await"):
        with failing(seam), pytest.raises(RuntimeError):
            root.set_values(x, [1, 2])
        assert live_pools() == before and not root.mem(x)
    fed, other = root.set_values(x, [1, 2]), Context.cpu()
    for seam in ("transfer-pool-allocated", "init-from-device-before-await"):
        with failing(seam), pytest.raises(RuntimeError):
            other.copy_from(fed, x)
        assert live_pools() == before + 1
    with failing("from-host-before-copy"), pytest.raises(RuntimeError):
        fed.set_values(x, [7, 7])
    with failing("to-host-before-copy"), pytest.raises(RuntimeError):
        fed.to_host(x)
    assert fed.get_values(x) == [1.0, 2.0] and not other.mem(y)
    fed.release()


def test_memory_is_bounded_and_zeroed(root: Context) -> None:
    """An allocation past the budget is refused and changes nothing; what is allocated is zero (C3)."""
    x = node("x")
    made = program("use", add(x, x), embedded=[x])
    inspection.poison(0xAA)
    try:
        host().budget = inspection.live_bytes(host())
        assert rule(lambda: root.compile(made)) == "memory/exhausted" and root.ledger_records == 0
    finally:
        host().budget = None
    child, routine = root.compile(made)
    inspection.poison(None)
    assert child.get_values(x) == [0.0, 0.0] and child.run(routine).get_values(x) == [0.0, 0.0]
    child.release()


def test_a_freed_pool_is_dead(root: Context) -> None:
    """An array over a node's buffer dies with the pool: it was released."""
    x = node("x")
    fed = root.set_values(x, [1, 2])
    array = fed.array(x)
    fed.release()
    found = refused(lambda: array.get([0]))
    assert found == ("memory/dead", {"function": "get", "why": "released"})


def test_a_donated_pool_is_refused_at_the_door(root: Context) -> None:
    """A routine over a consumed pool names its operands and the consumer's reason."""
    x = node("x")
    fed = root.set_values(x, [1, 2])
    child, routine = fed.compile(program("use", add(x, x)))
    with claims(donate=[child.array(x).buffer]) as held:
        assert rule(lambda: child.run(routine)) == "door/held-exclusive"
        held.consume(child.buffers[x].buffer, "taken")
    found = refused(lambda: child.run(routine))
    assert found is not None and found[0] == "door/dead-buffer" and found[1]["dead"] == ["float32 [2] was taken"]
    child.release()
    fed.release()


def test_a_loop_of_fresh_graphs_leaves_nothing(root: Context) -> None:
    """What a released leaf held is collectable, literals included, and no record stays (context:178)."""
    kept, before = [], live_pools()
    for _ in range(5):
        x, c = node("x"), Node("c", (2,), literal=[1, 2])
        child, routine = root.compile(program("step", store(x, c), add(x, c), embedded=[x]))
        assert child.run(routine).get_values(x) == [2.0, 4.0]
        child.release()
        kept += [weakref.ref(x), weakref.ref(c), weakref.ref(routine), weakref.ref(child.unit)]
        del x, c, child, routine
    gc.collect()
    assert all(ref() is None for ref in kept) and live_pools() == before and root.ledger_records == 0
