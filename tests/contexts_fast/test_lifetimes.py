"""What the core points to lives as long as it is pointed to, and what roots share as long as one of them uses it."""

from __future__ import annotations

import gc
import threading

from tests.contexts.scenario import adding, gradient, merged, number, program, rule, stored, zeroing

import counterfoil as cf


def test_a_rollback_outlives_the_routines_it_counted() -> None:
    """The counts that a restored history noted may be of routines that are gone since: they are left alone."""
    g, x = gradient("g"), stored("x")
    fed = cf.Context.cpu().set_values(x, [1, 2])
    zeroed, zero = fed.compile(zeroing(g))
    (one, first), (two, second) = (zeroed.compile(adding(g, x, label=name, runs=2)) for name in ("one", "two"))
    one.run(zero)
    one.run(first)
    two.run(second)
    restore = fed.save_accumulation_history()
    one.run(first)
    restore()
    two.release()
    del two, second
    gc.collect()
    one.rollback_execution(first.routine_id)
    assert rule(lambda: one.run(first)) is None
    assert rule(lambda: one.run(first)) == "gradients/without-reset"


def test_a_slab_is_not_filled_under_a_run() -> None:
    """Two roots in two threads: a run sees its own fill whole, or is refused; the slab grows meanwhile."""
    mine, out = stored("mine", (40000,)), stored("out", (40000,))
    root = cf.Context.cpu().set_values(mine, [1.0] * 40000)
    filling = threading.Thread(target=_fill_more_and_more)
    filling.start()
    while filling.is_alive():
        child, routine = root.copy_from(root, mine, into_merge_buffer=True).compile(
            program("take", merged(out, mine), embedded=[out])
        )
        for _ in range(20):
            refused = rule(lambda child=child, routine=routine: child.run(routine))  # type: ignore[misc]
            assert refused in (None, "run/merge-slab")
            if child.buffer_written(out):
                assert set(child.get_values(out)[::500]) == {1.0}
        child.release()
    filling.join()
    root.release()


def _fill_more_and_more() -> None:
    other = cf.Context.cpu()
    for extent in range(50000, 1000000, 50000):
        big = stored("big", (extent,))
        made, routine = other.compile(program("two", number(big, 2), embedded=[big]))
        made.run(routine).copy_from(made.run(routine), big, into_merge_buffer=True)
        made.release()


def test_a_retired_routine_that_a_fork_runs_is_no_writer() -> None:
    """Nothing points to its mark once it is gone (C14, C17)."""
    s, a, b = stored("s"), stored("a"), stored("b")
    start = cf.Context.cpu().set_values(s, [1, 2])
    start.set_values(a, [1, 2])
    fork = start.set_values(b, [3, 4])
    child, routine = fork.compile(program("seven", number(s, 7)))
    child.release()
    fork.run(routine)
    del child, routine
    gc.collect()
    assert rule(lambda: fork.copy_from(fork, s, into_merge_buffer=True)) is None
