"""Networks compiled whole: warning-free C, small sources, and a step of training that descends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.compile.running import buffer, run

import counterfoil.compile as fast
import counterfoil_spec.tensors as tensor
from counterfoil.compile.source import source
from counterfoil.compile.toolchain import find_compiler
from counterfoil_spec.dtypes import float64
from counterfoil_spec.programs.assignments import Code
from counterfoil_spec.tensors.tensor import Tensor


def perceptron() -> Code:
    x, y = tensor.data("x", (16, 20)), tensor.data("y", (16, 4))
    hidden = tensor.tanh(x @ tensor.param("w", (20, 32)) + tensor.param("b", (32,)))
    return trained(tensor.cross_entropy(hidden @ tensor.param("v", (32, 4)), y))


def convolution() -> Code:
    images, labels = tensor.data("images", (4, 12, 12, 1)), tensor.data("labels", (4, 5))
    maps = tensor.relu(tensor.conv2d(images, tensor.param("k", (3, 3, 1, 8)), padding=1))
    pooled = tensor.max_pool(maps, (2, 2))
    return trained(
        tensor.cross_entropy(tensor.einsum("b y x c, y x c o -> b o", pooled, tensor.param("w", (6, 6, 8, 5))), labels)
    )


def attention() -> Code:
    queries, keys, values = (tensor.param(label, (2, 16, 8)) for label in ("q", "k", "v"))
    found = tensor.attention(queries, keys, values, tensor.causal_mask(16))
    return trained(tensor.mean(found * found))


def double() -> Code:
    x, w = tensor.data("x", (24, 24), dtype=float64), tensor.param("w", (24, 24), dtype=float64)
    return trained(tensor.mean(tensor.softmax(x @ w) ** 3.0))


def trained(loss: Tensor) -> Code:
    """A gradient update and a step of descent."""
    return tensor.sequence(tensor.grad_update(loss), tensor.sgd_update(loss, lr=0.1, momentum=0.9)).code


@pytest.mark.parametrize("made", [perceptron, convolution, attention, double])
def test_networks_compile_without_a_warning(made: Callable[[], Code], tmp_path: Path) -> None:
    """The source of a whole step of training is C11 that -Wall -Wextra says nothing about."""
    plan = fast.plan(made(), fast.NOTHING_DECIDED, "r")
    compiler = find_compiler()
    assert compiler is not None
    text = tmp_path / "step.c"
    text.write_text(source([plan.lowered], plan.arguments, plan.symbols))
    flags = [flag for flag in compiler.flags if flag != "-w"]
    line = [*compiler.command, *flags, "-O2", "-Wall", "-Wextra", "-Werror", "-c", str(text), "-o", str(tmp_path / "o")]
    assert subprocess.run(line, capture_output=True, text=True, check=False).stderr == ""


def test_chains_deeper_than_the_stack() -> None:
    """Six hundred operations inlined into one another are planned, compiled and right; the limit is as it was."""
    limit = sys.getrecursionlimit()
    x = tensor.data("x", (8,))
    chain = x
    for _ in range(300):
        chain = tensor.neg(tensor.relu(chain)) + 1.0
    chain.value.set_observable()
    plan = fast.plan(tensor.forward(chain).code, fast.NOTHING_DECIDED, "r")
    buffers = {node: buffer(node) for node in plan.arguments}
    buffers[x.value][...] = np.arange(8) - 4
    want = buffers[x.value].copy()
    for _ in range(300):
        want = 1 - np.maximum(want, 0)
    run(fast.generate([plan.lowered], plan), plan, buffers)
    assert np.array_equal(buffers[chain.value], want)
    assert len(plan.lowered.body) == 1
    assert sys.getrecursionlimit() == limit


def test_steps_of_training_descend() -> None:
    """Repeated steps of a perceptron on fixed data bring its loss down to a tenth."""
    x, y = tensor.data("x", (32, 8)), tensor.data("y", (32, 3))
    v, w = tensor.param("v", (8, 16)), tensor.param("w", (16, 3))
    loss = tensor.cross_entropy(tensor.relu(x @ v) @ w, y)
    step = tensor.sequence(tensor.grad_update(loss), tensor.sgd_update(loss, lr=0.5))
    plan = fast.plan(step.code, fast.NOTHING_DECIDED, "step")
    kernel = fast.generate([plan.lowered], plan)
    draw = np.random.default_rng(0)
    buffers = {node: buffer(node) for node in plan.arguments}
    for parameter in (v, w):
        buffers[parameter.value][...] = draw.standard_normal(parameter.shape) / 2
    buffers[x.value][...] = draw.standard_normal((32, 8))
    buffers[y.value][np.arange(32), draw.integers(0, 3, 32)] = 1
    losses = []
    for _ in range(400):
        run(kernel, plan, buffers)
        losses.append(float(buffers[loss.value]))
    assert losses[-1] < losses[0] / 10
