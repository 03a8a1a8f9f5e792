"""Drawing expressions for ``map``: good ones of a few nodes, and ones with a fault."""

from __future__ import annotations

from typing import Any

from counterfoil_oracles.machines import values
from counterfoil_oracles.machines.choices import Chooser, chance, pick
from counterfoil_spec.dtypes import Dtype, bool_
from counterfoil_spec.kernels import ARITIES, KERNELS, MAP_KERNELS, Family

Expression = dict[str, Any]


def expression(chooser: Chooser, dtype: Dtype) -> tuple[Expression, Dtype, list[Dtype]]:
    """An expression over inputs of ``dtype``, the dtype of its result, and the dtypes of its inputs."""
    inputs = [dtype] * chooser.integer(1, 3)
    if chance(chooser, 25):
        inputs.append(bool_)
    found, result = _node(chooser, dtype, inputs, 3)
    return found, result, inputs


def _node(chooser: Chooser, dtype: Dtype, inputs: list[Dtype], depth: int) -> tuple[Expression, Dtype]:
    """A node of that dtype, or of bool where it compares; (node, its dtype)."""
    if depth == 0 or chance(chooser, 25):
        return _leaf(chooser, dtype, inputs), dtype
    if chance(chooser, 12):
        target = pick(chooser, Dtype.all)
        argument, _ = _node(chooser, dtype, inputs, 0)
        return {"cast": dtype.name, "to": {"cast": target.name, "to": argument}}, dtype
    names = sorted(name for name in MAP_KERNELS if dtype in KERNELS[name].domain)
    kernel = KERNELS[pick(chooser, names)]
    if kernel.family is Family.COMPARE and depth < 3:
        kernel = KERNELS["where"]
    arguments = [
        _node(chooser, dtype, inputs, depth - 1 if at == 0 else chooser.integer(0, 1))[0]
        for at in range(ARITIES[kernel.family])
    ]
    if kernel.family is Family.WHERE:
        arguments[0] = _condition(inputs, arguments[1:])
    return {"apply": kernel.name, "to": arguments}, kernel.result or dtype


def _leaf(chooser: Chooser, dtype: Dtype, inputs: list[Dtype]) -> Expression:
    if chance(chooser, 20):
        return {"constant": values.value(chooser, dtype), "dtype": dtype.name}
    return {"input": pick(chooser, [at for at, found in enumerate(inputs) if found is dtype])}


def _condition(inputs: list[Dtype], compared: list[Expression]) -> Expression:
    if inputs[-1] is bool_:
        return {"input": len(inputs) - 1}
    return {"apply": "less", "to": compared}


def chain(kernel: str, count: int) -> Expression:
    """``count`` applications of a unary kernel to input 0: ``count`` + 1 nodes."""
    found: Expression = {"input": 0}
    for _ in range(count):
        found = {"apply": kernel, "to": [found]}
    return found


def wrong(chooser: Chooser, good: Expression) -> Any:
    """The expression with a fault: malformed, of a foreign dtype, or reading an input that is not there."""
    return pick(
        chooser,
        (
            {"input": 7},
            {"input": -1},
            {"apply": "sum", "to": [good]},
            {"apply": "add", "to": [good]},
            {"apply": "bitwise_and", "to": [good, {"constant": 1.5, "dtype": "float64"}]},
            {"constant": True, "dtype": "int8"},
            {"constant": 300, "dtype": "int8"},
            {"cast": "bool", "to": {"odd": "none"}},
            {"cast": "complex64", "to": good},
            {"odd": "text"},
        ),
    )
