"""Words of programs refuse arguments that are none, where they are made."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from counterfoil_spec.programs.assignments import (
    Accumulate,
    Constant,
    Embed,
    Fetch,
    Fill,
    Offsets,
    Read,
    Row,
    Sequence,
    block,
    in_sequence,
)
from counterfoil_spec.programs.comps import Comp, comp, sequence
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.projections import Projections, at
from counterfoil_spec.programs.specs import parse, pointwise
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import Refusal


class Hostile:
    """Raises whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("hostile")

    def __iter__(self) -> Any:
        raise RuntimeError("hostile")

    def __index__(self) -> int:
        raise RuntimeError("hostile")

    def __float__(self) -> float:
        raise RuntimeError("hostile")


STRANGERS: dict[str, Any] = {
    "int": 5, "huge": 2**200, "float": 1.5, "text": "a", "surrogate": "\ud800", "bytes": b"a", "list": [1],
    "dict": {1: 2}, "type": int, "hostile": Hostile(),
}  # fmt: skip

X = Node("x", (4,))
MAKERS: dict[str, Callable[[Any], object]] = {
    "a node's literal": lambda value: Node("n", (4,), literal=value),
    "a node's padding": lambda value: Node("n", (4,), padding=value),
    "a node's slice": lambda value: Node("n", (), slice_of=value),
    "an intent": lambda value: Node("n", (4,)).require(value),
    "an operand": Read,
    "a fill": Fill,
    "an embedded symbol": Embed,
    "a row's parent": lambda value: Row(value, Symbol("s")),
    "a row's symbol": lambda value: Row(X, value),
    "a fetch's target": lambda value: Fetch(value, Offsets()),
    "a definition": lambda value: Fetch(X, value),
    "an accumulation's target": lambda value: Accumulate(value, "add", "identity", (Read(X),), pointwise(X, [X])),
    "an accumulator": lambda value: Accumulate(X, value, "identity", (Read(X),), pointwise(X, [X])),
    "an operation": lambda value: Accumulate(X, "add", value, (Read(X),), pointwise(X, [X])),
    "operands": lambda value: Accumulate(X, "add", "identity", value, pointwise(X, [X])),
    "projections": lambda value: Accumulate(X, "add", "identity", (Read(X),), value),
    "a product": lambda value: Projections(value, (), ()),
    "a target's index": lambda value: Projections((), value, ()),
    "operands' indices": lambda value: Projections((), (), value),
    "a block's code": lambda value: block("b", value),
    "a part": lambda value: in_sequence(value, value),
    "parts": Sequence,
    "a pointwise target": lambda value: pointwise(value, [X]),
    "pointwise operands": lambda value: pointwise(X, [value]),
    "a parsed operand": lambda value: parse("i -> i", X, [value]),
    "a comp's code": comp,
    "a comp's code, made directly": Comp,
    "what a comp embeds": lambda value: comp(embedded=value),
    "what a comp owns": lambda value: comp(owned=value),
    "what a comp accumulates": lambda value: comp(accumulates=[value]),
    "what a comp zeroes": lambda value: comp(zeroes=[value]),
    "what a comp requires": lambda value: comp(requires=[value]),
    "allowances": lambda value: comp(allowances=value),
    "comps": sequence,
}


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_stranger_is_refused(maker: str, stranger: str) -> None:
    """Never an exception of Python's own."""
    with pytest.raises(Refusal):
        MAKERS[maker](STRANGERS[stranger])


@pytest.mark.parametrize("value", ["x", None, 1j, [1.0]])
def test_a_constant_is_a_number(value: Any) -> None:
    """Numbers are ints, floats and bools."""
    with pytest.raises(Refusal) as refused:
        Constant(value)
    assert refused.value.rule == "arguments/wrong-type"


def test_an_extent_has_a_bound() -> None:
    """A loop as far as a symbol without a range would have no largest buffer."""
    loop = Iterator("i")
    with pytest.raises(Refusal) as refused:
        Projections(((loop, Symbol("n")),), (at(loop),), ())
    assert refused.value.rule == "programs/bound"


def test_every_iterator_has_one_loop() -> None:
    """An index over an iterator without a loop, or a loop twice, means nothing."""
    loop = Iterator("i")
    for product in ((), ((loop, 2), (loop, 3))):
        with pytest.raises(Refusal) as refused:
            Projections(product, (at(loop),), ())
        assert refused.value.rule == "programs/spec"


def test_a_symbol_holds_integers_and_keeps_its_range() -> None:
    """What is assigned is looked at where it is assigned; what was declared stays."""
    symbol = Symbol("s", 4)
    symbol.value = 3
    for value in ("a", 1.5, True, Hostile()):
        with pytest.raises(Refusal) as refused:
            symbol.value = value  # type: ignore[assignment]
        assert refused.value.rule == "arguments/not-integer"
    assert symbol.value == 3
    with pytest.raises(AttributeError):
        symbol.bound = 100


def test_a_node_keeps_what_it_is() -> None:
    """Routines are compiled for its dtype and extents."""
    node = Node("n", (4,))
    node.require(Intent.ON_DEVICE)
    for name in ("shape", "dtype", "padding", "literal", "label", "uid"):
        with pytest.raises(AttributeError):
            setattr(node, name, getattr(node, name))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nodes_and_symbols_are_not_copied(duplicate: Callable[[object], object]) -> None:
    """Two nodes of one uid would be one argument of a routine."""
    for it in (X, Symbol("s")):
        with pytest.raises(TypeError):
            duplicate(it)


def test_an_allowance_is_a_count() -> None:
    """It fits the counts it is compared with."""
    for runs in (-1, 2**64):
        with pytest.raises(Refusal) as refused:
            comp(accumulates=[X], allowances={X: runs})
        assert refused.value.rule == "arguments/integer-range"


def test_a_margin_past_every_float_is_infinite() -> None:
    """It is stored by the rule of numbers."""
    assert Node("n", (1,), margin=10**400).margin == float("inf")
