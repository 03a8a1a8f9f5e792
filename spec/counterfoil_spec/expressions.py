"""Expressions that ``map`` evaluates at every index, each node rounded once to its dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import ARITIES, KERNELS, MAP_KERNELS
from counterfoil_spec.refusals import refuse, shown
from counterfoil_spec.values import exact


@dataclass(frozen=True, init=False, slots=True)
class Input:
    """The element of input ``position`` (0-based, in ``map``'s inputs)."""

    position: int

    def __init__(self, position: int) -> None:
        object.__setattr__(self, "position", integer("position", position))
        if self.position < 0:
            raise refuse("kernels/expression", why=f"input {shown(self.position)} is below 0")


@dataclass(frozen=True, init=False, slots=True)
class Constant:
    """A value stored at a dtype (A12's value rules, checked by the half that evaluates)."""

    dtype: Dtype
    value: object

    def __init__(self, dtype: Dtype, value: object) -> None:
        object.__setattr__(self, "dtype", instance("dtype", dtype, Dtype))
        object.__setattr__(self, "value", value)


@dataclass(frozen=True, init=False, slots=True)
class Apply:
    """A pointwise kernel of the table applied to nodes; dtypes as in its row, else Wrong_dtype."""

    kernel: str
    arguments: tuple[Node, ...]

    def __init__(self, kernel: str, *arguments: Node) -> None:
        name = exact(kernel)
        if not isinstance(name, str) or name not in MAP_KERNELS:
            raise refuse("kernels/expression", why=f"{shown(kernel)} is no pointwise kernel")
        wanted = ARITIES[KERNELS[name].family]
        if len(arguments) != wanted:
            raise refuse("kernels/expression", why=f"{name} takes {wanted} arguments, not {len(arguments)}")
        object.__setattr__(self, "kernel", name)
        object.__setattr__(self, "arguments", tuple(node(argument) for argument in arguments))


@dataclass(frozen=True, init=False, slots=True)
class Cast:
    """A node converted to a dtype, as the cast kernel converts."""

    dtype: Dtype
    argument: Node

    def __init__(self, dtype: Dtype, argument: Node) -> None:
        object.__setattr__(self, "dtype", instance("dtype", dtype, Dtype))
        object.__setattr__(self, "argument", node(argument))


Node = Input | Constant | Apply | Cast


def node(value: object) -> Node:
    """``value`` if it is a node; refuses kernels/expression."""
    if issubclass(type(value), (Input, Constant, Apply, Cast)):
        return cast(Node, value)
    raise refuse("kernels/expression", why=f"{shown(value)} is no node")
