"""(h) Donation and lifetime, (l) ordering, (n) refusals that mislead: over the buffers of contexts."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from tests.contexts.scenario import Symbol, add, chain, node, number, program, put, refusal, rule, stored, total


def doubled(root: Any, size: int = 2) -> tuple[Any, Any, Any, Any]:
    """y = x + x compiled where x is uploaded: the context, the routine, x and y."""
    x, y = stored("x", (size,)), stored("y", (size,))
    context, (routine,) = chain(root.set_values(x, range(size)), program("twice", put(y, "add", x, x), embedded=[y]))
    return context, routine, x, y


def test_b41_a_donated_buffer_is_not_run_over(cf: Any, root: Any) -> None:
    """While a node's memory is donated a routine over it is refused before anything is dispatched."""
    context, routine, x, y = doubled(root)
    array = context.array(x)
    with cf.claims(donate=[array.buffer]) as held:
        assert held.exclusive(array.buffer)
        caught = refusal(lambda: context.run(routine))
        assert caught.rule == "door/held-exclusive"
        assert caught.subjects["function"] == "twice"
        assert not context.buffer_written(y)
    assert context.run(routine).get_values(y) == [0.0, 2.0]


def test_b42_a_copy_outlives_the_original(cf: Any, root: Any) -> None:
    """A copied node has memory of its own: the original consumed, the copy is as it was."""
    context, _, x, _ = doubled(root)
    copied = cf.Context.cpu().copy_from(context, x)
    array = context.array(x)
    with cf.claims(donate=[array.buffer]) as held:
        held.consume(array.buffer, "donated to f")
    assert copied.get_values(x) == [0.0, 1.0]
    assert refusal(lambda: context.to_host(x)).rule == "memory/dead"


def test_b43_views_of_a_contexts_buffer_die_with_it(cf: Any, root: Any) -> None:
    """Reshaped and reversed views own nothing: consumed, they all tell the same reason, as does the routine."""
    context, routine, x, _ = doubled(root, 4)
    array = context.array(x)
    views = [array.move(cf.Reshape([2, 2])), array.move(cf.Slice(cf.Range(3, 4, -1))), context.array(x)]
    with cf.claims(donate=[array.buffer]) as held:
        held.consume(array.buffer, "donated to g")
    assert {view.buffer.dead for view in views} == {"donated to g"}
    assert refusal(lambda: context.run(routine)).rule == "door/dead-buffer"


def test_b44_exactly_what_was_donated_is_dead(cf: Any, root: Any) -> None:
    """Of a routine's buffers the consumed one is named, with its consumer's words; the others live."""
    context, routine, x, y = doubled(root)
    context = context.run(routine)
    array = context.array(x)
    with cf.claims(donate=[array.buffer]) as held:
        held.consume(array.buffer, "donated to f")
    caught = refusal(lambda: context.run(routine))
    assert (caught.rule, caught.subjects["dead"]) == ("door/dead-buffer", ["float32 [2] was donated to f"])
    assert context.get_values(y) == [0.0, 2.0]


def test_b45_an_upload_keeps_nothing_of_its_source(cf: Any, root: Any) -> None:
    """The array uploaded is dropped and its memory used again: the value stays."""
    x = stored("x", (64,))
    fed = root.from_host(x, cf.from_values(cf.float32, (64,), [7] * 64))
    gc.collect()
    others = [cf.from_values(cf.float32, (64,), [-1] * 64) for _ in range(8)]
    assert fed.get_values(x) == [7.0] * 64
    assert len(others) == 8


def test_b46_thirty_rounds_of_temporaries(cf: Any, root: Any) -> None:
    """Upload sevens, release, upload minus ones elsewhere, run: only sevens are read."""
    for _ in range(30):
        context, routine, x, y = doubled(cf.Context.cpu(threads=2))
        context = context.set_values(x, [7, 7]).run(routine)
        other = cf.Context.cpu(threads=2).set_values(stored("z"), [-1, -1])
        other.release()
        assert context.get_values(y) == [14.0, 14.0]
        context.release()
    assert root.lifecycle_depth == 0


def test_b61_the_next_batch_does_not_overtake(cf: Any) -> None:
    """A hundred batches uploaded and summed without a sync: each sum is of its own batch."""
    i, batch, sums = Symbol("i", 100), stored("batch", (16,)), stored("sums", (100,))
    cell = node("cell", (), slice_of=(sums, i))
    comp = program("sum", total(cell, "identity", batch, by="k ->"), embedded=[sums])
    context, (routine,) = chain(cf.Context.cpu(threads=2).set_values(batch, [0] * 16), comp)
    for value in range(100):
        i.set(value)
        context = context.set_values(batch, [value] * 16).run(routine)
    assert context.get_values(sums) == [16.0 * k for k in range(100)]


