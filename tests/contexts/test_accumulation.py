"""The accumulation history, and (j): gradients accumulated over several runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contexts.scenario import (
    add,
    adding,
    chain,
    gradient,
    node,
    program,
    put,
    refusal,
    resetting,
    rule,
    stored,
    zeroing,
)


def zero_and_add(root: Any, runs: int = 1) -> tuple[Any, Any, Any, Any]:
    """A zeroing routine, then one that adds x = [1, 2]: the context, both routines, the gradient."""
    g, x = gradient(), node("x")
    context, (zero, adds) = chain(root.set_values(x, [1, 2]), zeroing(g), adding(g, x, runs=runs))
    return context, zero, adds, g


@pytest.mark.parametrize(
    ("runs", "order", "refused"),
    [(1, "AA", True), (1, "ZAA", True), (1, "ZAZA", False), (2, "AA", False), (2, "AAA", True), (2, "AZAA", False)],
)
def test_5_4_runs_per_reset(root: Any, runs: int, order: str, refused: bool) -> None:
    """A routine that only adds runs as often as allowed since the last reset; the last of the order is looked at."""
    context, zero, adds, g = zero_and_add(root, runs)
    if order.startswith("A"):
        context.run(zero)  # its dependency; allocation zeros are as good a start
        context.set_values(g, [0, 0])
    for letter in order[:-1]:
        context.run(adds if letter == "A" else zero)
    found = rule(lambda: context.run(adds))
    assert found == ("gradients/without-reset" if refused else None)


def test_5_4_two_accumulators_each_once(root: Any) -> None:
    """Counts are of routine and buffer: each of two adds once, and neither again."""
    g, x = gradient(), node("x")
    context, (zero, first, second) = chain(
        root.set_values(x, [1, 2]), zeroing(g), adding(g, x, "one"), adding(g, x, "two")
    )
    for routine in (zero, first, second):
        context.run(routine)
    for routine in (first, second):
        assert refusal(lambda: context.run(routine)).subjects["gradients"] == [["g", "zero"]]  # noqa: B023
    assert context.get_values(g) == [2.0, 4.0]


def test_5_4_timing_runs_count_unless_restored(root: Any) -> None:
    """Five timing runs, then a plain one: refused, unless the history before them is set back (context:63)."""
    context, zero, adds, g = zero_and_add(root)
    context.run(zero)
    restore = context.save_accumulation_history()
    for _ in range(5):
        context.run(adds, timing=True)
    assert rule(lambda: context.run(adds)) == "gradients/without-reset"
    context.set_values(g, [0, 0])
    restore()
    context.run(adds)
    assert context.get_values(g) == [1.0, 2.0]


def test_5_4_a_restored_history_drops_what_came_later(root: Any) -> None:
    """Counts of routines compiled after the history was saved are dropped (C12)."""
    g, x = gradient(), node("x")
    context, (zero, first) = chain(root.set_values(x, [1, 2]), zeroing(g), adding(g, x, "one"))
    context.run(zero)
    restore = context.save_accumulation_history()
    later, second = context.compile(adding(g, x, "two"))
    context.run(first)
    later.run(second)
    restore()
    later.run(first)
    later.run(second)
    assert later.get_values(g) == [4.0, 8.0]


def test_5_4_a_freed_buffer_keeps_no_count(root: Any) -> None:
    """A buffer freed and allocated again starts without counts, and with zeros."""
    g, x = gradient(), node("x")
    fed = root.set_values(x, [1, 2])
    for _ in range(3):
        child, routine = fed.compile(adding(g, x))
        assert child.run(routine).get_values(g) == [1.0, 2.0]
        child.release()


def test_b49_a_gradient_counts_from_zero(cf: Any, root: Any) -> None:
    """A gradient's first use counts from a zero that is really written, whatever the memory held."""
    cf.inspection.poison(0xFF)
    g, x = gradient(), node("x")
    child, routine = root.set_values(x, [1, 2]).compile(adding(g, x))
    assert child.run(routine).get_values(g) == [1.0, 2.0]
    assert refusal(lambda: child.run(routine)).subjects == {"routine": "add", "gradients": [["g", None]]}


