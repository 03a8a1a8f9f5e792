"""No thread of a kernel waits for luck: blocks and threads in any order give the same bits.

In its shuffled mode the emulated driver runs the blocks of a grid, and between two barriers the threads of a block, in
an order drawn anew for each launch. A kernel in which one thread reads what another writes without a barrier between
them would give other bits in some order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.contexts_cuda.emulated import configure

import counterfoil as cf

t = cf.tensor
SEEDS = range(1, 9)
Made = tuple[Any, dict[Any, np.ndarray[Any, Any]]]


def perceptron() -> Made:
    x, y = t.data("x", (33, 70)), t.data("y", (33, 10))
    w, b, v = t.param("w", (70, 65)), t.param("b", (65,)), t.param("v", (65, 10))
    return t.cross_entropy((x @ w + b).relu() @ v, y), shapes(x, y, w, b, v)


def convolution() -> Made:
    images, labels = t.data("images", (2, 12, 12, 1)), t.data("labels", (2, 5))
    k, w = t.param("k", (3, 3, 1, 8)), t.param("w", (6, 6, 8, 5))
    pooled = t.max_pool(t.relu(t.conv2d(images, k, padding=1)), (2, 2))
    return t.cross_entropy(t.einsum("b y x c, y x c o -> b o", pooled, w), labels), shapes(images, labels, k, w)


def attention() -> Made:
    q, k, v = (t.param(label, (2, 16, 8)) for label in "qkv")
    found = t.attention(q, k, v, t.causal_mask(16))
    return t.mean(found * found), shapes(q, k, v)


def normalised() -> Made:
    x, w = t.data("x", (40, 48)), t.param("w", (48, 48))
    return t.mean(t.softmax(x @ w) ** 3.0), shapes(x, w)


def shapes(*leaves: Any) -> dict[Any, np.ndarray[Any, Any]]:
    """Numbers for leaves."""
    rng = np.random.default_rng(3)
    return {leaf: rng.standard_normal(leaf.value.shape, np.float32) for leaf in leaves}


def trained(made: Callable[[], Made], words: str) -> dict[str, bytes]:
    """The bits of every leaf and gradient after three steps."""
    configure(words)
    loss, leaves = made()
    step = cf.sequence(t.grad_update(loss), t.sgd_update(loss, lr=0.1, momentum=0.9))
    context = cf.Context.cuda()
    for leaf, values in leaves.items():
        context = context.from_host(leaf.value, values)
    context, routine = context.compile(step, name="step")
    for _ in range(3):
        context = context.run(routine)
    shown = [leaf.value for leaf in leaves] + [leaf.grad for leaf in leaves if leaf.grad is not None]
    found = {f"{at} {node.label}": bytes(context.to_host(node).reading().__enter__()) for at, node in enumerate(shown)}
    context.release()
    return found


@pytest.mark.parametrize("made", [perceptron, convolution, attention, normalised])
def test_bits_do_not_depend_on_the_order_of_threads(made: Callable[[], Made]) -> None:
    """Eager, which goes by number, and eight drawn orders."""
    try:
        by_number = trained(made, "mode=eager")
        for seed in SEEDS:
            assert trained(made, f"mode=shuffled seed={seed}") == by_number, seed
    finally:
        configure("mode=eager")
