"""Local gradient rules: backprop is the derivative."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontend.gradients import check_gradients, run

from counterfoil_spec import tensors as cf
from counterfoil_spec.programs.symbols import Symbol

POSITIVE = [0.5, 1.5, 2.0, 0.25, 3.0, 1.25]
MIXED = [0.5, -1.5, 2.0, -0.25, 3.0, -1.25]

UNARY = ["neg", "identity", "relu", "exp", "log", "exp2", "log2", "sin", "cos", "sqrt", "recip", "recip_sqrt", "tanh",
         "satur01"]  # fmt: skip
BINARY = ["add", "sub", "mul", "div", "to_pow_of", "max", "min", "mod", "relu_gate", "satur01_gate"]


@pytest.mark.parametrize("operator", UNARY)
def test_unary(operator: str) -> None:
    """A function's gradient is its derivative, weighted by what flows in."""
    with cf.Session():
        a, weights = cf.leaf("a", (6,)), cf.literal([1, 2, 3, 4, 5, 6])
        check_gradients((cf.apply(operator, a) * weights).sum(), {a: POSITIVE})


@pytest.mark.parametrize("operator", BINARY)
def test_binary(operator: str) -> None:
    """Both operands' gradients are partial derivatives, summed over what they were broadcast along."""
    with cf.Session():
        a, b, weights = cf.leaf("a", (2, 3)), cf.leaf("b", (2, 1)), cf.literal([1, 2, 3, 4, 5, 6], (2, 3))
        check_gradients((cf.apply(operator, a, b) * weights).sum(), {a: POSITIVE, b: [1.75, 0.75]})


@pytest.mark.parametrize("operator", ["where", "fma", "mul3"])
def test_ternary(operator: str) -> None:
    """Three operands; of a condition there is no gradient."""
    with cf.Session():
        a, b, c = cf.leaf("a", (6,)), cf.leaf("b", (6,)), cf.leaf("c", ())
        first = cf.less(a, 1) if operator == "where" else a
        check_gradients((cf.apply(operator, first, b, c) * b).sum(), {a: MIXED, b: POSITIVE, c: [-2.0]})


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 2)]),
        ("i j -> j i", [(2, 3)]),
        ("i i -> i", [(2, 2)]),
        ("i,j->", [(2,), (3,)]),
        ("i j, j, k i -> k", [(2, 3), (3,), (2, 2)]),
        ("2*i+k, k -> i", [(6,), (2,)]),
        ("b i+k c, k c o -> b i o; i=3", [(1, 4, 1), (2, 1, 2)]),
        ("i -> 0 i", [(3,)]),
    ],
)
def test_einsum(spec: str, shapes: list[tuple[int, ...]]) -> None:
    """The gradient of a sum of products reaches each operand through the same projection, roles exchanged."""
    with cf.Session():
        leaves = [cf.leaf(f"x{place}", shape) for place, shape in enumerate(shapes)]
        made = cf.einsum(spec, *leaves)
        values = {leaf: (POSITIVE + MIXED)[: leaf.value.size] for leaf in leaves}
        check_gradients((made * made).sum(), values)


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 2)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 3), (1, 3, 2)), ((3,), (3,))]
)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Batches broadcast, and single axes are rows or columns, as in numpy."""
    with cf.Session():
        a, b = cf.leaf("a", shapes[0]), cf.leaf("b", shapes[1])
        made = a @ b
        check_gradients((made * made).sum(), {a: MIXED[: a.value.size], b: POSITIVE[: b.value.size]})


@pytest.mark.parametrize("extreme", [cf.max, cf.min])
@pytest.mark.parametrize("axes", [None, 0, -1, (0, 1)])
def test_extremes(extreme: object, axes: object) -> None:
    """The gradient of a greatest element is its own."""
    with cf.Session():
        a = cf.leaf("a", (2, 3))
        made = extreme(a, axes)  # type: ignore[operator]
        check_gradients((made * made).sum(), {a: MIXED})


def test_equal_extremes_share_evenly() -> None:
    """Of three elements, two equally great get half of the gradient each."""
    with cf.Session():
        a = cf.leaf("a", (3,))
        step = cf.grad_update(a.max())
        assert a.grad is not None
        assert run(step, {a: [2.0, 1.0, 2.0]}).values(a.grad) == [0.5, 0, 0.5]


def test_margins_take_no_part() -> None:
    """A padded copy is read past its shape; what flows into a margin goes nowhere."""
    with cf.Session():
        a, kernel = cf.leaf("a", (4,)), cf.leaf("k", (3,))
        made = cf.einsum("i+k-1, k -> i; i=4", cf.pad(a, [(1, 1)], 5.0), kernel)
        assert run(made.forward, {a: [1, 2, 3, 4], kernel: [1, 1, 1]}).values(made.value) == [8, 6, 9, 12]
        check_gradients((made * made).sum(), {a: MIXED[:4], kernel: POSITIVE[:3]})


def test_rows() -> None:
    """The gradient of a row is added into that row alone."""
    with cf.Session():
        a, at = cf.leaf("a", (3, 2)), Symbol("at", 3)
        made = cf.slice_of(a, at)
        check_gradients((made * made).sum(), {a: MIXED}, {at: 1})


@pytest.mark.parametrize("pool", [cf.max_pool, cf.mean_pool])
def test_pools(pool: object) -> None:
    """Pools over windows, whole ones only."""
    with cf.Session():
        a = cf.leaf("a", (1, 5, 1))
        made = pool(a, (2,))  # type: ignore[operator]
        assert made.shape == (1, 2, 1)
        check_gradients((made * made).sum(), {a: MIXED[:5]})


@pytest.mark.parametrize("function", [cf.softmax, cf.log_softmax, cf.layer_norm])
def test_composed(function: object) -> None:
    """Softmax, its logarithm and normalization are composed of operations whose gradients are right."""
    with cf.Session():
        a, weights = cf.leaf("a", (2, 3)), cf.literal([1, 2, 3, 4, 5, 7], (2, 3))
        check_gradients((function(a) * weights).sum(), {a: MIXED})  # type: ignore[operator]


def test_cross_entropy() -> None:
    """Its gradient is (softmax - targets) / rows."""
    with cf.Session():
        logits, labels = cf.leaf("logits", (2, 3)), cf.literal([2, 0])
        check_gradients(cf.cross_entropy(logits, cf.one_hot(labels, 3)), {logits: MIXED})


@given(st.lists(st.sampled_from("+-*/r@"), min_size=1, max_size=8), st.integers(0, 5))
def test_shared_operands(steps: list[str], twist: int) -> None:
    """However often intermediate tensors are shared, every contribution arrives once."""
    with cf.Session():
        a, b = cf.leaf("a", (2,)), cf.leaf("b", (2,))
        made = [a, b]
        for place, step in enumerate(steps):
            left, right = made[-1], made[(place * 7 + twist) % len(made)]
            made.append(_combined(step, left, right))
        check_gradients((made[-1] * made[len(made) // 2]).sum(), {a: [1.5, -0.5], b: [0.75, 2.0]})


def _combined(step: str, left: cf.Tensor, right: cf.Tensor) -> cf.Tensor:
    match step:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right * 0.5
        case "/":
            return left / (right * right + 1)
        case "r":
            return left.relu()
    return cf.einsum("i,j->i", left, right)