@pytest.mark.parametrize("split", [[1, 3], [2, 2], [4], [1, 1, 1, 1]])
def test_b51_a_mean_over_tokens_not_over_batches(root: Any, split: list[int]) -> None:
    """Sums are accumulated and divided by the tokens of the window: any split gives 7/4."""
    g, m, total, count = gradient("g", ()), stored("m", ()), node("total", ()), node("count", ())
    fed = root.set_values(total, [0]).set_values(count, [4])
    mean = program("mean", put(m, "div", g, count), embedded=[m])
    context, (zero, adds, divide) = chain(fed, zeroing(g), adding(g, total, runs=len(split)), mean)
    context.run(zero)
    losses = [4.0, 1.0, 1.0, 1.0]
    for size in split:
        context.set_values(total, [sum(losses[:size])])
        del losses[:size]
        context.run(adds)
    assert context.run(divide).get_values(m) == [1.75]


def test_b52_a_short_last_window(root: Any) -> None:
    """A window allowed four runs may end after two, and is divided by its own count."""
    g, m, count = gradient("g", ()), stored("m", ()), node("count", ())
    six = node("six", (), literal=[6])
    mean = program("mean", put(m, "div", g, count), embedded=[m])
    context, (zero, adds, divide) = chain(root.set_values(count, [4]), zeroing(g), adding(g, six, runs=4), mean)
    for window in (4, 2):
        context.run(zero)
        for _ in range(window):
            context.run(adds)
        context.set_values(count, [window])
        assert context.run(divide).get_values(m) == [6.0]


def test_b53_a_forgotten_reset(root: Any) -> None:
    """The second run without a reset is refused, naming who resets; a write from outside is a reset."""
    g, three = gradient("g", ()), node("three", (), literal=[3])
    context, (zero, adds) = chain(root, zeroing(g), adding(g, three))
    context.run(zero)
    context.run(adds)
    assert refusal(lambda: context.run(adds)).subjects == {"routine": "add", "gradients": [["g", "zero"]]}
    assert context.get_values(g) == [3.0]
    context.set_values(g, [5])
    assert context.run(adds).get_values(g) == [8.0]


def test_b53_with_an_allowance_of_two(root: Any) -> None:
    """Two runs are six, a third is refused."""
    g, three = gradient("g", ()), node("three", (), literal=[3])
    context, (zero, adds) = chain(root, zeroing(g), adding(g, three, runs=2))
    for routine in (zero, adds, adds):
        context.run(routine)
    assert rule(lambda: context.run(adds)) == "gradients/without-reset"
    assert context.get_values(g) == [6.0]


def scalar_param(cf: Any, root: Any, value: float) -> tuple[Any, Any, Any]:
    """A parameter w and data x = 5 in a context that holds both: the context, w, x."""
    w, x = cf.tensor.param("w", ()), cf.tensor.data("x", ())
    return root.set_values(w.value, [value]).set_values(x.value, [5]), w, x


def test_b54_a_parameter_used_twice(cf: Any, root: Any) -> None:
    """y = w (w x) at w = 2, x = 5: the gradient is 20, the sum of both uses."""
    with cf.tensor.Session():
        context, w, x = scalar_param(cf, root, 2)
        child, routine = context.compile(cf.tensor.grad_update(w * (w * x)))
        assert child.run(routine).get_values(w.grad) == [20.0]


def test_b55_two_objectives_over_one_parameter(cf: Any, root: Any) -> None:
    """One after the other is refused; zeroing first, and one routine over the sum, both give 20."""
    with cf.tensor.Session():
        context, w, x = scalar_param(cf, root, 2)
        one, three = cf.tensor.grad_update(w * x, accum_steps=1), cf.tensor.grad_update((w * x) * 3, accum_steps=1)
        zero = cf.tensor.zero_params_grads(w * x)
        after, _ = context.compile(one)
        caught = refusal(lambda: after.compile(three))
        assert caught.rule == "gradients/accumulated-elsewhere"
        assert caught.subjects["gradients"][0][0] == "w.grad"  # type: ignore[index]
        last, routines = chain(context, zero, one, three)
        for routine in routines:
            last = last.run(routine)
        assert last.get_values(w.grad) == [20.0]


def test_b55_the_second_objective_alone(cf: Any, root: Any) -> None:
    """L2 from a root where nothing made w's gradient: it is allocated, and 15; a second run has no reset to name."""
    with cf.tensor.Session():
        context, w, x = scalar_param(cf, root, 2)
        cf.tensor.grad_update(w * x)
        child, routine = context.compile(cf.tensor.grad_update((w * x) * 3))
        child = child.run(routine)
        assert child.get_values(w.grad) == [15.0]
        caught = refusal(lambda: child.run(routine))
        assert (caught.rule, caught.subjects["gradients"]) == ("gradients/without-reset", [["w.grad", None]])


