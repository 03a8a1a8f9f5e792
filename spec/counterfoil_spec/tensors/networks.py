"""What networks are made of, composed of the primitive operations."""

from __future__ import annotations

from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.contractions import einsum, matmul, transpose
from counterfoil_spec.tensors.elementwise import apply, exp, log, mul, neg, stop_gradient, sub, where
from counterfoil_spec.tensors.leaves import arange
from counterfoil_spec.tensors.reductions import max, mean, sum
from counterfoil_spec.tensors.shaping import pad
from counterfoil_spec.tensors.tensor import Tensor


def softmax(a: Tensor, axis: int = -1) -> Tensor:
    """Exponentials divided by their sum along the axis; the greatest is subtracted first, so that none overflows."""
    powers = exp(sub(a, max(stop_gradient(a), axis, keepdims=True)))
    return powers / sum(powers, axis, keepdims=True)


def log_softmax(a: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of the softmax, without taking it of a number that underflowed."""
    below = sub(a, max(stop_gradient(a), axis, keepdims=True))
    return below - log(sum(exp(below), axis, keepdims=True))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean over the rows of ``-sum(targets * log_softmax(logits))``; targets are probabilities per class.

    Both ``[..., classes]``; refuses frontend/shapes.
    """
    if logits.shape != targets.shape or not logits.rank:
        raise refuse("frontend/shapes", operation="cross_entropy", shapes=[logits.shape, targets.shape])
    return mean(neg(sum(mul(targets, log_softmax(logits)), -1)))


def one_hot(labels: Tensor, classes: int) -> Tensor:
    """1 at each label's class, 0 elsewhere: ``[..., classes]`` of float32."""
    positions = arange(integer("classes", classes))
    names = " ".join(f"a{axis}" for axis in range(instance("operand", labels, Tensor).rank))
    spread = einsum(f"{names} -> {names} 0", labels)
    return apply("cmpeq", spread, positions)


def masked(a: Tensor, mask: object, value: float = float("-inf")) -> Tensor:
    """a where the mask is not 0, ``value`` elsewhere."""
    return where(mask, a, value)


def causal_mask(extent: int) -> Tensor:
    """``[extent, extent]``: 1 where the column is not past the row."""
    rows, columns = einsum("i -> i 0", arange(extent)), arange(extent)
    return apply("cmple", columns, rows)


def attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """``softmax(queries @ keys.T / sqrt(width)) @ values`` over the last two axes; where the mask is 0, no weight."""
    order = [*range(keys.rank - 2), keys.rank - 1, keys.rank - 2]
    scores = matmul(queries, transpose(keys, order)) * queries.shape[-1] ** -0.5
    weights = softmax(scores if mask is None else masked(scores, mask, -1e9))
    return matmul(weights, values)


def conv2d(images: Tensor, kernel: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
    """``[batch, height, width, in]`` and ``[rows, columns, in, out]`` to ``[batch, height', width', out]``.

    ``padding``: zeros on each side of height and width. Refuses frontend/shapes.
    """
    step, margin = integer("stride", stride), integer("padding", padding)
    fits = images.rank == 4 == kernel.rank and images.shape[3] == kernel.shape[2]
    if not fits or step < 1:
        raise refuse("frontend/shapes", operation="conv2d", shapes=[images.shape, kernel.shape, (step,)])
    inputs = pad(images, ((0, 0), (margin, margin), (margin, margin), (0, 0))) if margin else images
    rows, columns = (f"{step}*{i}+{k}-{margin}" for i, k in ("yh", "xw"))
    return einsum(f"b {rows} {columns} c, h w c o -> b y x o", inputs, kernel)


def layer_norm(a: Tensor, scale: Tensor | None = None, shift: Tensor | None = None, epsilon: float = 1e-5) -> Tensor:
    """Each row along the last axis less its mean, over its standard deviation; then scaled and shifted."""
    centred = a - mean(a, -1, keepdims=True)
    variance = mean(centred * centred, -1, keepdims=True)
    normed = centred / (variance + epsilon).sqrt()
    scaled = normed if scale is None else normed * scale
    return scaled if shift is None else scaled + shift


def mean_squared_error(predictions: Tensor, targets: Tensor) -> Tensor:
    """The mean of the squared differences."""
    difference = sub(predictions, targets)
    return mean(mul(difference, difference))
