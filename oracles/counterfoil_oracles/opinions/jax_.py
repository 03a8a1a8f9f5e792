"""jax, where it is installed: the gradients of the same graphs, written in its own functions.

The graphs are those whose numbers no float rounds, so it agrees bit for bit, but for the sign of a zero.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, Final

from counterfoil_oracles.opinions.differences_ import REFUSED, Partial, Verdict, bits, by_half, questions, settled
from counterfoil_oracles.opinions.graphs import Graph, Step, graphs
from counterfoil_oracles.opinions.opinion import Topic

ORACLE: Final = "jax"


def opinion(question: Partial) -> Verdict:
    """The loss and the derivative by reverse mode."""
    if settled(question.graph).is_cut_off:
        return REFUSED
    loss, gradients = _value_and_gradients(question.graph)
    return loss, gradients[question.leaf][question.position]


@functools.lru_cache(maxsize=8)
def _value_and_gradients(graph: Graph) -> tuple[str, list[list[str]]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    numpy = jax.numpy
    leaves = [numpy.array(leaf.values, dtype=graph.dtype.name).reshape(leaf.shape) for leaf in graph.leaves]
    every = tuple(range(len(leaves)))
    loss, gradients = jax.value_and_grad(lambda *given: _loss(jax, graph, given), argnums=every)(*leaves)
    return _unsigned(loss), [[_unsigned(value) for value in gradient.ravel()] for gradient in gradients]


def _unsigned(value: Any) -> str:
    """The number's bits; both zeros are 0."""
    return bits(float(value) + 0.0)


def _loss(jax: Any, graph: Graph, leaves: tuple[Any, ...]) -> Any:
    made = list(leaves)
    for step in graph.steps:
        made.append(_STEPS[step.operation](jax, step, *(made[operand] for operand in step.operands)))
    return made[-1]


def _reduced(name: str) -> Callable[..., Any]:
    def reduce(jax: Any, step: Step, a: Any) -> Any:
        axes, keepdims = step.detail
        return getattr(jax.numpy, name)(a, axis=axes, keepdims=keepdims)

    return reduce


def _pooled(name: str) -> Callable[..., Any]:
    """Whole windows of two by two, as axes of their own."""

    def pool(_: Any, __: Step, a: Any) -> Any:
        batch, height, width, channels = a.shape
        whole = a[:, : height // 2 * 2, : width // 2 * 2]
        return getattr(whole.reshape(batch, height // 2, 2, width // 2, 2, channels), name)((2, 4))

    return pool


def _convolve(jax: Any, step: Step, a: Any, kernel: Any) -> Any:
    padded = jax.numpy.pad(a, 1, constant_values=step.detail[0])
    return sum(padded[at : at + len(a)] * kernel[at] for at in range(len(kernel)))


def _conv2d(jax: Any, step: Step, images: Any, kernel: Any) -> Any:
    stride, padding = step.detail
    names, margins = ("NHWC", "HWIO", "NHWC"), [(padding, padding)] * 2
    return jax.lax.conv_general_dilated(images, kernel, (stride, stride), margins, dimension_numbers=names)


def _weigh(jax: Any, step: Step, a: Any) -> Any:
    return a * jax.numpy.array(step.detail[0], dtype=a.dtype).reshape(a.shape)


_STEPS: Final[Mapping[str, Callable[..., Any]]] = {
    "neg": lambda jax, step, a: -a,
    "add": lambda jax, step, a, b: a + b,
    "sub": lambda jax, step, a, b: a - b,
    "mul": lambda jax, step, a, b: a * b,
    "matmul": lambda jax, step, a, b: a @ b,
    "fma": lambda jax, step, a, b, c: a * b + c,
    "mul3": lambda jax, step, a, b, c: a * b * c,
    "maximum": lambda jax, step, a, b: jax.numpy.maximum(a, b + step.detail[0]),
    "minimum": lambda jax, step, a, b: jax.numpy.minimum(a, b + step.detail[0]),
    "relu": lambda jax, step, a: jax.nn.relu(a + step.detail[0]),
    "scale": lambda jax, step, a: a * step.detail[0],
    "choose": lambda jax, step, a, b, c: jax.numpy.where(a < b + step.detail[0], b, c),
    "einsum": lambda jax, step, *operands: jax.numpy.einsum(step.detail[0], *operands),
    "row": lambda jax, step, a: a[step.detail[0]],
    **{name: _reduced(name) for name in ("sum", "mean", "max", "min")},
    "max_pool": _pooled("max"),
    "mean_pool": _pooled("mean"),
    "convolve": _convolve,
    "conv2d": _conv2d,
    "weigh": _weigh,
}

TOPICS: Final[tuple[Topic, ...]] = () if importlib.util.find_spec("jax") is None else (
    Topic(
        ORACLE, "gradients", ("gradients/accounting", "placement/same-values"), 72,
        draw=lambda rng: questions(rng, graphs(rng, 20)),
        opinion=opinion,
        answer=by_half,
    ),
)  # fmt: skip
