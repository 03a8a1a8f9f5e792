"""Programs of a few nodes, what a call refuses, and what of a root's memory is live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from counterfoil_spec.programs.assignments import (
    Accumulate,
    Code,
    Constant,
    Embed,
    Fetch,
    Merge,
    Offsets,
    Read,
    block,
    in_sequence,
)
from counterfoil_spec.programs.comps import Comp, Fragment, comp
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.specs import parse, pointwise
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import Refusal

__all__ = [
    "Comp", "Fetch", "Fragment", "Intent", "Node", "Offsets", "Symbol", "add", "adding", "backprop", "chain",
    "embedded", "failing", "gradient", "live_bytes", "live_pools", "merged", "node", "number", "program", "put",
    "refusal", "resetting", "rule", "stored", "total", "zeroing",
]  # fmt: skip

PAIR = (2,)


def node(label: str, shape: Sequence[int] = PAIR, **options: Any) -> Node:
    """A node with nothing declared."""
    return Node(label, shape, **options)


def stored(label: str, shape: Sequence[int] = PAIR, **options: Any) -> Node:
    """A node that always gets a buffer."""
    made = Node(label, shape, **options)
    made.require(Intent.ON_DEVICE)
    return made


def gradient(label: str = "g", shape: Sequence[int] = PAIR) -> Node:
    """A node with a buffer whose allocation zeros are its right start."""
    made = stored(label, shape)
    made.mark_zero_valid()
    return made


def put(target: Node, operation: str, *operands: Node, by: str | None = None, symbols: Sequence[Symbol] = ()) -> Code:
    """``target = operation(operands)``, point by point or by a spec."""
    return _accumulate(target, "arg2", operation, operands, by, symbols, False)


def add(target: Node, operation: str, *operands: Node, by: str | None = None, symbols: Sequence[Symbol] = ()) -> Code:
    """``target += operation(operands)``."""
    return _accumulate(target, "add", operation, operands, by, symbols, False)


def total(target: Node, operation: str, *operands: Node, by: str, symbols: Sequence[Symbol] = ()) -> Code:
    """``target = 0 + the sum of operation(operands)``."""
    return _accumulate(target, "add", operation, operands, by, symbols, True)


def _accumulate(
    target: Node,
    accumulator: str,
    operation: str,
    operands: Sequence[Node],
    by: str | None,
    symbols: Sequence[Symbol],
    initialize: bool,
) -> Code:
    named = {symbol.label: symbol for symbol in symbols}
    projections = pointwise(target, operands) if by is None else parse(by, target, operands, named)
    return Accumulate(target, accumulator, operation, tuple(map(Read, operands)), projections, initialize)


def merged(target: Node, source: Node, accumulator: str = "arg2") -> Code:
    """``target = source.merge``, or added to it."""
    return Accumulate(target, accumulator, "identity", (Merge(source),), pointwise(target, [source]))


def number(target: Node, value: float) -> Code:
    """``target = value`` everywhere."""
    return Fetch(target, Constant(value))


def embedded(target: Node, symbol: Symbol) -> Code:
    """``target = symbol`` everywhere."""
    return Fetch(target, Embed(symbol))


def program(label: str, *code: Code, **fields: Any) -> Comp:
    """A comp of that code under a label."""
    return comp(block(label, in_sequence(*code)), **fields)


def zeroing(*gradients: Node, label: str = "zero") -> Comp:
    """Only zeroes the gradients."""
    return program(label, *(number(g, 0) for g in gradients), embedded=gradients, zeroes=gradients)


def adding(g: Node, x: Node, label: str = "add", runs: int = 1, **fields: Any) -> Comp:
    """Only accumulates into the gradient."""
    return program(label, add(g, "identity", x), embedded=[g], accumulates=[g], allowances={g: runs}, **fields)


def resetting(g: Node, x: Node, label: str = "both") -> Comp:
    """Zeroes the gradient, then accumulates into it."""
    return program(label, number(g, 0), add(g, "identity", x), embedded=[g], accumulates=[g], zeroes=[g])


def backprop(label: str, source: Node, tensor: int = -1) -> Fragment:
    """The fragment that propagates from a gradient."""
    return Fragment(tensor, "backprop", label, source)


def chain(context: Any, *comps: Comp) -> tuple[Any, list[Any]]:
    """The comps compiled each from the other's child: the last context, the routines."""
    routines = []
    for each in comps:
        context, routine = context.compile(each)
        routines.append(routine)
    return context, routines


def refusal(call: Callable[[], object]) -> Refusal:
    """What the call refuses; AssertionError if it returns."""
    try:
        call()
    except Refusal as refused:
        return refused
    raise AssertionError("nothing was refused")


def rule(call: Callable[[], object]) -> str | None:
    """The rule that the call refuses, None where it returns."""
    try:
        call()
    except Refusal as refused:
        return refused.rule
    return None


@contextmanager
def failing(cf: Any, seam: str, at: int = 1) -> Iterator[None]:
    """Raise RuntimeError("injected") the ``at``-th time the seam is passed inside the block."""
    left = at

    def callback(passed: str) -> None:
        nonlocal left
        if passed == seam:
            left -= 1
            if left == 0:
                raise RuntimeError("injected")

    cf.inspection.inject(callback)
    try:
        yield
    finally:
        cf.inspection.inject(None)


def live_pools(cf: Any) -> int:
    """Live pools of both kinds."""
    counts = cf.inspection.census()
    return int(counts["working_pools"] + counts["constant_pools"])


def live_bytes(cf: Any) -> int:
    """Bytes of live pools of both kinds."""
    counts = cf.inspection.census()
    return int(counts["working_bytes"] + counts["constant_bytes"])
