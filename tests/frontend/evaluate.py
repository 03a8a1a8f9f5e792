"""Programs run on exact numbers that carry a derivative: forward mode, against which backprop is held."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from counterfoil_spec.programs.assignments import (
    Accumulate,
    Assignment,
    Code,
    Constant,
    Embed,
    Fetch,
    Fill,
    Merge,
    Row,
    leaves,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import NEUTRAL
from counterfoil_spec.programs.projections import Affine, Index
from counterfoil_spec.programs.symbols import Iterator as Loop
from counterfoil_spec.programs.symbols import Symbol


@dataclass(frozen=True)
class Dual:
    """``value + slope * e`` with ``e * e == 0``; rationals until a transcendental function makes them floats."""

    value: Fraction | float
    slope: Fraction | float = Fraction(0)


Number = Fraction | float
Position = tuple[int, ...]


def exact(value: float) -> Dual:
    """A number as a dual; infinities stay floats."""
    return Dual(Fraction(value) if math.isfinite(value) else value)


class Store:
    """The elements of nodes by position; a node not written yet is zeros, its margins what it declares."""

    def __init__(self) -> None:
        self.elements: dict[Node, dict[Position, Dual]] = {}
        self.symbols: dict[Symbol, int] = {}

    def put(self, node: Node, values: Sequence[float | Dual]) -> None:
        """Set every element, in C order."""
        given = [value if isinstance(value, Dual) else exact(value) for value in values]
        self.elements[node] = dict(zip(positions(node.shape), given, strict=True))

    def get(self, node: Node) -> list[Dual]:
        """Every element, in C order."""
        return [self.read(node, position) for position in positions(node.shape)]

    def values(self, node: Node) -> list[Number]:
        """Every element's value, in C order."""
        return [element.value for element in self.get(node)]

    def read(self, node: Node, position: Position) -> Dual:
        """One element; past the margins is an error."""
        if node.slice_of is not None:
            parent, symbol = node.slice_of
            return self.read(parent, (self.symbols[symbol], *position))
        extents = zip(position, node.shape, node.padding, strict=True)
        assert all(-left <= at < extent + right for at, extent, (left, right) in extents), (node, position)
        inside = all(0 <= at < extent for at, extent in zip(position, node.shape, strict=True))
        return self.elements.get(node, {}).get(position, Dual(Fraction(0))) if inside else exact(node.margin)

    def write(self, node: Node, position: Position, value: Dual) -> None:
        """Set one element; outside the shape is an error."""
        assert all(0 <= at < extent for at, extent in zip(position, node.shape, strict=True)), (node, position)
        self.elements.setdefault(node, {})[position] = value

    def run(self, code: Code) -> None:
        """Execute the code's assignments in order."""
        for leaf in leaves(code):
            self._execute(leaf)

    def _execute(self, leaf: Assignment) -> None:
        if isinstance(leaf, Fetch):
            self._fetch(leaf)
            return
        if leaf.initialize:
            self.put(leaf.target, [NEUTRAL[leaf.accumulator]] * leaf.target.size)
        for point in self._points(leaf):
            self._accumulate(leaf, point)

    def _points(self, leaf: Accumulate) -> Iterator[Mapping[Loop | Symbol, int]]:
        loops = [loop for loop, _ in leaf.projections.product]
        extents = [
            extent if isinstance(extent, int) else self.symbols[extent] for _, extent in leaf.projections.product
        ]
        for at in itertools.product(*map(range, extents)):
            yield {**dict(zip(loops, at, strict=True)), **self.symbols}

    def _accumulate(self, leaf: Accumulate, point: Mapping[Loop | Symbol, int]) -> None:
        arguments = []
        for operand, index in zip(leaf.operands, leaf.projections.operands, strict=True):
            assert not isinstance(operand, Merge)
            arguments.append(self.read(operand.node, _position(index, point)))
        target = _position(leaf.projections.target, point)
        result = FUNCTIONS[leaf.operation](*arguments)
        if leaf.accumulator != "arg2":
            result = FUNCTIONS[leaf.accumulator](self.read(leaf.target, target), result)
        self.write(leaf.target, target, result)

    def _fetch(self, leaf: Fetch) -> None:
        node = leaf.target
        match leaf.definition:
            case Constant(value):
                self.put(node, [value] * node.size)
            case Fill(values):
                self.put(node, values)
            case Embed(symbol):
                self.put(node, [self.symbols[symbol]] * node.size)
            case Row(parent, symbol):
                row = [self.read(parent, (self.symbols[symbol], *at)) for at in positions(node.shape)]
                self.put(node, row)
            case _:
                self.put(node, range(node.size))


