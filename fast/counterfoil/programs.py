"""Expressions as programs of the core: postfix nodes with their dtypes (kernels/expression, kernels/row)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil._native import ffi
from counterfoil.numbers import value_bits
from counterfoil_spec.dtypes import Dtype, bool_
from counterfoil_spec.expressions import Apply, Cast, Constant, Input, Node, node
from counterfoil_spec.kernels import KERNELS, Kernel
from counterfoil_spec.limits import MAX_MAP_NODES

_INPUT, _CONSTANT, _APPLY, _CAST = range(4)
_CODES = {name: code for code, name in enumerate(KERNELS)}


@dataclass(slots=True)
class _Fact:
    """What is known of a node: its value's dtype (None: of an input that was not given), its size as a tree, whether
    all its dtypes fit, how many inputs it needs, how deep its evaluation stacks."""

    dtype: Dtype | None
    size: int
    fits: bool
    inputs: int
    depth: int


class Program:
    """A program of the core, with the nodes it points to."""

    __slots__ = ("c", "nodes")

    def __init__(self, expression: Node, inputs: Sequence[Dtype], result: Dtype) -> None:
        """Refuses dtypes/value-type and dtypes/value-range for constants.

        A program of more nodes than the core evaluates is not written out: the core declines it by its size.
        """
        facts = _facts(node(expression), inputs)
        whole = facts[id(expression)]
        if whole.size <= MAX_MAP_NODES:
            rows = [_row(each, facts) for each in _postfix(expression)]
        else:
            rows = [(_CONSTANT, 0, 0, 0, 0, 0)] * (MAX_MAP_NODES + 1)
        final = result if whole.dtype is None else whole.dtype
        rows[-1] = (*rows[-1][:2], final.code, *rows[-1][3:])
        self.nodes = ffi.new("cf_node[]", rows)
        fields = (len(rows), min(whole.inputs, 1 << 30), min(whole.depth, MAX_MAP_NODES), int(whole.fits), self.nodes)
        self.c = ffi.new("cf_program *", fields)


def result_dtype(expression: Node, inputs: Sequence[Dtype]) -> Dtype:
    """The dtype of an expression's value, as far as its arguments fit: bool where nothing is known of it."""
    return _facts(expression, inputs)[id(expression)].dtype or bool_


def _arguments(each: Node) -> tuple[Node, ...]:
    if isinstance(each, Apply):
        return each.arguments
    return (each.argument,) if isinstance(each, Cast) else ()


def _facts(expression: Node, inputs: Sequence[Dtype]) -> dict[int, _Fact]:
    """The facts of every node by identity, arguments first; each shared node once, so sharing costs nothing."""
    facts: dict[int, _Fact] = {}
    waiting = [expression]
    while waiting:
        each = waiting[-1]
        missing = [argument for argument in _arguments(each) if id(argument) not in facts]
        if missing:
            waiting.extend(reversed(missing))
        else:
            waiting.pop()
            facts.setdefault(id(each), _fact(each, [facts[id(argument)] for argument in _arguments(each)], inputs))
    return facts


def _fact(each: Node, arguments: list[_Fact], inputs: Sequence[Dtype]) -> _Fact:
    match each:
        case Input():
            known = inputs[each.position] if each.position < len(inputs) else None
            return _Fact(known, 1, True, each.position + 1, 1)
        case Constant():
            value_bits(each.dtype, each.value)
            return _Fact(each.dtype, 1, True, 0, 1)
        case Cast():
            dtype, fits = each.dtype, True
        case Apply():
            dtype, fits = _typed(KERNELS[each.kernel], [argument.dtype for argument in arguments])
    return _Fact(
        dtype,
        1 + sum(argument.size for argument in arguments),
        fits and all(argument.fits for argument in arguments),
        max(argument.inputs for argument in arguments),
        max(place + argument.depth for place, argument in enumerate(arguments)),
    )


def _typed(kernel: Kernel, dtypes: list[Dtype | None]) -> tuple[Any, bool]:
    """The dtype that a kernel's row gives for its arguments', and whether they are within it."""
    condition_fits = True
    if kernel.condition:
        condition_fits = dtypes[0] is None or dtypes[0] in kernel.condition
        dtypes = dtypes[1:]
    known = [dtype for dtype in dtypes if dtype is not None]
    fits = condition_fits and len(set(known)) <= 1 and all(dtype in kernel.domain for dtype in known)
    return kernel.result or (known[0] if known else None), fits


def _postfix(expression: Node) -> list[Node]:
    order: list[Node] = []
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        order.append(each)
        waiting.extend(_arguments(each))
    return order[::-1]


def _row(each: Node, facts: dict[int, _Fact]) -> tuple[int, int, int, int, int, int]:
    """A node of the core: kind, operand, dtype, arity, and a constant's bits or the dtype its sources are read at."""
    found = facts[id(each)].dtype
    dtype = 0 if found is None else found.code
    match each:
        case Input():
            return _INPUT, min(each.position, 1 << 30), dtype, 0, 0, 0
        case Constant():
            return _CONSTANT, 0, dtype, 0, *value_bits(each.dtype, each.value)
    source = facts[id(_arguments(each)[-1])].dtype
    code = 0 if source is None else source.code
    if isinstance(each, Apply):
        return _APPLY, _CODES[each.kernel], dtype, len(each.arguments), code, 0
    return _CAST, 0, dtype, 1, code, 0
