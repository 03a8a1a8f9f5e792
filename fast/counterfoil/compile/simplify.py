"""Scalars made smaller without changing a bit of what they give (N1).

``x + 0`` is kept for floats (it turns -0 into 0); sums and products of constants are left to the C compiler, which
rounds them as the machine would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Iterator as Walk
from typing import Final

from counterfoil.compile.literals import is_float, stored
from counterfoil.compile.rewrite import in_statement, replaced
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Local,
    LocalValue,
    Loop,
    Number,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
)

UNROLLED: Final = 4
"""The longest loop of a scope that is written out."""

_POWERS: Final[dict[float, Callable[[Scalar], Scalar]]] = {
    1: lambda x: x,
    2: lambda x: Apply("mul", (x, x)),
    3: lambda x: Apply("mul", (x, Apply("mul", (x, x)))),
    -1: lambda x: Apply("recip", (x,)),
}
"""Whole powers: one rounding each (two for the cube, within the bounds of pow)."""


def simplified(value: Scalar, dtype: Dtype) -> Scalar:
    """The scalar, computed in a dtype, without operations that change nothing."""
    match value:
        case Apply(operator, arguments):
            return _applied(operator, tuple(simplified(argument, dtype) for argument in arguments), dtype)
        case Scope(local, body):
            return _scope(local, tuple(_unrolled(simplified_statement(statement) for statement in body)), dtype)
    return value


def simplified_statement(statement: Statement) -> Statement:
    """The statement with its values simplified."""
    match statement:
        case Store(node, index, value):
            return Store(node, index, simplified(value, node.dtype))
        case SetLocal(local, value):
            return SetLocal(local, simplified(value, local.dtype))
        case Loop(iterator, extent, body):
            return Loop(iterator, extent, tuple(simplified_statement(inner) for inner in body))
        case If(left, right, body):
            return If(left, right, tuple(simplified_statement(inner) for inner in body))
    return statement


def _unrolled(body: Iterable[Statement]) -> Walk[Statement]:
    """The statements of a scope, short loops written out: what is left is straight code, which vectorises."""
    for statement in body:
        if isinstance(statement, Loop) and isinstance(statement.extent, int) and statement.extent <= UNROLLED:
            inner = tuple(_unrolled(statement.body))
            for value in range(statement.extent):
                yield from (in_statement(each, replaced({statement.iterator: value})) for each in inner)
        else:
            yield statement


def type_of(value: Scalar) -> Dtype | None:
    """The dtype a scalar has before it is converted; None for one that takes the dtype around it."""
    match value:
        case Load(node, _) | LoadMerge(node, _):
            return node.dtype
        case LocalValue(local) | Scope(local, _):
            return local.dtype
    return None


def _applied(operator: str, arguments: tuple[Scalar, ...], dtype: Dtype) -> Scalar:
    constants = [stored(each.value, dtype) if isinstance(each, Number) else None for each in arguments]
    match operator:
        case "identity" | "arg1":
            return arguments[0]
        case "arg2":
            return arguments[1]
        case "mul" if constants[0] == 1:
            return arguments[1]
        case "mul" | "div" if constants[1] == 1:
            return arguments[0]
        case "sub" if constants[1] == 0 and not _is_negative_zero(constants[1]):
            return arguments[0]
        case "add" if not is_float(dtype) and constants[0] == 0:
            return arguments[1]
        case "add" if not is_float(dtype) and constants[1] == 0:
            return arguments[0]
        case "trunc" if not is_float(dtype):
            return arguments[0]
        case "to_pow_of" if is_float(dtype) and _is_cheap(arguments[0]) and (constants[1] or 0) in _POWERS:
            assert constants[1] is not None
            return _POWERS[constants[1]](arguments[0])
        case "where" if constants[0] is not None:
            return arguments[1] if constants[0] != 0 else arguments[2]
    return Apply(operator, arguments)


def _scope(local: Local, body: tuple[Statement, ...], dtype: Dtype) -> Scalar:
    """A local set once is the value it is set to, where no conversion lies between."""
    if len(body) == 1 and isinstance(body[0], SetLocal) and body[0].local is local:
        value = body[0].value
        if isinstance(value, Number):
            return Number(stored(value.value, local.dtype))
        if type_of(value) is local.dtype or local.dtype is dtype:
            return value
    return Scope(local, body)


def _is_cheap(value: Scalar) -> bool:
    return isinstance(value, (Load, LoadMerge, LocalValue))


def _is_negative_zero(value: float | None) -> bool:
    return value is not None and str(value) == "-0.0"