@pytest.mark.parametrize("size", [4, 64, 4096])
def test_b62_no_alias_of_the_callers_array(cf: Any, root: Any, size: int) -> None:
    """An upload copies at every size; a read gives an array of its own."""
    x = stored("x", (size,))
    array = cf.from_values(cf.float32, (size,), [3] * size)
    fed = root.from_host(x, array)
    array.set([0], -1)
    read = fed.to_host(x)
    read.set([1], -1)
    assert fed.get_values(x) == [3.0] * size


@pytest.mark.parametrize("threads", [1, 2])
def test_b65_every_access_follows_earlier_work(cf: Any, threads: int) -> None:
    """Upload, run, read, again and again: always the new data."""
    context, routine, x, y = doubled(cf.Context.cpu(threads=threads), 256)
    for value in range(20):
        context = context.set_values(x, [value] * 256).run(routine)
        assert context.get_value(y, (255,)) == 2.0 * value


def test_b71_a_reversed_array_is_uploaded(cf: Any, root: Any) -> None:
    """Any layout is gathered; what differs from the node is told as its dtype and extents."""
    x = stored("x", (4,))
    array = cf.from_values(cf.float32, (4,), [1, 2, 3, 4]).move(cf.Slice(cf.Range(3, 4, -1)))
    fed = root.from_host(x, array)
    assert fed.get_values(x) == [4.0, 3.0, 2.0, 1.0]
    wrong = cf.from_values(cf.float32, (2, 2), [1, 2, 3, 4])
    assert refusal(lambda: root.from_host(x, wrong)).rule == "transfers/array-differs"


def test_b72_a_dead_operand_is_named(cf: Any, root: Any) -> None:
    """The routine, then every operand, then which of them died of what."""
    context, routine, x, _ = doubled(root)
    array = context.array(x)
    with cf.claims(donate=[array.buffer]) as held:
        held.consume(array.buffer, "donated to mul")
    caught = refusal(lambda: context.run(routine))
    assert str(caught) == "twice: float32 [2] was donated to mul (float32 [2], float32 [2])"


def test_b73_another_device_is_named_as_such(cf: Any, root: Any) -> None:
    """A routine of another device is refused as that, before what else is wrong with it."""
    _, routine, _, _ = doubled(root)
    other = cf.Context.cpu(threads=2)
    assert refusal(lambda: other.run(routine)).subjects == {"routine": "twice"}
    assert rule(lambda: other.run(routine)) == "run/other-device"


def test_b76_later_calls_name_the_first_failure(cf: Any, root: Any) -> None:
    """After R1's failure every entry point names R1, not the call that happened to notice."""
    context, routine, x, y = doubled(root)
    context.poison_lineage(routine.routine_id, RuntimeError("device fell off"))
    expected = {"routine": "twice", "failure": "RuntimeError: device fell off"}
    for call in (lambda: context.run(routine), lambda: context.get_values(y), lambda: context.set_values(x, [0, 0])):
        caught = refusal(call)
        assert isinstance(caught, cf.Failure)
        assert {key: caught.subjects[key] for key in expected} == expected


@pytest.mark.parametrize(("dtype", "value"), [("int32", 2**31), ("int64", -(2**63) - 1)])
def test_b76_range_errors_name_the_dtype(cf: Any, root: Any, dtype: str, value: int) -> None:
    """A value out of range is told with the node's own dtype."""
    n = stored("n", dtype=getattr(cf, dtype))
    for call in (lambda: root.set_values(n, [0, value]), lambda: root.set_values(n, [0, 0]).set_value(n, (1,), value)):
        caught = refusal(call)
        assert caught.rule == "dtypes/value-range"
        assert dtype in str(caught)


def test_bug_18_an_upload_right_after_an_initialization(cf: Any) -> None:
    """On a device that works on its own a queued write does not land on a later upload."""
    for _ in range(10):
        x, y = stored("x", (128,)), stored("y", (128,))
        comps = [program("init", number(x, 1), embedded=[x]), program("use", add(y, "identity", x), embedded=[y])]
        context, (init, use) = chain(cf.Context.cpu(threads=2), *comps)
        context = context.run(init).set_values(x, [5] * 128).run(use)
        assert context.get_value(y, (127,)) == 5.0


def test_bug_20_back_to_back_routines_do_not_overlap(cf: Any) -> None:
    """A routine follows the one before that writes what it reads."""
    x, y = stored("x", (256,)), stored("y", (256,))
    comps = [program("grow", put(y, "add", x, x)), program("back", put(x, "identity", y))]
    fed = cf.Context.cpu(threads=2).set_values(x, [1] * 256).set_values(y, [0] * 256)
    context, (grow, back) = chain(fed, *comps)
    for _ in range(10):
        context = context.run(grow).run(back)
    assert context.get_values(x) == [1024.0] * 256
