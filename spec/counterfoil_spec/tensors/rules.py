"""Local gradient rules, and how they become assignments over an operation's own loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Read, in_sequence
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Index, Projections, affine, at, greatest_extent
from counterfoil_spec.tensors.operation import Draft, Gradients, Written
from counterfoil_spec.tensors.tensor import Tensor

Expression = str | int | float | tuple[object, ...]
"""``"g"``: the operation's gradient; ``"v"``: its value; an int: that operand's value; a float: that number; a tuple:
an operator of its other entries."""

Rule = tuple[str, Expression]
"""An accumulator and what it adds into an operand's gradient."""

_G: Final[Rule] = ("add", ("identity", "g"))
_MINUS_G: Final[Rule] = ("sub", ("identity", "g"))
_LN2: Final = math.log(2.0)

RULES: Final[dict[str, dict[int, Rule]]] = {
    "identity": {0: _G},
    "neg": {0: _MINUS_G},
    "relu": {0: ("add", ("relu_gate", 0, "g"))},
    "satur01": {0: ("add", ("satur01_gate", 0, "g"))},
    "exp": {0: ("add", ("mul", "g", "v"))},
    "log": {0: ("add", ("div", "g", 0))},
    "exp2": {0: ("add", ("mul3", "g", "v", _LN2))},
    "log2": {0: ("add", ("div", "g", ("mul", 0, _LN2)))},
    "sin": {0: ("add", ("mul", "g", ("cos", 0)))},
    "cos": {0: ("sub", ("mul", "g", ("sin", 0)))},
    "sqrt": {0: ("add", ("div", "g", ("mul", 2.0, "v")))},
    "recip": {0: ("sub", ("mul3", "g", "v", "v"))},
    "recip_sqrt": {0: ("sub", ("mul3", "g", ("mul3", "v", "v", "v"), 0.5))},
    "tanh": {0: ("add", ("mul", "g", ("sub", 1.0, ("mul", "v", "v"))))},
    "add": {0: _G, 1: _G},
    "sub": {0: _G, 1: _MINUS_G},
    "mul": {0: ("add", ("mul", "g", 1)), 1: ("add", ("mul", 0, "g"))},
    "div": {0: ("add", ("div", "g", 1)), 1: ("sub", ("mul", "g", ("div", "v", 1)))},
    "to_pow_of": {
        0: ("add", ("mul3", 1, ("to_pow_of", 0, ("sub", 1, 1.0)), "g")),
        1: ("add", ("mul3", "g", "v", ("log", 0))),
    },
    "relu_gate": {1: ("add", ("relu_gate", 0, "g"))},
    "satur01_gate": {1: ("add", ("satur01_gate", 0, "g"))},
    "max": {
        0: ("add", ("where", ("cmplt", 0, 1), 0.0, "g")),
        1: ("add", ("where", ("cmplt", 0, 1), "g", 0.0)),
    },
    "min": {
        0: ("add", ("where", ("cmplt", 1, 0), 0.0, "g")),
        1: ("add", ("where", ("cmplt", 1, 0), "g", 0.0)),
    },
    "mod": {0: _G, 1: ("sub", ("mul", "g", ("trunc", ("div", 0, 1))))},
    "where": {1: ("add", ("where", 0, "g", 0.0)), 2: ("add", ("where", 0, 0.0, "g"))},
    "fma": {0: ("add", ("mul", "g", 1)), 1: ("add", ("mul", 0, "g")), 2: _G},
    "mul3": {
        0: ("add", ("mul3", "g", 1, 2)),
        1: ("add", ("mul3", 0, "g", 2)),
        2: ("add", ("mul3", 0, 1, "g")),
    },
}
"""By operator and operand. Where max and min are even, the left operand's gradient gets all of it. Operators and
operands that are not here propagate nothing: comparisons, ``trunc``, logic, conditions."""


def over_margins(index: Index, node: Node) -> Index:
    """An index into a value as the index into its gradient, which has the margins as elements of its own."""
    return tuple(affine(axis.terms, axis.offset + left) for axis, (left, _) in zip(index, node.padding, strict=True))


@dataclass
class Expansion:
    """Assignments over an operation's loops that compute expressions; inner ones in nodes of the product's shape."""

    made: Draft
    operands: Sequence[Node]
    projections: Projections
    grad: Node
    code: list[Assignment] = field(default_factory=list)
    embedded: list[Node] = field(default_factory=list)
    numbers: dict[float, Node] = field(default_factory=dict)

    def accumulate(
        self, target: Node, index: Index, accumulator: str, expression: Expression, *, initialize: bool = False
    ) -> None:
        """``target[index] accumulator= expression``, at every point of the loops."""
        assert isinstance(expression, tuple)
        operator, *arguments = expression
        given = [self._operand(argument) for argument in arguments]
        projections = Projections(self.projections.product, index, tuple(place for _, place in given))
        reads = tuple(Read(node) for node, _ in given)
        self.code.append(Accumulate(target, accumulator, str(operator), reads, projections, initialize))

    def _operand(self, expression: object) -> tuple[Node, Index]:
        match expression:
            case "g":
                return self.grad, over_margins(self.projections.target, self.made.value)
            case "v":
                return self.made.value, self.projections.target
            case float():
                return self._number(expression), ()
            case int():
                return self.operands[expression], self.projections.operands[expression]
        return self._step(expression)

    def _number(self, value: float) -> Node:
        if value not in self.numbers:
            node = self._node(f"{value:g}", ())
            self.numbers[value] = node
            self.code.append(Fetch(node, Constant(value)))
        return self.numbers[value]

    def _step(self, expression: object) -> tuple[Node, Index]:
        loops = self.projections.product
        node = self._node(f"{self.grad.label}.{len(self.embedded)}", [greatest_extent(extent) for _, extent in loops])
        index = tuple(at(loop) for loop, _ in loops)
        assert isinstance(expression, tuple)
        self.accumulate(node, index, "arg2", expression)
        return node, index

    def _node(self, label: str, shape: Sequence[int]) -> Node:
        node = self.made.session.node(label, shape, self.grad.dtype)
        self.embedded.append(node)
        return node

    def written(self) -> Written:
        """The code so far."""
        return Written(in_sequence(*self.code), tuple(self.embedded))


def by_rules(rules: Mapping[int, Rule], made: Draft, operands: Sequence[Tensor], projections: Projections) -> Gradients:
    """The additions that the rules say, for each operand that has a gradient, in the order of the operands."""

    def gradients(grad: Node) -> Written:
        expansion = Expansion(made, [operand.value for operand in operands], projections, grad)
        for position, (accumulator, expression) in sorted(rules.items()):
            operand = operands[position]
            if operand.diff is not None:
                index = over_margins(projections.operands[position], operand.value)
                expansion.accumulate(operand.diff.grad, index, accumulator, expression)
        return expansion.written()

    return gradients
