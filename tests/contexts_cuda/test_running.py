"""Runs on a CUDA device: what is captured at the call, what waits for what, and what is enqueued."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from tests.contexts.scenario import add, chain, embedded, merged, node, number, program, put, rule, stored, total
from tests.contexts_cuda.emulated import live_objects

import counterfoil as cf


@pytest.fixture(autouse=True)
def every_mode(mode: str) -> None:
    """Each test in each mode of the driver."""


@pytest.fixture
def start() -> cf.Context:
    """A root on the first device."""
    return cf.Context.cuda()


def sums(context: cf.Context) -> tuple[cf.Context, cf.Routine, cf.Symbol, cf.Node]:
    """A routine that adds i to a node: its child, itself, the symbol and the node."""
    symbol, given, found = cf.Symbol("i", 64), node("given", ()), stored("found", ())
    code = program("sums", embedded(given, symbol), add(found, "identity", given), embedded=[given])
    child, routine = context.set_values(found, [0.0]).compile(code)
    return child, routine, symbol, found


def several(extent: int = 200) -> tuple[cf.Comp, cf.Node, cf.Node]:
    """A comp of several kernels without a binding: y = 2 x, s = the sum of y, y = y + s."""
    x, y, s = stored("x", (extent,)), stored("y", (extent,)), stored("s", ())
    code = program(
        "several", put(y, "add", x, x), total(s, "identity", y, by="i ->"), put(y, "add", y, s, by="i, -> i"),
        embedded=[y, s],
    )  # fmt: skip
    return code, x, y


def live_graphs(context: cf.Context) -> int:
    """How many graphs of the device live."""
    return int(str(context.debug_info()["live_graphs"]))


def test_bindings_are_those_of_the_call(start: cf.Context) -> None:
    """64 runs with the symbol set anew in between, without a wait: the sum of what it held at each."""
    context, routine, symbol, found = sums(start)
    for i in range(64):
        symbol.set(i)
        context = context.run(routine)
    symbol.set(0)
    assert context.get_values(found) == [2016.0]


def test_a_run_that_is_held_back_has_the_bindings_of_its_call(start: cf.Context) -> None:
    """It follows a copy of what another device is yet to write; nobody is waited for before it is read."""
    context, routine, symbol, found = sums(start)
    other, given = cf.simulated("other", addressable=True), cf.from_values(cf.float32, (), [0.0])
    lent = given.borrow(other)
    assert lent is not None
    cf.submit(other, lambda view: view.cast("f").__setitem__(0, 100.0), [], [lent.buffer])
    cf.transfer(given, context.array(found))
    for i in (3, 4):
        symbol.set(i)
        context = context.run(routine)
    symbol.set(60)
    assert (other.reached, cf.cuda(0).reached < cf.cuda(0).submitted) == (0, True)
    assert context.get_values(found) == [107.0]


def test_a_run_is_one_submission(start: cf.Context) -> None:
    """However many kernels it has."""
    code, x, _ = several()
    context, routine = start.set_values(x, [1.0] * 200).compile(code)
    device = cf.cuda(0)
    before = device.submitted
    context = context.run(routine)
    assert device.submitted == before + 1
    context.sync()
    assert device.reached == device.submitted


def test_uploads_and_reads_come_between_runs(start: cf.Context) -> None:
    """Without a sync each read is of the runs before it, and each upload is before the runs behind it."""
    code, x, y = several()
    context, routine = start.set_values(x, [0.0] * 200).compile(code)
    for value in range(1, 6):
        context = context.set_value(x, (7,), float(value)).run(routine)
        assert context.get_values(y) == [2.0 * value] * 7 + [4.0 * value] + [2.0 * value] * 192


def test_several_kernels_become_a_graph(start: cf.Context) -> None:
    """The second run captures them; later runs replay, with the same values; graph and code go with the routine."""
    gc.collect()
    before, objects = live_graphs(start), live_objects()
    code, x, y = several()
    context, routine = start.set_values(x, [1.0] * 200).compile(code)
    found = []
    context = context.run(routine)
    for _ in range(4):
        context = context.run(routine)
        found.append(context.get_values(y))
    assert found == [[402.0] * 200] * 4
    assert live_graphs(start) == before + 1
    context.release()
    del context, routine
    gc.collect()
    assert (live_graphs(start), live_objects()) == (before, objects)


def test_what_is_one_kernel_or_depends_on_the_call_makes_no_graph(start: cf.Context) -> None:
    """A graph of one launch saves nothing; bindings differ from call to call."""
    before = live_graphs(start)
    context, routine, symbol, found = sums(start)
    symbol.set(1)
    for _ in range(3):
        context = context.run(routine)
    assert context.get_values(found) == [3.0]
    x, y = stored("x"), stored("y")
    context, routine = start.set_values(x, [1.0, 2.0]).compile(program("one", put(y, "add", x, x), embedded=[y]))
    for _ in range(3):
        context = context.run(routine)
    assert context.get_values(y) == [2.0, 4.0]
    assert live_graphs(start) == before


def test_an_empty_routine_runs(start: cf.Context) -> None:
    """All of whose nodes are virtual."""
    x, v = node("x"), cf.Node("v", (2,))
    v.require(cf.Intent.VIRTUAL)
    context, routine = start.set_values(x, [1.0, 2.0]).compile(program("none", put(v, "add", x, x), embedded=[v]))
    context = context.run(routine)
    assert context.get_values(v) == [2.0, 4.0]


def test_a_merge_buffer_is_read_as_it_was_filled(start: cf.Context) -> None:
    """Fills and runs alternate without a wait, a larger fill moving the buffer; each run reads the fill before it."""
    p, q, big, sums_ = stored("p"), stored("q"), stored("big", (1000,)), stored("sums", (1000,))
    source = cf.Context.cuda().set_values(p, [1.0, 2.0]).set_values(big, [5.0] * 1000)
    context = start.set_values(q, [0.0, 0.0]).set_values(sums_, [0.0] * 1000)
    for round_, (read, into) in enumerate([(p, q), (big, sums_), (p, q)]):
        context = context.copy_from(source, read, into_merge_buffer=True)
        context, routine = context.compile(program(f"merge{round_}", merged(into, read, "add")))
        context = context.run(routine)
        source = source.set_values(p, [10.0, 20.0])
    assert context.get_values(q) == [11.0, 22.0]
    assert context.get_values(sums_) == [5.0] * 1000
    other = cf.Context.cuda().copy_from(source, p, into_merge_buffer=True)
    assert other.mem(p) is False
    assert rule(lambda: context.run(routine)) == "run/merge-slab"


def test_roots_of_one_device_are_in_order(start: cf.Context) -> None:
    """A copy between roots is of the source's runs before it, without a wait in between."""
    context, routine, symbol, found = sums(start)
    other = cf.Context.cuda()
    for i in (3, 4):
        symbol.set(i)
        context = context.run(routine)
    copied = other.copy_from(context, found)
    context = context.set_values(found, [0.0])
    assert (copied.get_values(found), context.get_values(found)) == ([7.0], [0.0])