def positions(shape: Sequence[int]) -> Iterator[Position]:
    """Every position, in C order."""
    return itertools.product(*map(range, shape))


def _position(index: Index, point: Mapping[Loop | Symbol, int]) -> Position:
    return tuple(_at(axis, point) for axis in index)


def _at(axis: Affine, point: Mapping[Loop | Symbol, int]) -> int:
    return sum(factor * point[variable] for factor, variable in axis.terms) + axis.offset


def _linear(f: Callable[..., Number], *slopes: Callable[..., Number]) -> Callable[..., Dual]:
    """A function of duals from one of numbers and its partial derivatives, which are asked only where needed."""

    def of_duals(*arguments: Dual) -> Dual:
        values = [argument.value for argument in arguments]
        parts = [
            slope(*values) * argument.slope for slope, argument in zip(slopes, arguments, strict=True) if argument.slope
        ]
        return Dual(f(*values), sum(parts, Fraction(0)))

    return of_duals


def _zero(*_: Number) -> Number:
    return Fraction(0)


def _one(*_: Number) -> Number:
    return Fraction(1)


def _truth(f: Callable[..., bool], arity: int) -> Callable[..., Dual]:
    return _linear(lambda *values: Fraction(f(*values)), *[_zero] * arity)


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, Fraction) and exponent == int(exponent)
    return base ** int(exponent) if whole else float(base) ** float(exponent)


FUNCTIONS: dict[str, Callable[..., Dual]] = {
    "identity": lambda a: a,
    "neg": _linear(lambda a: -a, lambda a: -1),
    "relu": _linear(lambda a: max(a, Fraction(0)), lambda a: int(a > 0)),
    "exp": _linear(math.exp, math.exp),
    "log": _linear(math.log, lambda a: 1 / a),
    "exp2": _linear(lambda a: 2.0**a, lambda a: 2.0**a * math.log(2)),
    "log2": _linear(math.log2, lambda a: 1 / (a * math.log(2))),
    "sin": _linear(math.sin, math.cos),
    "cos": _linear(math.cos, lambda a: -math.sin(a)),
    "tanh": _linear(math.tanh, lambda a: 1 / math.cosh(a) ** 2),
    "sqrt": _linear(math.sqrt, lambda a: 0.5 / math.sqrt(a)),
    "recip": _linear(lambda a: 1 / a, lambda a: -1 / a**2),
    "recip_sqrt": _linear(lambda a: float(a) ** -0.5, lambda a: -0.5 * float(a) ** -1.5),
    "satur01": _linear(lambda a: min(max(a, Fraction(0)), Fraction(1)), lambda a: int(0 < a < 1)),
    "trunc": _linear(lambda a: Fraction(math.trunc(a)), _zero),
    "not": _truth(lambda a: a == 0, 1),
    "add": _linear(lambda a, b: a + b, _one, _one),
    "sub": _linear(lambda a, b: a - b, _one, lambda a, b: -1),
    "mul": _linear(lambda a, b: a * b, lambda a, b: b, lambda a, b: a),
    "div": _linear(lambda a, b: a / b, lambda a, b: 1 / b, lambda a, b: -a / b**2),
    "to_pow_of": _linear(_power, lambda a, p: p * _power(a, p - 1), lambda a, p: _power(a, p) * math.log(a)),
    "max": lambda a, b: b if a.value < b.value else a,
    "min": lambda a, b: b if b.value < a.value else a,
    "mod": _linear(lambda a, b: a - math.trunc(a / b) * b, _one, lambda a, b: -math.trunc(a / b)),
    "relu_gate": _linear(lambda a, b: b if a > 0 else Fraction(0), _zero, lambda a, b: int(a > 0)),
    "satur01_gate": _linear(lambda a, b: b if 0 < a < 1 else Fraction(0), _zero, lambda a, b: int(0 < a < 1)),
    "cmplt": _truth(lambda a, b: a < b, 2),
    "cmple": _truth(lambda a, b: a <= b, 2),
    "cmpeq": _truth(lambda a, b: a == b, 2),
    "cmpne": _truth(lambda a, b: a != b, 2),
    "where": lambda a, b, c: b if a.value != 0 else c,
    "fma": _linear(lambda a, b, c: a * b + c, lambda a, b, c: b, lambda a, b, c: a, _one),
    "mul3": _linear(lambda a, b, c: a * b * c, lambda a, b, c: b * c, lambda a, b, c: a * c, lambda a, b, c: a * b),
}
"""What an operator says, written from its words alone: shared with neither half nor the frontend's rules."""
