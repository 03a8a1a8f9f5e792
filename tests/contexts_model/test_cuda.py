"""Contexts on a modelled CUDA device: where pools lie, what a run queues, what waits, what a loss poisons."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contexts_model.building import add, fetch, merged, node, program, rule, store

import counterfoil_reference as cf
from counterfoil_reference import Context, inspection


@pytest.fixture(autouse=True)
def _two_devices() -> Iterator[None]:
    """Two modelled devices, and none afterwards."""
    inspection.model_cuda(2)
    yield
    inspection.model_cuda(None)


def test_pools_lie_in_the_devices_memory() -> None:
    """``array`` is on cuda:n, off the host; the host's live bytes do not change."""
    before = inspection.live_bytes(cf.host())
    x = node("x")
    root = Context.cuda(1).set_values(x, [1, 2])
    array = root.array(x)
    assert array.device is cf.cuda(1) and array.buffer.address is None and root.get_values(x) == [1.0, 2.0]
    assert (root.backend_name, root.ordinal, root.used_memory) == ("cuda", 1, 8)
    assert inspection.live_bytes(cf.cuda(1)) == 8
    root.release()
    assert inspection.live_bytes(cf.cuda(1)) == 0 and inspection.live_bytes(cf.host()) == before


def test_roots_of_ordinals() -> None:
    """contexts/ordinal names the backend; without a model the backend is not available; auto prefers cuda to cc."""
    assert rule(lambda: Context.cuda(2)) == "contexts/ordinal"
    assert Context.auto().backend_name == Context.auto("cuda").backend_name == "cuda"
    assert cf.backend_facts_of_name("cuda")["available"]
    inspection.model_cuda(None)
    assert rule(Context.cuda) == "memory/backend-unavailable" and Context.auto().backend_name == "cc"


def test_a_run_is_one_submission_with_the_values_of_the_call() -> None:
    """It books at the call and computes later; what reads it waits for no more than it needs."""
    x, y, z, device = node("x"), node("y"), node("z"), cf.cuda(0)
    root = Context.cuda().set_values(x, [1, 2])
    first, routine = root.compile(program("one", store(y, x, x, operation="add"), embedded=[y]))
    second, other = first.compile(program("two", store(z, x), embedded=[z]))
    before = device.submitted, device.reached
    ran = second.run(routine).run(other)
    assert (device.submitted, device.reached) == (before[0] + 2, before[1])
    assert ran.buffer_written(y) and inspection.memory_bytes(first.array(y).buffer) == bytes(8)
    assert ran.get_values(y) == [2.0, 4.0] and device.reached == before[1] + 1
    ran.sync()
    assert device.reached == device.submitted


def test_work_of_others_on_a_nodes_memory_is_in_order() -> None:
    """A kernel on the node's array follows the run before it, and the run after it follows the kernel."""
    x, y = node("x"), node("y")
    root = Context.cuda().set_values(x, [1, 2])
    child, routine = root.compile(program("sum", add(y, x), embedded=[y]))
    child = child.run(routine)
    array = child.array(y)
    assert cf.kernels.mul(array, array, child.array(x)) is cf.Answer.DONE
    child = child.set_values(y, child.get_values(y)).run(routine)
    assert child.get_values(y) == [2.0, 6.0]


def test_a_merge_buffer_is_refilled_behind_the_runs_that_read_it() -> None:
    """The slab lies on the device; a later fill waits for the runs that read the one before."""
    x, y = node("x"), node("y")
    root = Context.cuda().set_values(x, [1, 2]).set_values(y, [0, 0])
    filled = root.copy_from(root, x, into_merge_buffer=True)
    child, routine = filled.compile(program("merge", merged(y, x)))
    child = child.run(routine)
    root.set_values(x, [5, 5]).copy_from(root, x, into_merge_buffer=True)
    assert child.get_values(y) == [1.0, 2.0]


def test_a_fill_that_is_refused_leaves_the_one_before() -> None:
    """The target's device is lost, the source's is not: what read the fill before may still do so by the books."""
    x, y = node("x"), node("y")
    source = Context.cuda(1).set_values(x, [1, 2])
    filled = Context.cuda().set_values(y, [0, 0]).copy_from(source, x, into_merge_buffer=True)
    child, routine = filled.compile(program("merge", merged(y, x)))
    child = child.run(routine)
    child.sync()
    cf.cuda(0).lose("unplugged")
    assert rule(lambda: child.copy_from(source, x, into_merge_buffer=True)) == "memory/lost"
    child.check_runnable(routine)


def test_copies_between_devices_and_backends() -> None:
    """From one CUDA device to the other, and to the host's backend and back."""
    x = node("x")
    one = Context.cuda(0).set_values(x, [1, 2])
    other, host = Context.cuda(1).copy_from(one, x), Context.cpu().copy_from(one, x)
    assert other.get_values(x) == host.get_values(x) == Context.cuda(0).copy_from(host, x).get_values(x) == [1.0, 2.0]
    assert other.array(x).device is cf.cuda(1) and host.array(x).device is cf.host()


def test_a_loss_under_way_poisons_the_root() -> None:
    """A run that was queued when the device was lost poisons its root; one without work under way is only lost."""
    x, y, device = node("x"), node("y"), cf.cuda(0)
    root, idle = Context.cuda().set_values(x, [1, 2]), Context.cuda().set_values(x, [3, 4])
    child, routine = root.compile(program("copy", store(y, x), embedded=[y]))
    child = child.run(routine)
    device.lose("unplugged")
    assert rule(lambda: child.get_values(y)) == rule(child.sync) == "run/poisoned"
    assert isinstance(child.poisoned_failure, cf.Lost) and idle.poisoned_failure is None
    assert rule(lambda: idle.get_values(x)) == rule(idle.sync) == "memory/lost"
    assert rule(lambda: Context.cuda().set_values(x, [1, 2])) == "memory/lost"
    child.release()
    root.release()


def test_a_finished_run_is_not_poisoned() -> None:
    """What was reached before the loss is over: the root is lost, not poisoned."""
    y, device = node("y"), cf.cuda(0)
    child, routine = Context.cuda().compile(program("fill", fetch(y, 3.0), embedded=[y]))
    child = child.run(routine)
    child.sync()
    device.lose("unplugged")
    assert child.poisoned_failure is None and rule(lambda: child.get_values(y)) == "memory/lost"
