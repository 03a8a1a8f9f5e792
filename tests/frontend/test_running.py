"""The wrappers over contexts, run by the reference: they return what the steps written out would."""

from __future__ import annotations

import pytest

import counterfoil_reference as reference
from counterfoil_spec import tensors as cf
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import Refusal, SessionError


def test_a_perceptron_learns_xor() -> None:
    """Forty steps of descent with momentum reduce the loss to a tenth."""
    with cf.Session():
        x, y = cf.literal([[0, 0], [0, 1], [1, 0], [1, 1]]), cf.literal([0, 1, 1, 0])
        w1, w2 = cf.param("w1", (2, 4), cf.random_values((2, 4), 1)), cf.param("w2", (4,), cf.random_values((4,), 2))
        b1, b2 = cf.param("b1", (4,), 0.0), cf.param("b2", (), 0.0)
        loss = cf.mean_squared_error((x @ w1 + b1).tanh() @ w2 + b2, y)
        step = cf.sequence(cf.grad_update(loss), cf.sgd_update(loss, 0.3, momentum=0.5))
        context, routine = cf.to_routine(cf.init_params(reference.Context.cpu(), loss), step)
        losses = []
        for _ in range(40):
            context = context.run(routine)
            losses.append(context.get_value(loss.value, ()))
        assert losses[-1] < losses[0] / 10


def test_parameters_are_missing_until_initialized() -> None:
    """Their code is apart from their consumers': a program over them is linked where they are."""
    with cf.Session():
        w = cf.param("w", (2,), [1.0, 2.0])
        loss = w.sum()
        step = cf.grad_update(loss)
        root = reference.Context.cpu()
        with pytest.raises(Refusal) as caught:
            root.compile(step)
        assert caught.value.rule == "compile/lacks-nodes"
        context, routine = cf.init_params(root, loss).compile(step)
        assert context.run(routine).get_values(w.grad) == [1.0, 1.0]


def test_what_is_initialized_is_left_alone() -> None:
    """A second init_params returns the context itself; parameters without first values are the program's."""
    with cf.Session():
        w, v = cf.param("w", (), 1.0), cf.param("v", ())
        loss = w * v
        root = reference.Context.cpu()
        ready = cf.init_params(root, loss)
        assert cf.init_params(ready, loss) is ready
        assert ready.get_value(w.value, ()) == 1.0
        assert not ready.mem(v.value)


def test_forward_once_gives_the_backprop_up() -> None:
    """It initializes, computes, and releases what it compiled on the way with what it returns."""
    with cf.Session():
        w = cf.param("w", (2,), [1.0, 2.0])
        y = cf.apply("mul", w, 3, label="y")
        root = reference.Context.cpu()
        before = root.used_memory
        after = cf.forward_once(root, y)
        assert after.get_values(y.value) == [3.0, 6.0]
        with pytest.raises(SessionError) as caught:
            cf.grad_update(y)
        assert caught.value.rule == "frontend/code-taken"
        assert root.used_memory > before
        after.release()
        assert root.used_memory == before


def test_a_loop_visits_every_value_of_its_symbols() -> None:
    """The last symbol moves fastest; an extent reaches its bound; a symbol without a range has no end."""
    a, b = Symbol("a", 2), Symbol("b", 2, extent=True)
    seen = cf.sequential_loop([a, b], lambda: (a.value, b.value))
    assert seen == [(i, j) for i in range(2) for j in range(3)]
    with pytest.raises(Refusal) as caught:
        cf.sequential_loop([Symbol("s")], lambda: None)
    assert caught.value.rule == "programs/bound"


def test_batches_are_rows() -> None:
    """A loop over a symbol runs the routine on each row of what was uploaded once."""
    with cf.Session():
        batches, at = cf.data("batches", (3, 2)), Symbol("at", 3)
        total = cf.slice_of(batches, at).sum()
        total.value.set_observable()
        context, routine = cf.to_routine(reference.Context.cpu(), cf.forward(total))
        context = context.set_values(batches.value, [1, 2, 3, 4, 5, 6])
        sums = cf.sequential_loop([at], lambda: context.run(routine).get_value(total.value, ()))
        assert sums == [3, 7, 11]


def test_micro_steps_equal_one_batch() -> None:
    """Two micro-steps of accum_steps 2 after a reset leave the gradient of the mean; a third run is refused."""
    with cf.Session():
        w, x = cf.param("w", (), 1.0), cf.data("x", ())
        loss = w * x * x
        reset, step = cf.zero_params_grads(loss), cf.grad_update(loss, accum_steps=2)
        context, zero = cf.init_params(reference.Context.cpu(), loss).compile(reset)
        context, micro = context.compile(step)
        context = context.run(zero)
        for value in (3.0, 5.0):
            context = context.set_values(x.value, [value]).run(micro)
        assert context.get_value(w.grad, ()) == 17.0
        with pytest.raises(Refusal) as caught:
            context.run(micro)
        assert caught.value.rule == "gradients/without-reset"


def test_two_objectives_over_one_trunk() -> None:
    """The second loss's update alone is refused at run; compiled before the owner of the trunk, at compile (10a)."""
    with cf.Session():
        w = cf.param("w", (2,), [1.0, 2.0])
        h = cf.apply("relu", w * 2, label="h")
        l1, l2 = h.sum(), (h * h).sum()
        first, second = cf.grad_update(l1), cf.grad_update(l2)
        ready = cf.init_params(reference.Context.cpu(), l1)
        with_first, _ = ready.compile(first)
        with pytest.raises(Refusal) as caught:
            with_first.compile(second)
        assert caught.value.rule == "gradients/accumulated-elsewhere"


def test_a_program_of_a_tainted_session_is_refused() -> None:
    """Until the session is rewound; then its discarded nodes are what is refused."""
    with cf.Session():
        root = reference.Context.cpu()
        with pytest.raises(ValueError, match="boom"), cf.closure():
            comp = cf.forward(cf.data("x", ()) + 1)
            raise ValueError("boom")
        for rule in ("compile/tainted-session", "compile/discarded-node"):
            with pytest.raises(Refusal) as caught:
                root.compile(comp)
            assert caught.value.rule == rule
            cf.rewind_to_last_closure()


def test_a_gradient_and_its_descent_may_be_two_routines() -> None:
    """The trained gradients are kept on the device, so that a later routine of the lineage reads them."""
    with cf.Session():
        w = cf.param("w", (2,), [1.0, 2.0])
        loss = (w * w).sum()
        context, update = cf.init_params(reference.Context.cpu(), loss).compile(cf.grad_update(loss))
        context, descend = context.compile(cf.sgd_update(loss, 0.25))
        assert context.run(update).run(descend).get_values(w.value) == [0.5, 1.0]
