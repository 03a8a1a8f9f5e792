"""What comps of the frontend own, accumulate, zero and require; in which order they do it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tests.frontend.gradients import run

from counterfoil_spec import tensors as cf
from counterfoil_spec.programs.assignments import Accumulate, Constant, Fetch, labels, leaves
from counterfoil_spec.programs.comps import Comp, Fragment
from counterfoil_spec.programs.nodes import Intent, Node


def texts(fragments: Iterable[Fragment]) -> list[str]:
    """Fragments as refusals name them."""
    return sorted(map(str, fragments))


def names(nodes: Iterable[Node]) -> list[str]:
    """Labels, sorted."""
    return sorted(node.label for node in nodes)


def targets(comp: Comp) -> list[str]:
    """What is written, in program order."""
    return [leaf.target.label for leaf in leaves(comp.code)]


@dataclass
class Line:
    """y = w * x + b, L = sum(y): the worked example."""

    x: cf.Tensor
    w: cf.Tensor
    b: cf.Tensor
    loss: cf.Tensor


def line() -> Line:
    """The example, its parameter b made before its product."""
    x, w, b = cf.literal([1, 2], label="x"), cf.param("w", (2,)), cf.param("b", (2,))
    p = cf.apply("mul", w, x, label="p")
    loss = cf.einsum("i ->", cf.apply("add", p, b, label="y"), label="L")
    return Line(x, w, b, loss)


def test_forward_embeds_what_it_first_consumes() -> None:
    """The forward of L: x filled, then p, y, L; parameters stay apart; a literal is no fragment."""
    with cf.Session():
        forward = line().loss.forward
        assert targets(forward) == ["x", "p", "y", "L"]
        assert names(forward.embedded) == ["L", "p", "x", "y"]
        assert texts(forward.owned) == ["forward of L", "forward of p", "forward of y"]


def test_zeroing_goes_by_age_and_ends_with_its_own() -> None:
    """Each operand that is a root is zeroed with what it owns, oldest first; then the gradient itself."""
    with cf.Session():
        diff = line().loss.diff
        assert diff is not None
        assert targets(diff.zero_grads) == ["b.grad", "w.grad", "p.grad", "y.grad", "L.grad"]
        assert diff.zero_grads.embedded == diff.zero_grads.zeroes
        assert not diff.zero_grads.owned


def test_backprop_contributes_before_it_propagates() -> None:
    """L, then y, then p: each adds into its operands' gradients before those are propagated."""
    with cf.Session():
        diff = line().loss.diff
        assert diff is not None
        assert targets(diff.backprop) == ["y.grad", "p.grad", "b.grad", "w.grad"]
        assert names(diff.backprop.accumulates) == ["b.grad", "p.grad", "w.grad", "y.grad"]
        assert names(diff.backprop.embedded) == ["L.grad", "b.grad", "p.grad", "w.grad", "y.grad"]
        assert texts(diff.backprop.owned) == ["backprop of L", "backprop of p", "backprop of y"]
        assert not diff.backprop.requires


def test_a_gradient_update_is_forward_zero_seed_backprop() -> None:
    """The worked example's annotations as a whole; the seed is no accumulation, and one run is allowed per reset."""
    with cf.Session():
        made = line()
        step = cf.grad_update(made.loss, loss_scale=3.0)
        code = list(leaves(step.code))
        assert targets(step)[4:9] == ["b.grad", "w.grad", "p.grad", "y.grad", "L.grad"]
        assert isinstance(code[9], Fetch)
        assert code[9].definition == Constant(3.0)
        assert names(step.accumulates) == ["b.grad", "p.grad", "w.grad", "y.grad"]
        assert names(step.zeroes) == ["L.grad", "b.grad", "p.grad", "w.grad", "y.grad"]
        assert (step.requires, step.accumulation_runs, labels(step.code)) == ((), 1, ("gradients of L",))
        assert made.loss.value.observable
        assert made.loss.value.intent is Intent.ON_DEVICE
        kept = [node.label for node in step.embedded if node.intent is Intent.ON_DEVICE]
        assert sorted(kept) == ["L", "b.grad", "w.grad"]


