"""A perceptron, a convolutional network and an attention block, each written as a newcomer would."""

from __future__ import annotations

from tests.frontend.gradients import check_gradients, run

from counterfoil_spec import tensors as cf


def values_of(*tensors: cf.Tensor) -> dict[cf.Tensor, list[float]]:
    """Small distinct numbers for each tensor, dyadic so that rationals stay short."""
    drawn = {tensor: cf.random_values(tensor.shape, seed) for seed, tensor in enumerate(tensors)}
    return {tensor: [round(value * 64) / 64 for value in values] for tensor, values in drawn.items()}


def test_perceptron() -> None:
    """Two layers and a squared error: every parameter's gradient is the loss's derivative, exactly."""
    with cf.Session():
        x, y = cf.data("x", (3, 2)), cf.data("y", (3, 1))
        w1, b1 = cf.param("w1", (2, 4)), cf.param("b1", (4,))
        w2, b2 = cf.param("w2", (4, 1)), cf.param("b2", (1,))
        hidden = (x @ w1 + b1).relu()
        loss = cf.mean_squared_error(hidden @ w2 + b2, y)
        assert loss.params == (w1, b1, w2, b2)
        check_gradients(loss, values_of(x, y, w1, b1, w2, b2))


def test_convolutions() -> None:
    """A padded convolution with a stride, a pool, a dense layer and a cross-entropy over three classes."""
    with cf.Session():
        images, labels = cf.data("images", (2, 5, 5, 1)), cf.data("labels", (2,))
        kernel, bias = cf.param("kernel", (3, 3, 1, 2)), cf.param("bias", (2,))
        dense = cf.param("dense", (1, 1, 2, 3))
        features = (cf.conv2d(images, kernel, stride=2, padding=1) + bias).relu()
        pooled = cf.max_pool(features, (3, 3))
        loss = cf.cross_entropy(cf.einsum("b i j c, i j c o -> b o", pooled, dense), cf.one_hot(labels, 3))
        assert features.shape == (2, 3, 3, 2)
        values = values_of(images, kernel, bias, dense)
        check_gradients(loss, {**values, labels: [2, 0]})


def test_attention() -> None:
    """One block: normalized, projected, attended causally, added back."""
    with cf.Session():
        x = cf.data("x", (1, 3, 2))
        scale, shift = cf.param("scale", (2,)), cf.param("shift", (2,))
        queries, keys, values, out = (cf.param(name, (2, 2)) for name in ("q", "k", "v", "o"))
        normed = cf.layer_norm(x, scale, shift)
        attended = cf.attention(normed @ queries, normed @ keys, normed @ values, cf.causal_mask(3))
        block = x + attended @ out
        check_gradients((block * block).sum(), values_of(x, scale, shift, queries, keys, values, out))


def test_a_causal_mask_hides_what_comes_later() -> None:
    """Row i of the mask has i + 1 ones; the first row attends to itself alone."""
    with cf.Session():
        mask = cf.causal_mask(3)
        assert run(mask.forward, {}).values(mask.value) == [1, 0, 0, 1, 1, 0, 1, 1, 1]
        q, k, v = (cf.data(name, (3, 2)) for name in "qkv")
        made = cf.attention(q, k, v, cf.causal_mask(3))
        given = values_of(q, k, v)
        assert run(made.forward, given).values(made.value)[:2] == given[v][:2]


def test_softmax_of_large_numbers() -> None:
    """The greatest is subtracted before exponentials are taken."""
    with cf.Session():
        a = cf.data("a", (2,))
        made = a.softmax()
        assert run(made.forward, {a: [1000.0, 1000.0]}).values(made.value) == [0.5, 0.5]
