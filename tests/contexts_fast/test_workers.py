"""multidev_cc: devices whose workers run routines later, in order."""

import threading

import pytest
from tests.contexts_fast import programs

import counterfoil as cf


def sums(context: cf.Context) -> tuple[cf.Context, cf.Routine, cf.Symbol, cf.Node, cf.Node]:
    """A routine that adds i to one node and i * i to another."""
    symbol = cf.Symbol("i", 64)
    given, first, second = cf.Node("given", ()), programs.node("first"), programs.node("second")
    code = cf.in_sequence(
        cf.Fetch(given, cf.Embed(symbol)),
        programs.adding(first, given),
        cf.Accumulate(second, "add", "mul", (cf.Read(given), cf.Read(given)), cf.pointwise(second, [given, given])),
    )
    start = context.set_values(first, [0.0]).set_values(second, [0.0])
    child, routine = start.compile(cf.comp(code, [given]), name="sums")
    return child, routine, symbol, first, second


@pytest.mark.parametrize("ordinal", [0, 1])
def test_bug_19_bindings_are_captured_at_the_dispatch(ordinal: int) -> None:
    """64 dispatches with the symbol set anew in between, without a sync: the sums of i and of i squared."""
    context, routine, symbol, first, second = sums(cf.Context.cpu(threads=2, ordinal=ordinal))
    for i in range(64):
        symbol.set(i)
        context = context.run(routine)
    symbol.set(0)
    assert context.get_values(first) == [2016.0]
    assert context.get_values(second) == [85344.0]


def held_back(context: cf.Context) -> threading.Event:
    """Make the device's worker wait until the event is set."""
    worker, event = context.device.worker, threading.Event()
    assert worker is not None
    worker.submit(event.wait)
    return event


def test_a_run_returns_before_it_is_done_and_sync_waits() -> None:
    """While the worker is held back a run returns; the buffer shows it only behind sync."""
    context, routine, symbol, first, _ = sums(cf.Context.cpu(threads=2))
    symbol.set(5)
    event = held_back(context)
    context = context.run(routine)
    assert cf.inspection.memory_bytes(context.array(first).buffer) == bytes(4)
    event.set()
    context.sync()
    assert cf.inspection.memory_bytes(context.array(first).buffer) == b"\x00\x00\xa0\x40"


def test_arrays_over_pools_wait_for_the_worker() -> None:
    """Reading an array in place waits for the runs that write it."""
    context, routine, symbol, first, _ = sums(cf.Context.cpu(threads=2))
    symbol.set(7)
    event = held_back(context)
    context = context.run(routine)
    threading.Timer(0.05, event.set).start()
    assert context.array(first).get(()) == 7.0


@pytest.mark.parametrize("operation", ["upload", "copy", "release", "read"])
def test_the_host_waits_for_the_worker(operation: str) -> None:
    """Uploads, copies, reads and release come after the runs dispatched before them."""
    context, routine, symbol, first, second = sums(cf.Context.cpu(threads=2))
    other = cf.Context.cpu(threads=2, ordinal=1)
    symbol.set(3)
    event = held_back(context)
    context = context.run(routine)
    threading.Timer(0.05, event.set).start()
    if operation == "upload":
        assert context.set_values(first, [1.0]).get_values(first) == [1.0]
    elif operation == "copy":
        assert other.copy_from(context, second).get_values(second) == [9.0]
    elif operation == "release":
        context.release()
        assert event.is_set()
    else:
        assert context.get_values(second) == [9.0]


def test_devices_are_refused_by_number() -> None:
    """contexts/ordinal names how many devices there are; another device's routine is run/other-device."""
    with pytest.raises(cf.InvalidArgument) as refusal:
        cf.Context.cpu(threads=3, ordinal=3)
    assert refusal.value.subjects == {"backend": "multidev_cc", "ordinal": 3, "devices": 3}
    _context, routine, *_ = sums(cf.Context.cpu(threads=2))
    with pytest.raises(cf.InvalidArgument) as refusal:
        cf.Context.cpu(threads=2, ordinal=1).run(routine)
    assert refusal.value.rule == "run/other-device"


def test_many_dispatches_keep_no_submissions() -> None:
    """Submissions that are done with leave the timeline while runs go on without a sync."""
    context, routine, symbol, *_ = sums(cf.Context.cpu(threads=2))
    symbol.set(0)
    for _ in range(300):
        context = context.run(routine)
    worker = context.device.worker
    assert worker is not None and len(worker.timeline.queue) <= 65
    context.sync()
    assert not worker.timeline.queue