def test_every_gradient_is_valid_at_zero_and_no_value_is() -> None:
    """Gradients are marked at creation (context:53)."""
    with cf.Session():
        made = line()
        step = cf.grad_update(made.loss)
        assert all(node.zero_valid == node.label.endswith(".grad") for node in step.embedded)


def test_a_second_loss_over_a_parameter_accumulates_and_does_not_zero() -> None:
    """Only the first consumer zeroes w.grad; z adds into it all the same."""
    with cf.Session():
        made = line()
        z = cf.einsum("i, i ->", made.w, cf.literal([3, 4]), label="z")
        step = cf.grad_update(z)
        assert names(step.accumulates) == ["w.grad"]
        assert names(step.zeroes) == ["z.grad"]
        assert names(step.unreset) == ["w.grad"]
        assert made.w.grad in step.embedded
        assert not step.requires


def test_a_shared_trunk_is_propagated_by_its_first_consumer() -> None:
    """h = relu(w * x): l1 zeroes h.grad and owns its backprop; l2 requires it."""
    with cf.Session():
        w = cf.param("w", (2,))
        h = cf.apply("relu", w * cf.literal([1, 2]), label="h")
        l1 = cf.einsum("i, i ->", h, cf.literal([3, 4]), label="l1")
        l2 = cf.einsum("i, i ->", h, cf.literal([5, 6]), label="l2")
        first, second = cf.grad_update(l1), cf.grad_update(l2)
        assert h.grad in first.zeroes
        assert "backprop of h" in texts(first.owned)
        assert "forward of h" in texts(first.owned)
        assert h.grad not in second.zeroes
        assert h.grad in second.accumulates
        assert texts(second.requires) == ["backprop of h"]
        assert texts(second.owned) == ["backprop of l2", "forward of l2"]
        assert cf.trainable_params(l2) == ()


def test_a_sum_of_losses_owns_everything_once() -> None:
    """One routine over the sum of two losses requires nothing and propagates the trunk after both contributions."""
    with cf.Session():
        w = cf.param("w", (2,))
        h = cf.apply("relu", w * cf.literal([1, 2]), label="h")
        total = (h * cf.literal([3, 4])).sum() + (h * cf.literal([5, 6])).sum()
        step = cf.grad_update(total)
        assert not step.requires
        assert not step.unreset
        assert len(set(step.owned)) == len(step.owned)
        into = [place for place, leaf in enumerate(leaves(step.code)) if leaf.target is h.grad]
        out = [
            place
            for place, leaf in enumerate(leaves(step.code))
            if isinstance(leaf, Accumulate) and any(read.node is h.grad for read in leaf.operands)
        ]
        assert len(into) == 3
        assert max(into) < min(out)


def test_leaves_with_gradients_are_never_required() -> None:
    """The backprop of a Require_grad leaf is empty: nothing could be lost (C2)."""
    with cf.Session():
        a = cf.leaf("a", (2,))
        first, second = cf.grad_update((a * 2).sum()), cf.grad_update((a * 3).sum())
        assert a.grad in first.zeroes
        assert a.grad in second.unreset
        assert not first.requires
        assert not second.requires


def test_a_leaf_is_no_parameter() -> None:
    """``params`` are what ``param`` made; what is trained is what backprop writes, so not past stop_gradient."""
    with cf.Session():
        a, w, v = cf.leaf("a", ()), cf.param("w", ()), cf.param("v", ())
        loss = a * w + cf.stop_gradient(v * w)
        assert loss.params == (w, v)
        cf.grad_update(loss)
        assert cf.trainable_params(loss) == (w,)


def test_accumulation_strips_the_zeroing_of_parameters_alone() -> None:
    """accum_steps k: parameters' gradients stay on the device, are not zeroed, allow k runs; the seed is divided."""
    with cf.Session():
        made = line()
        step = cf.grad_update(made.loss, accum_steps=4, loss_scale=2.0)
        assert names(step.zeroes) == ["L.grad", "p.grad", "y.grad"]
        assert names(step.unreset) == ["b.grad", "w.grad"]
        assert step.accumulation_runs == 4
        assert made.w.grad is not None
        assert made.w.grad.intent is Intent.ON_DEVICE
        assert run(step, {made.w: [1, 1], made.b: [0, 0]}).values(made.w.grad) == [Fraction(1, 2), 1]


