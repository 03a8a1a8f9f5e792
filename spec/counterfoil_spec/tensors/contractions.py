"""Sums of products over named axes: einsum, matmul, transpose; convolutions by affine axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from counterfoil_spec.arguments import instance, integers
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.assignments import Accumulate, Read
from counterfoil_spec.programs.specs import parse, target_shape
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.elementwise import broadcast, promoted
from counterfoil_spec.tensors.operation import Written, draft, operation
from counterfoil_spec.tensors.rules import RULES, by_rules
from counterfoil_spec.tensors.tensor import GradSpec, Tensor, usable

_PRODUCTS: Final = {1: "identity", 2: "mul", 3: "mul3"}


def einsum(
    spec: str,
    *operands: Tensor,
    symbols: Mapping[str, Symbol] | None = None,
    label: str | None = None,
    dtype: Dtype | None = None,
    grad_spec: GradSpec = GradSpec.IF_NEEDED,
) -> Tensor:
    """The sum over the axes that the result lacks of the product of one, two or three operands.

    ``"ij,jk->ik"``, ``"b i, i o -> b o"``, a convolution ``"b 2*i+k c, k c o -> b i o"``: see
    ``counterfoil_spec.programs.specs``. Refuses programs/spec, compile/shape-mismatch, frontend/shapes (the number of
    operands), frontend/discarded-tensor.
    """
    tensors = [instance("operand", operand, Tensor) for operand in operands]
    usable("einsum", *tensors)
    if len(tensors) not in _PRODUCTS:
        raise refuse("frontend/shapes", operation="einsum", shapes=[tensor.shape for tensor in tensors])
    nodes = [tensor.value for tensor in tensors]
    shape = target_shape(spec, nodes, symbols)
    made = draft("einsum", shape, dtype or promoted([tensor.dtype for tensor in tensors]), label)
    projections = parse(spec, made.value, nodes, symbols)
    product = _PRODUCTS[len(tensors)]
    reads = tuple(Read(node) for node in nodes)
    own = Written(Accumulate(made.value, "add", product, reads, projections, initialize=True))
    gradients = by_rules(RULES[product], made, tensors, projections)
    return operation("einsum", made, tensors, own, gradients, grad_spec)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` as in numpy: last axis of a against the last but one of b (its only one), leading axes broadcast.

    Refuses frontend/shapes.
    """
    left, right = instance("operand", a, Tensor), instance("operand", b, Tensor)
    shapes = [left.shape, right.shape]
    if not left.rank or not right.rank or left.shape[-1] != right.shape[-2 if right.rank > 1 else -1]:
        raise refuse("frontend/shapes", operation="matmul", shapes=shapes)
    lead = broadcast("matmul", [left.shape[:-2], right.shape[:-2]])
    rows = ["r"] if left.rank > 1 else []
    columns = ["c"] if right.rank > 1 else []
    axes = [
        [*_batch(left.shape[:-2], lead), *rows, "k"],
        [*_batch(right.shape[:-2], lead), "k", *columns],
        [*_batch(lead, lead), *rows, *columns],
    ]
    return einsum("{},{}->{}".format(*(" ".join(words) for words in axes)), left, right)


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The axes in another order: reversed where none is given. Refuses frontend/shapes."""
    names = [f"a{axis}" for axis in range(instance("operand", a, Tensor).rank)]
    order = integers("axes", axes) if axes is not None else tuple(reversed(range(a.rank)))
    if sorted(order) != list(range(a.rank)):
        raise refuse("frontend/shapes", operation="transpose", shapes=[a.shape, order])
    return einsum(f"{' '.join(names)} -> {' '.join(names[axis] for axis in order)}", a)


def _batch(shape: Sequence[int], lead: Sequence[int]) -> list[str]:
    """Axis names of leading axes that broadcast to ``lead``: 0 where an axis is repeated."""
    missing = len(lead) - len(shape)
    return ["0" if extent != lead[missing + i] else f"b{missing + i}" for i, extent in enumerate(shape)]
