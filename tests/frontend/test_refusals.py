"""Every refusal of the frontend, beside the call that differs only in what was wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from counterfoil_spec import tensors as cf
from counterfoil_spec.dtypes import int32
from counterfoil_spec.refusals import Refusal
from counterfoil_spec.rules import registry


def refused(rule: str, call: Callable[[], object], **subjects: object) -> None:
    """The call raises that rule naming those subjects."""
    with pytest.raises(Refusal) as caught:
        call()
    assert (caught.value.rule, caught.value.subjects) == (f"frontend/{rule}", subjects)


def test_not_differentiable() -> None:
    """Gradients are asked of tensors that have one."""
    with cf.Session():
        x, w = cf.data("x", ()), cf.param("w", ())
        for name in ("grad_update", "zero_params_grads", "trainable_params", "consume_backprop_code", "zero_grads"):
            operation = getattr(cf, name)
            refused("not-differentiable", lambda: operation(x), operation=name, tensor="x")  # noqa: B023
        refused("not-differentiable", lambda: cf.sgd_update(x, 0.1), operation="sgd_update", tensor="x")
        refused("not-differentiable", lambda: cf.clip_grads(x, 1), operation="clip_grads", tensor="x")
        refused("not-differentiable", lambda: cf.param("i", (), dtype=int32), operation="param", tensor="i")
        refused("not-differentiable", lambda: cf.leaf("i", (), dtype=int32), operation="leaf", tensor="i")
        assert cf.grad_update(x * w)


def test_trains_nothing() -> None:
    """A Require_grad leaf is no parameter, and stop_gradient cuts one off."""
    with cf.Session():
        w = cf.param("w", ())
        loss = cf.apply("add", cf.leaf("a", ()), cf.stop_gradient(w), label="loss")
        for name in ("zero_params_grads", "sgd_update", "clip_grads"):
            arguments = () if name == "zero_params_grads" else (0.1,)
            operation = getattr(cf, name)
            refused("trains-nothing", lambda: operation(loss, *arguments), operation=name, tensor="loss")  # noqa: B023
        refused("trains-nothing", lambda: cf.zero_params_grads(loss, []), operation="zero_params_grads", tensor="loss")
        refused("trains-nothing", lambda: cf.grad_update(loss, accum_steps=2), operation="grad_update", tensor="loss")
        assert cf.grad_update(loss)
        assert cf.zero_params_grads(loss, [w])
        assert cf.sgd_update(w * 2, 0.1)


def test_accum_steps() -> None:
    """At least one run."""
    with cf.Session():
        loss = cf.param("w", ()) * 2
        for steps in (0, -1):
            refused("accum-steps", lambda: cf.grad_update(loss, accum_steps=steps), steps=steps)  # noqa: B023
        assert cf.grad_update(loss, accum_steps=1)


def test_missing_zeroing() -> None:
    """A trunk's gradient that another loss zeroes cannot be accumulated into over several runs."""
    with cf.Session():
        h = cf.apply("relu", cf.param("w", ()), label="h")
        l1, l2 = h * 2, h * 3
        assert cf.grad_update(l1, accum_steps=2)
        refused("missing-zeroing", lambda: cf.grad_update(l2, accum_steps=2), gradient="h.grad")
        assert cf.grad_update(l2)


def test_objectives_accumulate_over_one_parameter() -> None:
    """A parameter's gradient that another loss zeroed needs no zeroing here: zero_params_grads resets it."""
    with cf.Session():
        w = cf.param("w", ())
        l1, l2 = w * 2, w * 3
        for loss in (l1, l2):
            step = cf.grad_update(loss, accum_steps=1)
            assert step.unreset == (w.grad,)


def test_code_taken() -> None:
    """Code of parameters, embedded code and discarded backprop is not handed out."""
    with cf.Session():
        w = cf.param("w", (), values=1.0)
        y = cf.apply("mul", w, 2, label="y")
        z = cf.apply("neg", y, label="z")
        take = cf.consume_forward_code
        embedded = "is embedded in the code of another tensor"
        refused("code-taken", lambda: take(w), operation="consume_forward_code", tensor="w", why="is a parameter")
        refused("code-taken", lambda: take(y), operation="consume_forward_code", tensor="y", why=embedded)
        back = cf.consume_backprop_code
        refused("code-taken", lambda: back(w), operation="consume_backprop_code", tensor="w", why="is a parameter")
        refused("code-taken", lambda: back(y), operation="consume_backprop_code", tensor="y", why=embedded)
        refused("code-taken", lambda: cf.grad_update(y), operation="grad_update", tensor="y", why=embedded)
        assert take(z)
        cf.discard_backprop(z)
        refused("code-taken", lambda: back(z), operation="consume_backprop_code", tensor="z", why="was discarded")
        refused("code-taken", lambda: cf.grad_update(z), operation="grad_update", tensor="z", why="was discarded")


def test_conflicting_roots() -> None:
    """A root that embeds what another reads goes first."""
    with cf.Session():
        h = cf.param("w", ()) * 2
        a = cf.apply("neg", h, label="a")
        b = cf.apply("relu", h, label="b")
        refused("conflicting-roots", lambda: cf.forward(b), operation="consume_forward_code", tensor="b", others=["a"])
        assert cf.forward(a)
        assert cf.forward(b)


