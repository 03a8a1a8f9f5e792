"""Graphs beside other work: captured while other threads work, released or forgotten while they are pending."""

from __future__ import annotations

import gc
import threading
from typing import Any

from tests.contexts_cuda.half import devices
from tests.contexts_cuda.test_running import live_graphs, several, sums

import counterfoil as cf

ONES = [1.0] * 200


def ready(ordinal: int = 0) -> tuple[Any, Any, Any, Any]:
    """A context, a routine of several kernels, its input and its output."""
    code, x, y = several()
    context, routine = cf.Context.cuda(ordinal).set_values(x, ONES).compile(code)
    return context, routine, x, y


def test_captures_while_other_threads_work(mode: str) -> None:
    """Four threads, on all devices, capture and replay their own routines, with uploads and reads of their own."""
    failures: list[BaseException] = []

    def work(ordinal: int) -> None:
        try:
            for _ in range(3):
                context, routine, x, y = ready(ordinal)
                expected = context.run(routine).get_values(y)
                for factor in (1.0, 2.0, 1.0):
                    context = context.set_values(x, [factor] * 200).run(routine)
                    found = context.get_values(y)
                    assert (found == expected) is (factor == 1.0)
                context.release()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(place % devices(),)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_release_with_graphs_pending(mode: str) -> None:
    """It waits for them: what they wrote was copied out by then, and no graph is left."""
    gc.collect()
    before = live_graphs(cf.Context.cuda())
    context, routine, _, y = ready()
    expected = context.run(routine).get_values(y)
    kept = cf.Context.cuda()
    for _ in range(3):
        context = context.run(routine)
    kept = kept.copy_from(context, y)
    routine.context.release()
    context.release()
    del context, routine
    gc.collect()
    assert kept.get_values(y) == expected
    assert live_graphs(kept) == before


def test_a_pending_graph_of_a_routine_nobody_holds(mode: str) -> None:
    """The routine, its graph and its context are forgotten while replays are pending: these are done all the same."""
    context, routine, _, y = ready()
    expected = context.run(routine).get_values(y)
    context = context.set_values(y, [0.0] * 200)
    for _ in range(3):
        context = context.run(routine)
    copied = cf.Context.cuda().copy_from(context, y)
    del context, routine
    gc.collect()
    assert copied.get_values(y) == expected


def test_a_rollback_between_replays(mode: str) -> None:
    """A run taken back leaves the graph as it is: the next run replays over what the buffers hold then."""
    context, routine, x, y = ready()
    expected = context.run(routine).get_values(y)
    for factor in (3.0, 1.0):
        context = context.run(routine)
        context.rollback_execution(routine.routine_id)
        context = context.set_values(x, [factor] * 200)
    assert context.run(routine).get_values(y) == expected


def test_other_bindings_between_replays(mode: str) -> None:
    """A routine with bindings between replays of the same device uses those of its own calls."""
    context, routine, _, y = ready()
    expected = context.run(routine).get_values(y)
    other, adding, symbol, found = sums(cf.Context.cuda())
    for value in (5, 7, 11):
        symbol.set(value)
        other, context = other.run(adding), context.run(routine)
    symbol.set(0)
    assert other.get_values(found) == [23.0]
    assert context.get_values(y) == expected
