"""Sums, means and extremes over axes; pooling over windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from counterfoil_spec.arguments import instance, integer, integers
from counterfoil_spec.programs.assignments import Accumulate, Read
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Projections
from counterfoil_spec.programs.specs import parse, pointwise, target_shape
from counterfoil_spec.refusals import refuse
from counterfoil_spec.tensors.contractions import einsum
from counterfoil_spec.tensors.elementwise import mul
from counterfoil_spec.tensors.operation import Draft, Gradients, Written, draft, operation
from counterfoil_spec.tensors.operators import Axes
from counterfoil_spec.tensors.rules import Expansion, over_margins
from counterfoil_spec.tensors.tensor import Tensor, usable


def sum(a: Tensor, axes: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum over those axes (all of them); refuses frontend/shapes for an axis that is not there."""
    return einsum(_over_axes("sum", a, axes, keepdims), a)


def mean(a: Tensor, axes: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean over those axes (all of them)."""
    total = sum(a, axes, keepdims)
    count = math.prod(a.shape[axis] for axis in _axes("mean", a, axes))
    return mul(total, 1.0 / count) if count else total


def max(a: Tensor, axes: Axes = None, keepdims: bool = False) -> Tensor:
    """The greatest over those axes. Elements that are equally great share the gradient evenly."""
    return extreme("max", _over_axes("max", a, axes, keepdims), a)


def min(a: Tensor, axes: Axes = None, keepdims: bool = False) -> Tensor:
    """The least over those axes. Elements that are equally small share the gradient evenly."""
    return extreme("min", _over_axes("min", a, axes, keepdims), a)


def max_pool(a: Tensor, window: Sequence[int], stride: Sequence[int] | None = None) -> Tensor:
    """The greatest of each window over the spatial axes of ``[batch, *spatial, channels]``; no window is cut off."""
    return extreme("max", _windows("max_pool", a, window, stride), a)


def mean_pool(a: Tensor, window: Sequence[int], stride: Sequence[int] | None = None) -> Tensor:
    """The mean of each window over the spatial axes of ``[batch, *spatial, channels]``; no window is cut off."""
    total = einsum(_windows("mean_pool", a, window, stride), a)
    return mul(total, 1.0 / math.prod(integers("window", window)))


def extreme(accumulator: str, spec: str, a: Tensor) -> Tensor:
    """``max`` or ``min`` over the loops that the result of a projection's text lacks."""
    usable(accumulator, a)
    made = draft(accumulator, target_shape(spec, [a.value]), a.dtype)
    projections = parse(spec, made.value, [a.value])
    own = Accumulate(made.value, accumulator, "identity", (Read(a.value),), projections, initialize=True)
    return operation(accumulator, made, (a,), Written(own), _shared_evenly(made, a, own))


def _shared_evenly(made: Draft, a: Tensor, own: Accumulate) -> Gradients:
    """The gradient goes to the elements that equal the extreme, divided by their number."""

    def gradients(grad: Node) -> Written:
        if a.diff is None:
            return Written()
        session, place = made.session, own.projections.target
        ties = session.node(f"{grad.label}.ties", made.value.shape, grad.dtype)
        share = session.node(f"{grad.label}.share", made.value.shape, grad.dtype)
        projections = Projections(own.projections.product, place, (*own.projections.operands, place))
        expansion = Expansion(made, [a.value, share], projections, grad)
        expansion.accumulate(ties, place, "add", ("cmpeq", 0, "v"), initialize=True)
        divided = pointwise(share, [grad, ties])
        expansion.code.append(Accumulate(share, "arg2", "div", (Read(grad), Read(ties)), divided))
        into = over_margins(own.projections.operands[0], a.value)
        expansion.accumulate(a.diff.grad, into, "add", ("where", ("cmpeq", 0, "v"), 1, 0.0))
        own_code = expansion.written()
        return Written(own_code.code, (ties, share, *own_code.embedded))

    return gradients


def _axes(operation: str, a: Tensor, axes: Axes) -> tuple[int, ...]:
    """The axes named, none of them negative; refuses frontend/shapes for one that is not there or named twice."""
    rank = instance("operand", a, Tensor).rank
    if axes is None:
        return tuple(range(rank))
    given = integers("axes", axes) if isinstance(axes, Sequence) else (integer("axes", axes),)
    found = tuple(axis + rank if axis < 0 else axis for axis in given)
    if len(set(found)) != len(found) or not all(0 <= axis < rank for axis in found):
        raise refuse("frontend/shapes", operation=operation, shapes=[a.shape, given])
    return found


def _over_axes(operation: str, a: Tensor, axes: Axes, keepdims: bool) -> str:
    """The projection's text of a reduction."""
    gone = _axes(operation, a, axes)
    names = [f"a{axis}" for axis in range(a.rank)]
    kept = ["0" if axis in gone else name for axis, name in enumerate(names) if keepdims or axis not in gone]
    return f"{' '.join(names)} -> {' '.join(kept)}"


def _windows(operation: str, a: Tensor, window: Sequence[int], stride: Sequence[int] | None) -> str:
    """The projection's text of windows over all axes but the first and the last."""
    sizes = integers("window", window)
    steps = sizes if stride is None else integers("stride", stride)
    if a.rank != len(sizes) + 2 or len(steps) != len(sizes) or any(size < 1 for size in (*sizes, *steps)):
        raise refuse("frontend/shapes", operation=operation, shapes=[a.shape, sizes, steps])
    moved = " ".join(f"{step}*i{axis}+k{axis}" for axis, step in enumerate(steps))
    places = " ".join(f"i{axis}" for axis in range(len(steps)))
    extents = " ".join(f"k{axis}={size}" for axis, size in enumerate(sizes))
    return f"b {moved} c -> b {places} c; {extents}"