def test_release_waits_for_what_is_pending(start: cf.Context) -> None:
    """The pools go once the device is idle, and what takes their memory next is whole."""
    code, x, y = several(1000)
    context, routine = start.set_values(x, [1.0] * 1000).compile(code)
    for _ in range(3):
        context = context.run(routine)
    device = cf.cuda(0)
    context.release()
    assert device.reached == device.submitted
    fresh, (init,) = chain(cf.Context.cuda(), program("init", number(y, 3), embedded=[y]))
    assert fresh.run(init).get_values(y) == [3.0] * 1000


def test_arrays_in_place_are_in_order(start: cf.Context) -> None:
    """What kernels and copies do to an array over a pool comes between the runs around it, without a wait."""
    x, y = stored("x"), stored("y")
    context, routine = start.set_values(x, [1.0, 2.0]).compile(program("use", put(y, "add", x, x), embedded=[y]))
    context = context.run(routine)
    seen = context.array(y).copy()
    cf.transfer(cf.from_values(cf.float32, (2,), [8.0, 9.0]), context.array(x))
    context = context.run(routine)
    assert cf.kernels.add(context.array(x), context.array(y), seen) is cf.Answer.DONE
    context = context.run(routine)
    assert context.get_values(y) == [36.0, 44.0]


def timed(context: Any, routine: Any) -> Any:
    """A run for its time."""
    return context.run(routine, timing=True)


def test_timing_runs_too(start: cf.Context) -> None:
    """``timing`` leaves out a check and nothing else."""
    code, x, y = several()
    context, routine = start.set_values(x, [1.0] * 200).compile(code)
    context = timed(timed(context, routine), routine)
    assert context.get_values(y) == [402.0] * 200
