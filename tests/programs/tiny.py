"""A second reading of assignments, in numpy's scalars: every node a buffer, every point in order, nothing inlined."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.programs.assignments import (
    Accumulate,
    Assignment,
    Constant,
    Embed,
    Fetch,
    Fill,
    Merge,
    Offsets,
    Row,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import NEUTRAL
from counterfoil_spec.programs.projections import Affine
from counterfoil_spec.programs.symbols import Symbol

Arrays = dict[Node, np.ndarray]


def evaluate(steps: Sequence[Assignment], arrays: Arrays, bindings: Mapping[Symbol, int], merged: Any) -> None:
    """Carry the assignments out on padded arrays, in place."""
    with np.errstate(all="ignore"):
        for step in steps:
            if isinstance(step, Fetch):
                _fetch(step, arrays, bindings)
            else:
                _accumulate(step, arrays, bindings, merged)


def _array(node: Node, arrays: Arrays, bindings: Mapping[Symbol, int]) -> np.ndarray:
    """A node's array; of a slice view, the row of its parent, in place."""
    if node.slice_of is None:
        return arrays[node]
    parent, symbol = node.slice_of
    return arrays[parent][bindings[symbol], ...]


def _inside(node: Node, index: Sequence[int]) -> tuple[int, ...]:
    return tuple(entry + left for entry, (left, _) in zip(index, node.padding, strict=True))


def _indices(node: Node) -> Any:
    return itertools.product(*map(range, node.shape))


def _fetch(step: Fetch, arrays: Arrays, bindings: Mapping[Symbol, int]) -> None:
    node = step.target
    into = _array(node, arrays, bindings)
    for place, index in enumerate(_indices(node)):
        match step.definition:
            case Constant(value):
                found: Any = value
            case Fill(values):
                found = values[place]
            case Offsets():
                found = place
            case Embed(symbol):
                found = bindings[symbol]
            case Row(parent, symbol):
                found = _array(parent, arrays, bindings)[_inside(parent, (bindings[symbol], *index))]
        into[_inside(node, index)] = cast(found, node.dtype)


def _value(entry: Affine, at: Mapping[Any, int]) -> int:
    return entry.offset + sum(factor * at[variable] for factor, variable in entry.terms)


def _accumulate(step: Accumulate, arrays: Arrays, bindings: Mapping[Symbol, int], merged: Any) -> None:
    node, projections = step.target, step.projections
    into = _array(node, arrays, bindings)
    if step.initialize:
        for index in _indices(node):
            into[_inside(node, index)] = cast(NEUTRAL[step.accumulator], node.dtype)
    extents = [extent if isinstance(extent, int) else bindings[extent] for _, extent in projections.product]
    for point in itertools.product(*map(range, extents)):
        at = {**bindings, **{loop: value for (loop, _), value in zip(projections.product, point, strict=True)}}
        where = _inside(node, [_value(entry, at) for entry in projections.target])
        operands: list[Any] = []
        for operand, index in zip(step.operands, projections.operands, strict=True):
            kept = step.operation not in ("arg1", "arg2") or len(operands) == (step.operation == "arg2")
            source = merged if isinstance(operand, Merge) else _array(operand.node, arrays, bindings)
            place = _inside(operand.node, [_value(entry, at) for entry in index])
            operands.append(cast(source[place], node.dtype) if kept else None)
        found = operate(step.operation, operands, node.dtype)
        into[where] = operate(step.accumulator, [into[where], found], node.dtype)


def cast(value: Any, dtype: Dtype) -> Any:
    """A number in a dtype: rounded, wrapped, or truncated and saturated with NaN 0."""
    scalar = np.dtype(dtype.name).type
    if dtype.float_format is not None:
        return scalar(value)
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return scalar(0)
        limits = np.iinfo(scalar)
        return scalar(min(max(int(value), limits.min), limits.max) if np.isfinite(value) else
                      limits.max if value > 0 else limits.min)  # fmt: skip
    return wrap(int(value), dtype)


def wrap(value: int, dtype: Dtype) -> Any:
    """An integer modulo the width."""
    half = 1 << dtype.bits - 1
    return np.dtype(dtype.name).type((value + half) % (2 * half) - half)


def operate(name: str, x: Sequence[Any], dtype: Dtype) -> Any:
    """An operator on scalars of one dtype, as numpy or plain arithmetic has it."""
    if name in _COMMON:
        return cast(_COMMON[name](*x), dtype)
    if dtype.float_format is None:
        return wrap(int(_INTEGER[name](*map(int, x))), dtype)
    return np.dtype(dtype.name).type(_FLOAT[name](*x))


def _quotient(x: int, y: int) -> int:
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


_COMMON: dict[str, Callable[..., Any]] = {
    "identity": lambda x: x, "arg1": lambda x, y: x, "arg2": lambda x, y: y, "not": lambda x: int(x == 0),
    "relu": lambda x: x if x > 0 else 0, "satur01": lambda x: 0 if not x > 0 else 1 if x > 1 else x,
    "relu_gate": lambda a, b: b if a > 0 else 0, "satur01_gate": lambda a, b: b if 0 < a < 1 else 0,
    "cmplt": lambda x, y: int(x < y), "cmpeq": lambda x, y: int(x == y), "or": lambda x, y: int(x != 0 or y != 0),
    "and": lambda x, y: int(x != 0 and y != 0), "where": lambda a, b, c: b if a != 0 else c,
}  # fmt: skip

_INTEGER: dict[str, Callable[..., int]] = {
    "neg": lambda x: -x, "trunc": lambda x: x, "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y, "max": max, "min": min, "fma": lambda x, y, z: x * y + z, "div": _quotient,
    "mod": lambda x, y: x - y * _quotient(x, y),
}  # fmt: skip

_FLOAT: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "trunc": np.trunc, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "max": lambda x, y: np.maximum(x, y) if x != y else x if np.signbit(y) else y,
    "min": lambda x, y: np.minimum(x, y) if x != y else y if np.signbit(y) else x,
    "mod": np.fmod, "sqrt": np.sqrt, "recip": lambda x: type(x)(1) / x, "mul3": lambda x, y, z: x * y * z,
    "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
