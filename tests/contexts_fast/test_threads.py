"""Threads over contexts: roots of their own side by side, and one root from several threads."""

import threading
from collections.abc import Callable

from tests.contexts_fast import programs

import counterfoil as cf

THREADS, RUNS = 4, 50


def together(work: Callable[[int], None], threads: int = THREADS) -> None:
    """The work on several threads, by number; the first exception of one is raised."""
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as failure:
            failures.append(failure)

    started = [threading.Thread(target=guarded, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if failures:
        raise failures[0]


def test_roots_run_side_by_side() -> None:
    """Each thread's root computes its own values, with small routines and with ones that let other threads in."""

    def work(number: int) -> None:
        extent = 64 if number % 2 else 20_000
        x, y, comp = programs.doubling(extent)
        context, routine = cf.Context.cpu().set_values(x, [float(number)] * extent).compile(comp)
        for run in range(RUNS):
            context = context.run(routine)
            assert context.get_value(y, (extent - 1,)) == 2.0 * (number + run)
            context = context.set_values(x, [float(number + run + 1)] * extent)
        context.release()

    together(work)


def counting(extent: int) -> tuple[cf.Context, cf.Routine, cf.Node]:
    """A context with a routine that adds 1 to every element of a node that was set to 0."""
    one, count = programs.node("one", (extent,)), programs.node("count", (extent,))
    start = cf.Context.cpu().set_values(one, [1.0] * extent).set_values(count, [0.0] * extent)
    context, routine = start.compile(cf.comp(programs.adding(count, one)), name="count")
    return context.run(routine), routine, count


def test_runs_of_one_root_come_one_after_the_other() -> None:
    """Runs from several threads are all done, none of them half over another."""
    context, routine, count = counting(30_000)

    def work(number: int) -> None:
        for _ in range(RUNS):
            context.run(routine)

    together(work)
    assert context.get_values(count) == [1.0 + THREADS * RUNS] * 30_000


def test_release_waits_for_a_run_and_ends_the_others() -> None:
    """While one thread releases, the others' runs and reads are done or refused; no pool is freed twice."""
    context, routine, count = counting(20_000)
    before = cf.inspection.census()
    rules: set[str] = set()

    def work(number: int) -> None:
        try:
            for run in range(RUNS):
                if number == 0 and run == RUNS // 2:
                    context.release()
                context.run(routine).get_value(count, (0,))
        except cf.Refusal as refusal:
            rules.add(refusal.rule)

    together(work)
    assert rules == {"release/dead-handle"}
    assert cf.inspection.census()["units_released"] - before["units_released"] == 1


def test_a_shared_literal_outlives_the_threads_that_drop_it() -> None:
    """Roots that compile, run and release over one literal leave no constant pool behind."""
    table = cf.Node("table", (64,), literal=[float(i) for i in range(64)])
    before = cf.inspection.census()["constant_pools"]

    def work(number: int) -> None:
        total = programs.node("total", (64,))
        code = cf.Accumulate(total, "arg2", "neg", (cf.Read(table),), cf.pointwise(total, [table]))
        for _ in range(RUNS // 5):
            context, routine = cf.Context.cpu().compile(cf.comp(code, [total]), name="total")
            assert context.run(routine).get_value(total, (63,)) == -63.0
            context.release()

    together(work)
    assert cf.inspection.census()["constant_pools"] == before


def test_recomputes_of_one_root_leave_each_other_alone() -> None:
    """Reads of virtual nodes from several threads: nobody releases what another is still reading."""
    root, literal = cf.Context.cpu(), cf.Node("c", (20,), literal=[1.0] * 20)

    def work(number: int) -> None:
        for _ in range(RUNS):
            x, virtual = programs.node("x", (20,)), cf.Node("v", (20,))
            product = cf.pointwise(virtual, [x, literal])
            code = cf.Accumulate(virtual, "arg2", "mul", (cf.Read(x), cf.Read(literal)), product)
            fed = root.decide_materialized([]).set_values(x, [float(number)] * 20)
            context, _ = fed.compile(cf.comp(code, [virtual]), name="v")
            assert context.get_values(virtual) == [float(number)] * 20
            context.release()
            fed.release()

    together(work)
