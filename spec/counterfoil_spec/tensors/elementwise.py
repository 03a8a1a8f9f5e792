"""Operations element by element, shapes broadcast as in numpy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from counterfoil_spec.arguments import instance
from counterfoil_spec.dtypes import Dtype, Kind, float32
from counterfoil_spec.programs.assignments import Accumulate, Read
from counterfoil_spec.programs.nodes import PROGRAM_DTYPES
from counterfoil_spec.programs.operators import ARITY, FLOATS_ONLY
from counterfoil_spec.programs.specs import pointwise
from counterfoil_spec.refusals import refuse, shown
from counterfoil_spec.tensors.leaves import constant
from counterfoil_spec.tensors.operation import Written, draft, operation
from counterfoil_spec.tensors.rules import RULES, by_rules
from counterfoil_spec.tensors.tensor import GradSpec, Tensor, usable

_PREFERRED: Final = {dtype.name: place for place, dtype in enumerate(PROGRAM_DTYPES[i] for i in (2, 3, 0, 1))}
"""int32, int64, float32, float64: the later of the operands' dtypes is the result's."""


def apply(
    operator: str, *operands: object, label: str | None = None, grad_spec: GradSpec = GradSpec.IF_NEEDED
) -> Tensor:
    """The operator of the operands, numbers among them made constants. Its gradients: ``rules.RULES``.

    ``grad_spec``: whether it has one where no operand passes one on, or in no case. Refuses programs/operator,
    arguments/wrong-type, frontend/discarded-tensor, frontend/shapes.
    """
    if ARITY.get(operator) != len(operands):
        raise refuse("programs/operator", operator=f"{shown(operator)} of {len(operands)} operands")
    given = [operand for operand in operands if not _is_number(operand)]
    tensors = [instance("operand", operand, Tensor) for operand in given]
    usable(operator, *tensors)
    shape = broadcast(operator, [tensor.shape for tensor in tensors])
    dtype = _result(
        operator, [tensor.dtype for tensor in tensors], [number for number in operands if _is_number(number)]
    )
    made = draft(operator, shape, dtype, label)
    inputs = [operand if isinstance(operand, Tensor) else _number(operand, dtype) for operand in operands]
    nodes = [tensor.value for tensor in inputs]
    projections = pointwise(made.value, nodes)
    reads = tuple(Read(node) for node in nodes)
    own = Written(Accumulate(made.value, "arg2", operator, reads, projections))
    rules = RULES.get(operator, {})
    flows = any(inputs[position].diff is not None for position in rules)
    spec = grad_spec if flows or grad_spec is GradSpec.REQUIRE_GRAD else GradSpec.PROHIBIT_GRAD
    return operation(operator, made, inputs, own, by_rules(rules, made, inputs, projections), spec)


def broadcast(operation: str, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The shape that all of them broadcast to, as in numpy; refuses frontend/shapes."""
    extents: list[int] = []
    for axes in itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        longer = {extent for extent in axes if extent != 1}
        if len(longer) > 1:
            raise refuse("frontend/shapes", operation=operation, shapes=[tuple(shape) for shape in shapes])
        extents.append(longer.pop() if longer else 1)
    return tuple(reversed(extents))


def promoted(dtypes: Sequence[Dtype]) -> Dtype:
    """The dtype that holds them all: floats before integers, wider before narrower."""
    return max(dtypes, key=lambda dtype: _PREFERRED[dtype.name], default=float32)


def _result(operator: str, dtypes: Sequence[Dtype], numbers: Sequence[object]) -> Dtype:
    """The result's dtype: a function of floats, and a number that is no integer, make integers float32."""
    dtype = promoted(dtypes)
    floating = operator in FLOATS_ONLY or any(isinstance(number, float) for number in numbers)
    return float32 if floating and dtype.kind is not Kind.FLOAT else dtype


def _is_number(operand: object) -> bool:
    return isinstance(operand, (int, float)) and not isinstance(operand, bool)


def _number(operand: object, dtype: Dtype) -> Tensor:
    assert isinstance(operand, (int, float))
    return constant(operand, dtype=dtype)


def add(a: object, b: object) -> Tensor:
    """Their sum."""
    return apply("add", a, b)


def sub(a: object, b: object) -> Tensor:
    """Their difference."""
    return apply("sub", a, b)


def mul(a: object, b: object) -> Tensor:
    """Their product, element by element."""
    return apply("mul", a, b)


def div(a: object, b: object) -> Tensor:
    """Their quotient."""
    return apply("div", a, b)


def power(base: object, exponent: object) -> Tensor:
    """``base ** exponent``."""
    return apply("to_pow_of", base, exponent)


def neg(a: Tensor) -> Tensor:
    """Its negative."""
    return apply("neg", a)


def relu(a: Tensor) -> Tensor:
    """Its positive part."""
    return apply("relu", a)


def exp(a: Tensor) -> Tensor:
    """e to its power."""
    return apply("exp", a)


def log(a: Tensor) -> Tensor:
    """Its natural logarithm."""
    return apply("log", a)


def tanh(a: Tensor) -> Tensor:
    """Its hyperbolic tangent."""
    return apply("tanh", a)


def sin(a: Tensor) -> Tensor:
    """Its sine."""
    return apply("sin", a)


def cos(a: Tensor) -> Tensor:
    """Its cosine."""
    return apply("cos", a)


def sqrt(a: Tensor) -> Tensor:
    """Its square root."""
    return apply("sqrt", a)


def recip(a: Tensor) -> Tensor:
    """1 divided by it."""
    return apply("recip", a)


def maximum(a: object, b: object) -> Tensor:
    """The greater of two; where they are equal the gradient is the left one's."""
    return apply("max", a, b)


def minimum(a: object, b: object) -> Tensor:
    """The less of two; where they are equal the gradient is the left one's."""
    return apply("min", a, b)


def less(a: object, b: object) -> Tensor:
    """1 where a < b, else 0. Comparisons have no gradient."""
    return apply("cmplt", a, b)


def equal(a: object, b: object) -> Tensor:
    """1 where a == b, else 0."""
    return apply("cmpeq", a, b)


def where(condition: object, a: object, b: object) -> Tensor:
    """``a`` where the condition is not 0, else ``b``."""
    return apply("where", condition, a, b)


def stop_gradient(a: Tensor) -> Tensor:
    """The same values, without a gradient: nothing propagates past it.

    A tensor's backprop goes with its first consumer: where that one is cut off, other consumers are refused at run. So
    stop what a cut branch starts from, ``f(stop_gradient(a))``, rather than its result.
    """
    usable("stop_gradient", a)
    made = draft("stop_gradient", a.shape, a.dtype)
    copy = Accumulate(made.value, "arg2", "identity", (Read(a.value),), pointwise(made.value, [a.value]))
    return operation("stop_gradient", made, (a,), Written(copy), spec=GradSpec.PROHIBIT_GRAD)
