"""Programs of the frontend, compiled and run: fragments in order, gradients by every path, training parameters."""

from __future__ import annotations

from typing import Any

from tests.contexts.scenario import chain, refusal, rule


def test_fragment_order(cf: Any, root: Any) -> None:
    """A trunk consumed first by an operation without a gradient: w's gradient has the contribution of every path."""
    with cf.tensor.Session():
        t = cf.tensor
        w, x = t.param("w", ()), t.data("x", ())
        trunk = w * x
        watched = t.stop_gradient(trunk) * 1
        loss = trunk * 3 + trunk * 4 + watched
        context = root.set_values(w.value, [2]).set_values(x.value, [5])
        child, routine = context.compile(t.grad_update(loss))
        assert child.run(routine).get_values(w.grad) == [35.0]
        assert child.get_values(loss.value) == [80.0]


def test_zero_grads_embeds_what_it_zeroes(cf: Any) -> None:
    """Of a parameter: its own gradient; of a composite: what its backprop writes, and its own."""
    with cf.tensor.Session():
        t = cf.tensor
        w, b = t.param("w", ()), t.param("b", ())
        assert w.diff.zero_grads.embedded == w.diff.zero_grads.zeroes == (w.grad,)
        y = w * 2 + b
        written = {*y.diff.backprop.accumulates, y.grad}
        assert set(y.diff.zero_grads.embedded) == set(y.diff.zero_grads.zeroes) == written


def test_bug_7_a_frozen_parameter_is_left_alone(cf: Any, root: Any) -> None:
    """Weight decay moves trained parameters alone; one behind stop_gradient keeps its bits (673)."""
    with cf.tensor.Session():
        t = cf.tensor
        w, frozen = t.param("w", ()), t.param("frozen", ())
        loss = w * t.stop_gradient(frozen)
        context = root.set_values(w.value, [2]).set_values(frozen.value, [0.1])
        before = context.get_values(frozen.value)
        step = t.sequence(t.grad_update(loss), t.sgd_update(loss, 0.5, weight_decay=0.5))
        child, routine = context.compile(step)
        after = child.run(routine)
        assert after.get_values(frozen.value) == before
        assert after.get_values(w.value) != [2.0]
        assert t.trainable_params(loss) == (w,)


def test_recompiled_code_recomputes_and_resets(cf: Any, root: Any) -> None:
    """The same comp in a sibling, over new inputs: new values, and gradients that start again."""
    with cf.tensor.Session():
        t = cf.tensor
        w, x = t.param("w", ()), t.data("x", ())
        p = w * x
        step = t.grad_update(p * p)
        results = []
        for value in (2, 5):
            context = root.set_values(w.value, [1]).set_values(x.value, [value])
            child, routine = context.compile(step)
            child = child.run(routine).run(routine)
            results.append(child.get_values(w.grad))
        assert results == [[8.0], [50.0]]
        assert rule(lambda: child.compile(step)) == "compile/owned-twice"


def test_a_composing_consumer_then_the_fragment(cf: Any, root: Any) -> None:
    """z = y + y consumes y, whose backprop then goes with z: the gradient has both uses."""
    with cf.tensor.Session():
        t = cf.tensor
        w, x = t.param("w", (2,)), t.data("x", (2,))
        y = w * x
        loss = (y + y).sum()
        context = root.set_values(w.value, [0, 0]).set_values(x.value, [10, -14])
        child, routine = context.compile(t.grad_update(loss))
        assert child.run(routine).get_values(w.grad) == [20.0, -28.0]


def test_momentum_is_state(cf: Any, root: Any) -> None:
    """A momentum buffer lives across runs: two steps are one step and its echo."""
    with cf.tensor.Session():
        t = cf.tensor
        w = t.param("w", ())
        loss = w * 2
        step = t.sequence(t.grad_update(loss), t.sgd_update(loss, 1.0, momentum=0.5))
        child, routine = root.set_values(w.value, [0]).compile(step)
        values = []
        for _ in range(3):
            child = child.run(routine)
            values += child.get_values(w.value)
        assert values == [-2.0, -5.0, -8.5]


def test_a_step_in_routines_or_in_one(cf: Any, root: Any) -> None:
    """Gradients and descent as one routine or as two give the same parameters."""
    results = []
    for split in (False, True):
        with cf.tensor.Session():
            t = cf.tensor
            w, x = t.param("w", (2,)), t.data("x", (2,))
            loss = ((w * x) * (w * x)).sum()
            comps = [t.grad_update(loss), t.sgd_update(loss, 0.25)]
            fed = root.set_values(w.value, [1, 2]).set_values(x.value, [1, 2])
            context, routines = chain(fed, *(comps if split else [t.sequence(*comps)]))
            for routine in routines * 2:
                context = context.run(routine)
            results.append(context.get_values(w.value))
    assert results[0] == results[1] == [0.25, 2.0]


def test_bug_2_every_gradient_array_is_there(cf: Any, root: Any) -> None:
    """A gradient update allocates the gradients it writes: nothing is lacking (#226)."""
    with cf.tensor.Session():
        t = cf.tensor
        w, b = t.param("w", ()), t.param("b", ())
        context = root.set_values(w.value, [2]).set_values(b.value, [3])
        child, routine = context.compile(t.grad_update(w * 2 + b, materialize_gradients=True))
        child = child.run(routine)
        assert (child.get_values(w.grad), child.get_values(b.grad)) == ([2.0], [1.0])


def test_a_parameter_that_is_missing(cf: Any, root: Any) -> None:
    """An uninitialized parameter is lacking, not zero (issue 272)."""
    with cf.tensor.Session():
        w = cf.tensor.param("w", ())
        comp = cf.tensor.grad_update(w * 2)
        assert refusal(lambda: root.compile(comp)).subjects["nodes"] == ["w"]


def test_bug_5_a_composite_initialization_leaks_no_gradient(cf: Any, root: Any) -> None:
    """A parameter initialized by an expression of another owns one fresh gradient, and only that."""
    with cf.tensor.Session():
        t = cf.tensor
        w = t.param("w", (2,), init=t.literal([1.0, 2.0]) * 3)
        loss = (w * 2).sum()
        context = t.init_params(root, loss)
        child, routine = context.compile(t.grad_update(loss))
        after = child.run(routine)
        assert (after.get_values(w.value), after.get_values(w.grad)) == ([3.0, 6.0], [2.0, 2.0])
        assert w.diff.zero_grads.zeroes == (w.grad,)


def test_init_params_leaves_what_is_initialized(cf: Any, root: Any) -> None:
    """A parameter already marked in the value is not initialized again."""
    with cf.tensor.Session():
        t = cf.tensor
        w, v = t.param("w", (), values=1.0), t.param("v", (), values=2.0)
        loss = w * v
        context = t.init_params(root.set_values(w.value, [9]), loss)
        assert (context.get_values(w.value), context.get_values(v.value)) == ([9.0], [2.0])


def test_wrappers_release_what_they_minted(cf: Any, root: Any) -> None:
    """forward_once compiles an initialization on the way: the returned context releases it."""
    with cf.tensor.Session():
        t = cf.tensor
        before = cf.inspection.census()["working_pools"]
        y = t.param("w", (2,), values=[1.0, 2.0]) * 3
        context = t.forward_once(root, y)
        assert context.get_values(y.value) == [3.0, 6.0]
        assert cf.inspection.census()["working_pools"] > before
        context.release()
        assert cf.inspection.census()["working_pools"] == before
