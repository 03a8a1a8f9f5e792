"""The operators and methods of tensors: short spellings of the package's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from counterfoil_spec.tensors.tensor import Tensor

Axes = int | Sequence[int] | None
"""One axis, several, or all of them; negative ones count from the end."""


class Operators:
    """Numbers among the operands become constants. Shapes broadcast as in numpy; ``@`` is numpy's matmul."""

    def __add__(self, other: object) -> Tensor:
        return _apply("add", self, other)

    def __radd__(self, other: object) -> Tensor:
        return _apply("add", other, self)

    def __sub__(self, other: object) -> Tensor:
        return _apply("sub", self, other)

    def __rsub__(self, other: object) -> Tensor:
        return _apply("sub", other, self)

    def __mul__(self, other: object) -> Tensor:
        return _apply("mul", self, other)

    def __rmul__(self, other: object) -> Tensor:
        return _apply("mul", other, self)

    def __truediv__(self, other: object) -> Tensor:
        return _apply("div", self, other)

    def __rtruediv__(self, other: object) -> Tensor:
        return _apply("div", other, self)

    def __pow__(self, exponent: object) -> Tensor:
        return _apply("to_pow_of", self, exponent)

    def __neg__(self) -> Tensor:
        return _apply("neg", self)

    def __matmul__(self, other: Tensor) -> Tensor:
        from counterfoil_spec.tensors.contractions import matmul

        return matmul(_tensor(self), other)

    def relu(self) -> Tensor:
        """Its positive part."""
        return _apply("relu", self)

    def exp(self) -> Tensor:
        """e to its power."""
        return _apply("exp", self)

    def log(self) -> Tensor:
        """Its natural logarithm."""
        return _apply("log", self)

    def tanh(self) -> Tensor:
        """Its hyperbolic tangent."""
        return _apply("tanh", self)

    def sqrt(self) -> Tensor:
        """Its square root."""
        return _apply("sqrt", self)

    def recip(self) -> Tensor:
        """1 divided by it."""
        return _apply("recip", self)

    def sum(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        """``reductions.sum``."""
        return _reduce("sum", self, axes, keepdims)

    def mean(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        """``reductions.mean``."""
        return _reduce("mean", self, axes, keepdims)

    def max(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        """``reductions.max``."""
        return _reduce("max", self, axes, keepdims)

    def min(self, axes: Axes = None, keepdims: bool = False) -> Tensor:
        """``reductions.min``."""
        return _reduce("min", self, axes, keepdims)

    def softmax(self, axis: int = -1) -> Tensor:
        """``networks.softmax``."""
        from counterfoil_spec.tensors.networks import softmax

        return softmax(_tensor(self), axis)

    def log_softmax(self, axis: int = -1) -> Tensor:
        """``networks.log_softmax``."""
        from counterfoil_spec.tensors.networks import log_softmax

        return log_softmax(_tensor(self), axis)

    def transpose(self, *axes: int) -> Tensor:
        """``contractions.transpose``."""
        from counterfoil_spec.tensors.contractions import transpose

        return transpose(_tensor(self), axes or None)


def _tensor(operators: Operators) -> Tensor:
    return cast("Tensor", operators)


def _apply(operator: str, *operands: object) -> Tensor:
    from counterfoil_spec.tensors.elementwise import apply

    return apply(operator, *operands)


def _reduce(name: str, tensor: object, axes: Axes, keepdims: bool) -> Tensor:
    from counterfoil_spec.tensors import reductions

    made: Tensor = getattr(reductions, name)(tensor, axes, keepdims)
    return made
