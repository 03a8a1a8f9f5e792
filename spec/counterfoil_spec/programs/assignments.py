"""Assignments: what programs do to nodes, as data.

A routine's code is a tree of ``Sequence`` and ``Block`` over ``Accumulate`` and ``Fetch``; ``leaves`` flattens it.
"""

from __future__ import annotations

from collections.abc import Iterator as Leaves
from dataclasses import dataclass

from counterfoil_spec.arguments import instance, number, text
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.operators import ARITY, BINARY, FLOATS_ONLY
from counterfoil_spec.programs.projections import Projections, greatest_extent
from counterfoil_spec.programs.symbols import Symbol
from counterfoil_spec.refusals import refuse, shown


@dataclass(frozen=True, slots=True)
class Read:
    """An operand: the node's own buffer (or definition)."""

    node: Node

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        instance("node", self.node, Node)


@dataclass(frozen=True, slots=True)
class Merge:
    """An operand: the merge buffer, filled from this node by a device-to-device copy. No read of the node itself."""

    node: Node

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        instance("node", self.node, Node)


Operand = Read | Merge


@dataclass(frozen=True, slots=True)
class Accumulate:
    """For every point of the product: ``target[p] = target[p] accumulator operation(operands[p])``.

    ``accumulator`` is a binary operator; ``arg2`` stores without looking at the target. With ``initialize`` the whole
    target starts from the accumulator's neutral value.
    """

    target: Node
    accumulator: str
    operation: str
    operands: tuple[Operand, ...]
    projections: Projections
    initialize: bool = False

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type, and programs/operator, compile/shape-mismatch: as many operands and indices as
        the words ask."""
        _check_types(self)
        if self.accumulator not in BINARY or self.operation not in ARITY:
            raise refuse("programs/operator", operator=f"{self.accumulator}, {self.operation}")
        if self.operation in FLOATS_ONLY and self.target.dtype.float_format is None:
            raise refuse("programs/operator", operator=f"{self.operation} of {self.target.dtype.name}")
        if len(self.operands) != ARITY[self.operation] or len(self.projections.operands) != len(self.operands):
            raise refuse("programs/operator", operator=f"{self.operation} of {len(self.operands)} operands")
        indexed = [(self.target, self.projections.target)]
        indexed += [(o.node, index) for o, index in zip(self.operands, self.projections.operands, strict=True)]
        for node, index in indexed:
            if len(index) != node.rank:
                raise refuse("compile/shape-mismatch", node=node.label, rank=node.rank, indices=len(index))


@dataclass(frozen=True, slots=True)
class Constant:
    """Every element is that number."""

    value: float

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        number("value", self.value)


@dataclass(frozen=True, slots=True)
class Fill:
    """The elements, in C order: at most MAX_FILL of them (compile/fill-limit)."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        for value in instance("values", self.values, tuple):
            number("values", value)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Each element is its position in C order: 0, 1, 2 ..."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Every element is the symbol's value at the run."""

    symbol: Symbol

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        instance("symbol", self.symbol, Symbol)


@dataclass(frozen=True, slots=True)
class Row:
    """The elements of the parent at that index of its leading axis: a copy of what a slice view would show."""

    parent: Node
    symbol: Symbol

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        instance("parent", self.parent, Node)
        instance("symbol", self.symbol, Symbol)


Definition = Constant | Fill | Offsets | Embed | Row


@dataclass(frozen=True, slots=True)
class Fetch:
    """The whole node is defined."""

    target: Node
    definition: Definition

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type, arrays/values-count (a Fill of another number of values) and
        programs/slice-shape (a Row)."""
        instance("target", self.target, Node)
        if not isinstance(self.definition, Constant | Fill | Offsets | Embed | Row):
            expected = "a definition"
            raise refuse("arguments/wrong-type", argument="definition", expected=expected, value=shown(self.definition))
        if isinstance(self.definition, Fill) and len(self.definition.values) != self.target.size:
            raise refuse("arrays/values-count", values=len(self.definition.values), shape=self.target.shape)
        if isinstance(self.definition, Row):
            parent = self.definition.parent
            if parent.rank == 0 or parent.shape[1:] != self.target.shape:
                raise refuse("programs/slice-shape", node=self.target.label, parent=parent.label)


@dataclass(frozen=True, slots=True)
class Block:
    """Code under a label; labels name routines."""

    label: str
    body: Code

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        text("label", self.label)
        instance_of_code(self.body)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts, one after the other."""

    parts: tuple[Code, ...] = ()

    def __post_init__(self) -> None:
        """Refuses arguments/wrong-type."""
        for part in instance("parts", self.parts, tuple):
            instance_of_code(part)


Assignment = Accumulate | Fetch
Code = Accumulate | Fetch | Block | Sequence

NOTHING = Sequence()


def leaves(code: Code) -> Leaves[Assignment]:
    """The assignments in program order."""
    match code:
        case Block():
            yield from leaves(code.body)
        case Sequence():
            for part in code.parts:
                yield from leaves(part)
        case _:
            yield code


def labels(code: Code) -> tuple[str, ...]:
    """The labels of the outermost blocks, in program order."""
    match code:
        case Block():
            return (code.label,)
        case Sequence():
            return tuple(label for part in code.parts for label in labels(part))
    return ()


def in_sequence(*codes: Code) -> Code:
    """The codes one after the other, without needless nesting."""
    parts: list[Code] = []
    for code in codes:
        parts.extend(code.parts if isinstance(code, Sequence) else (code,))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def block(label: str, code: Code) -> Block:
    """The code under a label."""
    return Block(text("label", label), instance_of_code(code))


def instance_of_code(value: object) -> Code:
    """``value`` if it is code; refuses arguments/wrong-type."""
    if isinstance(value, Accumulate | Fetch | Block | Sequence):
        return value
    raise refuse("arguments/wrong-type", argument="code", expected="code", value=shown(value))


def _check_types(it: Accumulate) -> None:
    instance("target", it.target, Node)
    text("accumulator", it.accumulator)
    text("operation", it.operation)
    instance("projections", it.projections, Projections)
    for operand in instance("operands", it.operands, tuple):
        if not isinstance(operand, Read | Merge):
            raise refuse("arguments/wrong-type", argument="operands", expected="an operand", value=shown(operand))


def symbols(code: Code) -> tuple[Symbol, ...]:
    """The static symbols the code mentions, in the order of their numbers."""
    found = {symbol for leaf in leaves(code) for symbol in _symbols(leaf)}
    return tuple(sorted(found, key=lambda symbol: symbol.number))


def _symbols(leaf: Assignment) -> Leaves[Symbol]:
    if isinstance(leaf, Fetch):
        if isinstance(leaf.definition, (Embed, Row)):
            yield leaf.definition.symbol
        nodes = [leaf.target]
    else:
        projections = leaf.projections
        yield from (extent for _, extent in projections.product if isinstance(extent, Symbol))
        for index in (projections.target, *projections.operands):
            for entry in index:
                yield from entry.symbols
        nodes = [leaf.target, *(operand.node for operand in leaf.operands)]
    yield from (node.slice_of[1] for node in nodes if node.slice_of is not None)


def terms(leaf: Accumulate) -> int:
    """The most points of the product: what a reduction adds up, over all its loops."""
    total = 1
    for _, extent in leaf.projections.product:
        total *= greatest_extent(extent)
    return total
