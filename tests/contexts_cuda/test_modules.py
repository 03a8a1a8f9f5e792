"""Code of routines is loaded while they live, and no longer; work that is under way keeps what it runs."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from tests.contexts_cuda.emulated import live_objects

import counterfoil as cf


def routine(factor: float) -> tuple[Any, Any, Any]:
    """A context, a routine of its own text, and what it writes."""
    x = cf.tensor.data("x", (64,))
    y = x * factor
    y.value.set_observable()
    context = cf.Context.cuda().set_values(x.value, [1.0] * 64)
    context, made = context.compile(cf.tensor.forward(y), name="scale")
    return context, made, y.value


def loaded() -> int:
    gc.collect()
    return int(cf.Context.cuda().debug_info()["cubins"])


def test_a_routine_that_is_gone_leaves_no_code(mode: str) -> None:
    """Twenty routines of different texts come and go."""
    before = loaded()
    for step in range(20):
        context, made, node = routine(1.5 + step)
        assert context.run(made).get_value(node, (3,)) == 1.5 + step
        context.release()
        del context, made
    assert loaded() <= before + 1


def test_pending_work_keeps_its_code(mode: str) -> None:
    """A routine is dropped while its run has not been waited for; the run is done all the same."""
    context, made, node = routine(2.25)
    context = context.run(made)
    del made
    gc.collect()
    assert context.get_value(node, (0,)) == 2.25
    context.release()


def abandon(factor: float) -> None:
    """Leave a routine that ran in a cycle of garbage, for another thread to collect."""
    context, made, _ = routine(factor)
    context.run(made).sync()
    context.release()
    cycle: list[Any] = [context, made]
    cycle.append(cycle)
    del context, made, cycle
    collecting = threading.Thread(target=gc.collect)
    collecting.start()
    collecting.join()


def test_code_in_a_cycle_of_garbage_is_unloaded(mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Whichever thread collects it: the driver has no module more than before, and nothing is said."""
    abandon(3.5)
    before = live_objects()
    abandon(3.75)
    assert live_objects() == before
    assert capfd.readouterr().err == ""