def test_accumulated_micro_steps_hold_the_mean() -> None:
    """A reset and two runs of accum_steps 2 give the mean of the two gradients."""
    with cf.Session():
        w, x = cf.param("w", ()), cf.data("x", ())
        loss = w * x * x
        reset, step = cf.zero_params_grads(loss), cf.grad_update(loss, accum_steps=2)
        store = run(reset, {w: [1.0], x: [3.0]})
        store.run(step.code)
        store.put(x.value, [5.0])
        store.run(step.code)
        assert w.grad is not None
        assert store.values(w.grad) == [Fraction(9 + 25, 2)]


def test_the_reset_of_parameters_may_allocate_them() -> None:
    """zero_params_grads holds the zeroing alone: it embeds and zeroes the gradients, and owns nothing."""
    with cf.Session():
        made = line()
        reset = cf.zero_params_grads(made.loss)
        assert names(reset.zeroes) == names(reset.embedded) == ["b.grad", "w.grad"]
        assert not reset.owned
        assert labels(reset.code) == ("zero gradients of L",)
        assert names(cf.zero_params_grads(made.loss, [made.w]).zeroes) == ["w.grad"]


def test_a_running_total_of_losses() -> None:
    """accum_loss gains the loss at each run, and may be allocated where it is a leaf without code."""
    with cf.Session():
        made, total = line(), cf.data("total", ())
        step = cf.grad_update(made.loss, accum_loss=total)
        assert total.value in step.embedded
        store = run(step, {made.w: [1, 1], made.b: [0, 1]})
        store.run(step.code)
        assert store.values(total.value) == [8]


def test_descent() -> None:
    """p -= lr * (momentum buffer of (grad + decay * p)), twice; the buffer is kept on the device and may start at 0."""
    with cf.Session():
        made = line()
        step = cf.grad_update(made.loss)
        descent = cf.sgd_update(made.loss, 0.5, momentum=0.5, weight_decay=0.25)
        assert labels(descent.code) == ("sgd of L",)
        assert not (descent.owned or descent.accumulates or descent.zeroes or descent.requires)
        buffers = [node for node in descent.embedded if node.label.endswith(".momentum")]
        assert [node.intent for node in buffers] == [Intent.ON_DEVICE] * 2
        store = run(step, {made.w: [1, 0], made.b: [0, 0]})
        store.run(descent.code)
        assert store.values(made.w.value) == [1 - Fraction(5, 8), -1]
        store.run(step.code)
        store.run(descent.code)
        m = Fraction(5, 8) + 1 + Fraction(3, 8) / 4
        assert store.values(made.w.value)[0] == Fraction(3, 8) - m / 2


def test_descent_by_a_computed_rate() -> None:
    """The rate may be a scalar tensor; where it is a root its code comes along."""
    with cf.Session():
        made, rate = line(), cf.data("rate", ())
        step, descent = cf.grad_update(made.loss), cf.sgd_update(made.loss, rate * 0.5)
        store = run(step, {made.w: [1, 1], made.b: [0, 0], rate: [0.5]})
        store.run(descent.code)
        assert store.values(made.w.value) == [Fraction(3, 4), Fraction(1, 2)]


def test_descent_reads_every_gradient_before_it_writes_a_parameter() -> None:
    """A gradient that is recomputed where it is read depends on parameters: all reads come first."""
    with cf.Session():
        made = line()
        cf.grad_update(made.loss)
        code = list(leaves(cf.sgd_update(made.loss, 0.1, 0.9, 0.1).code))
        params = {made.w.value, made.b.value}
        writes = [place for place, leaf in enumerate(code) if leaf.target in params]
        reads = [
            place
            for place, leaf in enumerate(code)
            if isinstance(leaf, Accumulate) and any(read.node.label.endswith(".grad") for read in leaf.operands)
        ]
        assert max(reads) < min(writes)