def test_b55_one_routine_over_the_sum(cf: Any, root: Any) -> None:
    """The sum of both objectives in one routine."""
    with cf.tensor.Session():
        context, w, x = scalar_param(cf, root, 2)
        child, routine = context.compile(cf.tensor.grad_update(w * x + (w * x) * 3))
        for _ in range(2):
            assert child.run(routine).get_values(w.grad) == [20.0]


def micro_steps(cf: Any, root: Any, steps: int) -> tuple[Any, Any, Any, Any, Any]:
    """Four samples in so many micro-batches: the context, the zeroing and adding routines, w, the batch."""
    size = 4 // steps
    w, x = cf.tensor.param("w", ()), cf.tensor.data("x", (size,))
    loss = (w * x).mean()
    fed = root.set_values(w.value, [2]).set_values(x.value, [0] * size)
    zero, step = cf.tensor.zero_params_grads(loss), cf.tensor.grad_update(loss, accum_steps=steps)
    context, (zeroes, adds) = chain(fed, zero, step)
    return context, zeroes, adds, w, x


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_b56_the_mean_for_every_number_of_micro_steps(cf: Any, root: Any, steps: int) -> None:
    """Gradients 1, 2, 3, 6 in 1, 2 or 4 micro-steps: the mean is 3."""
    with cf.tensor.Session():
        context, zeroes, adds, w, x = micro_steps(cf, root, steps)
        context.run(zeroes)
        samples = [1, 2, 3, 6]
        for step in range(steps):
            size = 4 // steps
            context.set_values(x.value, samples[step * size : (step + 1) * size])
            context.run(adds)
        assert context.get_values(w.grad) == [3.0]
        assert rule(lambda: context.run(adds)) == "gradients/without-reset"


def test_b56_a_stray_reset(cf: Any, root: Any) -> None:
    """A reset inside the window is a deliberate one: what came before is gone, and the count starts again."""
    with cf.tensor.Session():
        context, zeroes, adds, w, x = micro_steps(cf, root, 4)
        context.run(zeroes)
        for place, sample in enumerate([1, 2, 3, 6]):
            if place == 2:
                context.run(zeroes)
            context.set_values(x.value, [sample])
            context.run(adds)
        assert context.get_values(w.grad) == [2.25]
        context.run(adds)
        context.run(adds)
        assert rule(lambda: context.run(adds)) == "gradients/without-reset"


def test_two_micro_steps_are_one_batch(cf: Any, root: Any) -> None:
    """Two micro-batches of two under accum_steps 2 give the parameter one batch of four gives, after sgd."""
    results = []
    for steps in (1, 2):
        with cf.tensor.Session():
            size = 4 // steps
            w, x = cf.tensor.param("w", ()), cf.tensor.data("x", (size,))
            loss = ((w * x) * (w * x)).mean()
            fed = root.set_values(w.value, [2]).set_values(x.value, [0] * size)
            step = cf.tensor.grad_update(loss, accum_steps=steps)
            comps = [cf.tensor.zero_params_grads(loss), step, cf.tensor.sgd_update(loss, 0.5)]
            context, (zeroes, adds, descend) = chain(fed, *comps)
            context.run(zeroes)
            for place in range(steps):
                context.set_values(x.value, [1, 2, 3, 4][place * size : (place + 1) * size])
                context.run(adds)
            results.append(context.run(descend).get_values(w.value))
    assert results == [[-13.0], [-13.0]]


def test_a_routine_that_zeroes_never_overdraws(root: Any) -> None:
    """A step that zeroes what it adds to runs as often as it likes."""
    g, x = gradient(), node("x")
    child, routine = root.set_values(x, [1, 2]).compile(resetting(g, x))
    for _ in range(3):
        assert child.run(routine).get_values(g) == [1.0, 2.0]


def test_only_accumulating_alone(root: Any) -> None:
    """A lineage without a zeroing: once, and the refusal of the second run names nobody who resets."""
    g, x = gradient(), node("x")
    child, routine = root.set_values(x, [1, 2]).compile(adding(g, x))
    child.run(routine)
    assert refusal(lambda: child.run(routine)).subjects["gradients"] == [["g", None]]


def test_a_gradient_without_a_buffer_is_not_counted(root: Any) -> None:
    """A virtual gradient is its definition at the reader: adding to it again adds nothing anywhere (C20)."""
    g, x, y = node("g"), node("x"), stored("y")
    g.mark_zero_valid()
    code = [put(g, "identity", x), add(g, "identity", x), put(y, "identity", g)]
    child, routine = root.set_values(x, [1, 2]).compile(program("use", *code, embedded=[y], accumulates=[g]))
    for _ in range(2):
        assert child.run(routine).get_values(y) == [2.0, 4.0]