def test_fragment_cycle() -> None:
    """Two fragments each of which embeds what the other reads have no order; and nothing is consumed."""
    with cf.Session() as session:
        h, k = cf.data("h", ()) * 1, cf.data("k", ()) * 1
        b1 = -k
        a = cf.apply("mul", h, k, label="a")
        b = cf.apply("add", b1, h, label="b")
        roots = dict(session.forward_roots)
        refused("fragment-cycle", lambda: a + b, operation="add", tensor="a", others=["b"])
        assert session.forward_roots == roots
        assert a + 1


def test_backprop_fragment_cycle() -> None:
    """The same of backprop: each adds into a gradient that the other propagates."""
    with cf.Session():
        h, k = cf.param("v", ()) * 1, cf.param("w", ()) * 1
        cf.forward(h)
        cf.forward(k)
        b1 = -k
        a = cf.apply("mul", h, k, label="a")
        b = cf.apply("add", b1, h, label="b")
        for tensor in (a, b):
            cf.forward(tensor)
        refused("fragment-cycle", lambda: a + b, operation="add", tensor="a", others=["b"])
        assert cf.grad_update(a)


def test_discarded_tensor() -> None:
    """What was rewound past is not used."""
    with cf.Session():
        kept = cf.param("w", ())
        with cf.closure():
            pass
        gone = cf.data("gone", (1,))
        cf.rewind_to_last_closure()
        calls: list[tuple[str, Callable[[], object]]] = [
            ("add", lambda: gone + kept),
            ("einsum", lambda: gone.sum()),
            ("max", lambda: gone.max()),
            ("grad_update", lambda: cf.grad_update(gone)),
            ("consume_forward_code", lambda: cf.forward(gone)),
            ("stop_gradient", lambda: cf.stop_gradient(gone)),
            ("param", lambda: cf.param("p", init=gone)),
            ("discard_backprop", lambda: cf.discard_backprop(gone)),
            ("pad", lambda: cf.pad(gone, [(1, 1)])),
            ("sgd_update", lambda: cf.sgd_update(kept * 2, gone)),
        ]
        for operation, call in calls:
            refused("discarded-tensor", call, operation=operation, tensor="gone")
        assert kept + 1


def test_shapes() -> None:
    """Operands broadcast, contract or match."""
    with cf.Session():
        a, b, c = cf.data("a", (2, 3)), cf.data("b", (2,)), cf.param("c", (3,))
        loss = c.sum()
        calls: list[tuple[str, list[list[int]], Callable[[], object]]] = [
            ("add", [[2, 3], [2]], lambda: a + b),
            ("matmul", [[2, 3], [2]], lambda: a @ b),
            ("matmul", [[], [2]], lambda: b.sum() @ b),
            ("transpose", [[2, 3], [0, 0]], lambda: cf.transpose(a, (0, 0))),
            ("sum", [[2, 3], [2]], lambda: a.sum(2)),
            ("max", [[2, 3], [0, -2]], lambda: a.max((0, -2))),
            ("einsum", [], lambda: cf.einsum("->")),
            ("max_pool", [[2, 3], [2], [2]], lambda: cf.max_pool(a, (2,))),
            ("param", [[2], [3]], lambda: cf.param("p", (2,), init=c)),
            ("literal", [[], [1]], lambda: cf.literal([[1], 2])),
            ("cross_entropy", [[2, 3], [2]], lambda: cf.cross_entropy(a, b)),
            ("conv2d", [[2, 3], [2], [1]], lambda: cf.conv2d(a, b)),
            ("grad_update", [[], [2]], lambda: cf.grad_update(loss, accum_loss=b)),
            ("sgd_update", [[2]], lambda: cf.sgd_update(loss, b)),
        ]
        for operation, shapes, call in calls:
            refused("shapes", call, operation=operation, shapes=shapes)
        assert (a + c).shape == (2, 3)
        assert (a @ c).shape == (2,)


def test_learning_rate() -> None:
    """Rates, scales and norms are finite and not negative."""
    with cf.Session():
        loss = cf.param("w", ()) * 2
        for value in (-1, float("nan"), float("inf"), True, "1"):
            shown = repr(value)
            for argument in ("lr", "momentum", "weight_decay"):
                rates = {"lr": 0.1, argument: value}
                refused(
                    "learning-rate",
                    lambda: cf.sgd_update(loss, **rates),  # type: ignore[arg-type]  # noqa: B023
                    operation="sgd_update", argument=argument, value=shown,
                )  # fmt: skip
            refused("learning-rate", lambda: cf.clip_grads(loss, value),  # type: ignore[arg-type]  # noqa: B023
                    operation="clip_grads", argument="max_norm", value=shown)  # fmt: skip
            refused("learning-rate", lambda: cf.grad_update(loss, loss_scale=value),  # type: ignore[arg-type]  # noqa: B023
                    operation="grad_update", argument="loss_scale", value=shown)  # fmt: skip
        assert cf.sgd_update(loss, 0.0)


def test_every_rule_of_the_chapter_is_triggered_here() -> None:
    """No rule of the frontend goes without a test of this file."""
    rules = [rule.id.split("/")[1] for rule in registry().values() if rule.chapter == "frontend"]
    assert [rule for rule in rules if f"test_{rule.replace('-', '_')}" not in globals()] == []
