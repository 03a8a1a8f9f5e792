"""Graphs written with a frontend: the comps that compute a loss and its gradients, and the nodes to ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from counterfoil_oracles.opinions.graphs import Graph, Leaf, Step
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.assignments import Code
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.symbols import Symbol


@dataclass(frozen=True)
class Written:
    """A graph's code, and its nodes: of the loss, of the leaves in order, of their gradients."""

    forward: Code
    update: Comp
    loss: Node
    leaves: tuple[Node, ...]
    gradients: tuple[Node, ...]
    symbols: Mapping[Symbol, int]


def written(graph: Graph, frontend: Any) -> Written:
    """The graph in a session of its own."""
    symbols: dict[Symbol, int] = {}
    with frontend.Session():
        leaves = [_leaf(frontend, number, leaf, graph.dtype) for number, leaf in enumerate(graph.leaves)]
        made = list(leaves)
        for step in graph.steps:
            operands = [made[operand] for operand in step.operands]
            made.append(_STEPS[step.operation](_Writing(frontend, graph.dtype, symbols, step), *operands))
        for leaf in leaves:
            leaf.grad.set_observable()
        loss = made[-1]
        return Written(
            forward=loss.forward.code,
            update=frontend.grad_update(loss),
            loss=loss.value,
            leaves=tuple(leaf.value for leaf in leaves),
            gradients=tuple(leaf.grad for leaf in leaves),
            symbols=symbols,
        )


@dataclass(frozen=True)
class _Writing:
    frontend: Any
    dtype: Dtype
    symbols: dict[Symbol, int]
    step: Step


def _leaf(frontend: Any, number: int, leaf: Leaf, dtype: Dtype) -> Any:
    make = frontend.param if leaf.is_param else frontend.leaf
    return make(f"x{number}", leaf.shape, dtype=dtype)


def _named(name: str) -> Callable[..., Any]:
    """A function of the frontend, of the operands alone."""
    return lambda writing, *operands: getattr(writing.frontend, name)(*operands)


def _applied(name: str) -> Callable[..., Any]:
    return lambda writing, *operands: writing.frontend.apply(name, *operands)


def _reduced(name: str) -> Callable[..., Any]:
    return lambda writing, a: getattr(writing.frontend, name)(a, *writing.step.detail)


def _relu(writing: _Writing, a: Any) -> Any:
    return (a + writing.step.detail[0]).relu()


def _compared(name: str) -> Callable[..., Any]:
    return lambda writing, a, b: getattr(writing.frontend, name)(a, b + writing.step.detail[0])


def _choose(writing: _Writing, a: Any, b: Any, c: Any) -> Any:
    return writing.frontend.where(writing.frontend.less(a, b + writing.step.detail[0]), b, c)


def _weigh(writing: _Writing, a: Any) -> Any:
    return a * writing.frontend.literal(writing.step.detail[0], a.shape, dtype=writing.dtype)


def _convolve(writing: _Writing, a: Any, kernel: Any) -> Any:
    padded = writing.frontend.pad(a, [(1, 1)], float(writing.step.detail[0]))
    return writing.frontend.einsum(f"i+k-1, k -> i; i={a.shape[0]}", padded, kernel)


def _row(writing: _Writing, a: Any) -> Any:
    at, extent = writing.step.detail
    symbol = Symbol("at", extent)
    writing.symbols[symbol] = at
    return writing.frontend.slice_of(a, symbol)


def _pooled(name: str) -> Callable[..., Any]:
    return lambda writing, a: getattr(writing.frontend, name)(a, (2, 2))


_STEPS: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: _named(name) for name in ("neg", "add", "sub", "mul", "matmul")},
    **{name: _applied(name) for name in ("fma", "mul3")},
    **{name: _reduced(name) for name in ("sum", "mean", "max", "min")},
    **{name: _pooled(name) for name in ("max_pool", "mean_pool")},
    **{name: _compared(name) for name in ("maximum", "minimum")},
    "relu": _relu,
    "scale": lambda writing, a: a * writing.step.detail[0],
    "choose": _choose,
    "weigh": _weigh,
    "einsum": lambda writing, *operands: writing.frontend.einsum(writing.step.detail[0], *operands),
    "convolve": _convolve,
    "conv2d": lambda writing, a, kernel: writing.frontend.conv2d(a, kernel, *writing.step.detail),
    "row": _row,
}


def operations() -> Sequence[str]:
    """Every operation that a step may be of."""
    return list(_STEPS)
