"""A perceptron trained on CUDA: the same losses as on a CPU, step by step."""

from __future__ import annotations

import numpy as np
import pytest

import counterfoil as cf

STEPS, BATCHES, ROWS = 12, 3, 8


def losses(context: cf.Context) -> list[float]:
    """Losses of a perceptron of one hidden layer: 64 inputs, 32 units, 10 classes, momentum and decay."""
    rng = np.random.default_rng(7)
    starts = {
        "w1": rng.standard_normal((64, 32)) / 8, "b1": np.zeros(32), "w2": rng.standard_normal((32, 10)) / 6,
        "b2": np.zeros(10),
    }  # fmt: skip
    p = {name: cf.tensor.param(name, values.shape) for name, values in starts.items()}
    for name, tensor in p.items():
        context = context.set_values(tensor.value, starts[name].ravel().tolist())
    images, answers = cf.tensor.data("images", (BATCHES, ROWS, 64)), cf.tensor.data("answers", (BATCHES, ROWS, 10))
    batch = cf.Symbol("batch", BATCHES)
    hidden = (cf.tensor.slice_of(images, batch) @ p["w1"] + p["b1"]).relu()
    loss = cf.tensor.cross_entropy(hidden @ p["w2"] + p["b2"], cf.tensor.slice_of(answers, batch))
    update = cf.tensor.sgd_update(loss, 0.1, momentum=0.9, weight_decay=1e-4)
    context, routine = context.compile(cf.sequence(cf.tensor.grad_update(loss), update), name="step")
    pixels = rng.random((BATCHES, ROWS, 64), np.float32)
    classes = np.eye(10, dtype=np.float32)[rng.integers(0, 10, (BATCHES, ROWS))]
    context = context.from_host(images.value, pixels).from_host(answers.value, classes)
    found = []
    for step in range(STEPS):
        batch.set(step % BATCHES)
        context = context.run(routine)
        found.append(float(context.get_value(loss.value, ())))
    return found


def test_a_perceptron_learns_as_on_a_cpu(mode: str) -> None:
    """The losses differ by rounding alone, and they fall."""
    on_cuda, on_cpu = losses(cf.Context.cuda()), losses(cf.Context.cpu())
    assert on_cuda == pytest.approx(on_cpu, rel=1e-3)
    assert on_cuda[-1] < 0.7 * on_cuda[0]
    assert losses(cf.Context.cuda()) == on_cuda
