"""The same networks trained by both halves: losses and parameters stay together, fused or in routines of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import counterfoil as fast
import counterfoil_reference as reference
from counterfoil_spec import tensors as cf


def convolutional() -> cf.Tensor:
    """A strided, padded convolution, a pool, a dense layer, a cross-entropy."""
    images, labels = cf.literal(cf.random_values((2, 5, 5, 1), 1), (2, 5, 5, 1)), cf.literal([2, 0])
    kernel = cf.param("kernel", (3, 3, 1, 2), cf.random_values((3, 3, 1, 2), 2))
    dense, bias = cf.param("dense", (1, 1, 2, 3), cf.random_values((6,), 3)), cf.param("bias", (2,), 0.1)
    features = (cf.conv2d(images, kernel, stride=2, padding=1) + bias).relu()
    scores = cf.einsum("b i j c, i j c o -> b o", cf.max_pool(features, (3, 3)), dense)
    return cf.cross_entropy(scores, cf.one_hot(labels, 3))


def attending() -> cf.Tensor:
    """A normalized, causally attended block and the sum of its squares."""
    x = cf.literal(cf.random_values((6,), 1), (1, 3, 2))
    q, k, v, out = (cf.param(name, (2, 2), cf.random_values((4,), seed)) for seed, name in enumerate("qkvo"))
    normed = cf.layer_norm(x, cf.param("scale", (2,), 1.0), cf.param("shift", (2,), 0.0))
    block = x + cf.attention(normed @ q, normed @ k, normed @ v, cf.causal_mask(3)) @ out
    return (block * block).sum()


def trained(half: Any, build: Callable[[], cf.Tensor], fused: bool) -> list[float]:
    """The loss and all parameters after five steps of descent."""
    with cf.Session():
        loss = build()
        comps = [cf.grad_update(loss), cf.sgd_update(loss, 0.1, momentum=0.9, weight_decay=0.01)]
        context, routines = cf.init_params(half.Context.cpu(), loss), []
        for comp in [cf.sequence(*comps)] if fused else comps:
            context, routine = context.compile(comp)
            routines.append(routine)
        for _ in range(5):
            for routine in routines:
                context = context.run(routine)
        nodes = [loss.value, *(param.value for param in loss.params)]
        return [value for node in nodes for value in context.get_values(node)]


@pytest.mark.parametrize("build", [convolutional, attending])
@pytest.mark.parametrize("fused", [True, False])
def test_training_stays_together(build: Callable[[], cf.Tensor], fused: bool) -> None:
    """Within a few units in the last place after five steps."""
    assert trained(fast, build, fused) == pytest.approx(trained(reference, build, fused), rel=1e-5, abs=1e-6)