def test_clipping_bounds_the_joint_norm() -> None:
    """Gradients of norm 5 are scaled to norm 1; within the bound they stay as they are."""
    with cf.Session():
        v, w = cf.param("v", ()), cf.param("w", ())
        loss = v * 3 + w * 4
        step, tight, wide = cf.grad_update(loss), cf.clip_grads(loss, 1.0), cf.clip_grads(loss, 5.0)
        assert v.grad is not None
        assert w.grad is not None
        store = run(step, {v: [1.0], w: [1.0]})
        store.run(wide.code)
        assert store.values(v.grad) + store.values(w.grad) == [3, 4]
        store.run(tight.code)
        assert [round(float(g), 12) for g in store.values(v.grad) + store.values(w.grad)] == [0.6, 0.8]


def test_a_parameter_copies_its_first_value() -> None:
    """Its code computes what it starts from, and is no consumer's; of what it starts from no gradient leaks."""
    with cf.Session():
        seed = cf.leaf("seed", (2,))
        w = cf.param("w", init=seed * 2)
        u = cf.param("u", (2,), values=3.0)
        many = cf.param("many", (20,), values=cf.random_values((20,), seed=1))
        start = cf.initialization([w, u, many])
        assert labels(start.code) == ("init w u many",)
        assert all(param.value.context_owned for param in (w, u, many))
        assert not seed.session.forward_roots
        store = run(start, {seed: [1, 2]})
        assert store.values(w.value) == [2, 4]
        assert store.values(u.value) == [3, 3]
        loss = (w * u).sum()
        step = cf.grad_update(loss)
        assert seed.grad not in step.zeroes
        assert w.value not in step.embedded
        assert loss.params == (w, u)


def test_short_literals_stand_in_the_code() -> None:
    """Sixteen values are filled in and registered; seventeen are registered alone."""
    with cf.Session():
        short, long = cf.literal(list(range(16))), cf.literal(list(range(17)))
        assert targets(short.forward) == [short.label]
        assert targets(long.forward) == []
        assert (len(short.value.literal or ()), len(long.value.literal or ())) == (16, 17)
        assert (short.grad, long.grad) == (None, None)


def test_rows_without_gradient_are_views() -> None:
    """A view has neither code nor a place: its parent is what a program may allocate."""
    with cf.Session():
        batches = cf.data("batches", (3, 2))
        from counterfoil_spec.programs.symbols import Symbol

        view = cf.slice_of(batches, Symbol("at", 3))
        made = view * 2
        assert view.value.slice_of is not None
        assert batches.value in made.forward.embedded
        assert view.value not in made.forward.embedded


def test_integers_have_no_gradient() -> None:
    """Only float tensors get gradients; a comparison never does."""
    with cf.Session():
        a = cf.leaf("a", (2,))
        assert cf.less(a, 1).grad is None
        from counterfoil_spec.dtypes import float32, int32

        counts = cf.data("counts", (2,), int32)
        assert (counts + 1).dtype is int32
        assert cf.exp(counts).dtype is float32
        assert (counts * 0.5).dtype is float32


def test_independent_backprops_go_last_made_first() -> None:
    """Where nothing else orders them, the fragment of the younger operand is spliced first."""
    with cf.Session():
        v, w = cf.param("v", ()), cf.param("w", ())
        older, younger = v * 2, w * 2
        diff = (older + younger).diff
        assert diff is not None
        assert targets(diff.backprop)[2:] == ["w.grad", "v.grad"]


def test_a_gradient_may_be_required_or_prohibited() -> None:
    """Require_grad over data has a gradient and an empty fragment; Prohibit_grad has none though its operand does."""
    with cf.Session():
        x, w = cf.data("x", ()), cf.param("w", ())
        required = cf.apply("neg", x, grad_spec=cf.GradSpec.REQUIRE_GRAD, label="r")
        assert required.diff is not None
        assert not required.diff.backprop.owned
        first, second = cf.grad_update(required * 2), cf.grad_update(required * 3)
        assert required.grad in first.zeroes
        assert required.grad in second.unreset
        assert not second.requires
        assert cf.apply("neg", w, grad_spec=cf.GradSpec.PROHIBIT_GRAD).grad is None
        assert cf.einsum("->", w, grad_spec=cf.GradSpec.PROHIBIT_GRAD).grad is None
