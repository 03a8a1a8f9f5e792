"""Whether what a caller or a transform hands over is a kernel of the loop IR: a check of arguments, not of meaning."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from counterfoil_spec.arguments import instance, number, within
from counterfoil_spec.limits import MAX_ELEMENTS
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Local,
    LocalValue,
    Loop,
    Lowered,
    Number,
    Position,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
    Zero,
    statements,
)
from counterfoil_spec.programs.nodes import PROGRAM_DTYPES, Node
from counterfoil_spec.programs.operators import ARITY, FLOATS_ONLY
from counterfoil_spec.programs.projections import Affine, check_affine, check_extent
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import refuse, shown


@dataclass(frozen=True)
class Names:
    """What the kernels of a routine may name: nodes they load, nodes they store to, the merge node, symbols."""

    loaded: Collection[Node]
    stored: Collection[Node]
    merge: Node | None
    symbols: Collection[Symbol]


def names_of(
    lowered: Lowered, arguments: Collection[Node], writes: Collection[Node], merge: Node | None,
    symbols: Collection[Symbol],
) -> Names:  # fmt: skip
    """What a transform of that routine may name: its arguments, stored to where they are written, and its scratch."""
    named = {each.node for each in statements(lowered.body) if isinstance(each, Store | Zero)}
    scratch = named.difference(arguments)
    return Names({*arguments, *scratch}, {*writes, *scratch}, merge, symbols)


def check_kernel(argument: str, kernel: Lowered, names: Names | None) -> None:
    """Refuse what no half could carry out; ``names`` is None where the kernel itself says what the routine names.

    Refuses arguments/wrong-type, arguments/integer-range, programs/bound, programs/spec (an iterator outside its loop),
    programs/operator and compile/shape-mismatch.
    """
    _Walk(argument, names).body(instance(argument, kernel, Lowered).body)


class _Walk:
    """A walk in program order: the loops around, and the locals that are visible, block by block."""

    def __init__(self, argument: str, names: Names | None) -> None:
        self._argument = argument
        self._names = names
        self._loops: list[Iterator] = []
        self._visible: list[set[Local]] = []
        self._met: set[Local] = set()

    def body(self, body: tuple[Statement, ...]) -> None:
        self._visible.append(set())
        for statement in instance(self._argument, body, tuple):
            self._statement(statement)
        self._visible.pop()

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Zero(node):
                self._stored(node)
            case Store(node, index, value):
                self._stored(node)
                self._index(node, index)
                self._scalar(value, node)
            case SetLocal(local, value):
                self._scalar(value, instance(self._argument, local, Local))
                self._declare(local)
            case Loop(iterator, extent, inner):
                self._loop(iterator, extent)
                self.body(inner)
                self._loops.pop()
            case If(left, right, inner):
                self._affine(left)
                self._affine(right)
                self.body(inner)
            case _:
                raise self._wrong("a statement", statement)

    def _loop(self, iterator: Iterator, extent: object) -> None:
        if instance(self._argument, iterator, Iterator) in self._loops:
            raise refuse("programs/spec", spec=iterator.label, why="two loops of one iterator")
        check_extent(extent)
        self._symbols((extent,) if isinstance(extent, Symbol) else ())
        self._loops.append(iterator)

    def _declare(self, local: Local) -> None:
        """The first assignment declares a local of the block it stands in."""
        if any(local in block for block in self._visible):
            return
        if local in self._met or local.dtype not in PROGRAM_DTYPES:
            raise self._wrong("a local of one block, of a dtype of programs", local)
        self._met.add(local)
        self._visible[-1].add(local)

    def _scalar(self, value: Scalar, around: Node | Local) -> None:
        match value:
            case Load(node, index):
                self._known(node, None if self._names is None else self._names.loaded)
                self._index(node, index)
            case LoadMerge(node, index):
                self._known(node, None if self._names is None else (self._names.merge,))
                self._index(node, index)
            case Number(written):
                number(self._argument, written)
            case Position(index):
                self._affine(index)
            case LocalValue(local):
                if not any(local in block for block in self._visible):
                    raise self._wrong("a local that was set", local)
            case Apply():
                self._apply(value, around)
            case Scope(local, body):
                self._scope(instance(self._argument, local, Local), body)
            case _:
                raise self._wrong("a value", value)

    def _apply(self, value: Apply, around: Node | Local) -> None:
        arguments = instance(self._argument, value.arguments, tuple)
        if ARITY.get(instance(self._argument, value.operator, str)) != len(arguments):
            raise refuse("programs/operator", operator=f"{value.operator} of {len(arguments)} operands")
        if value.operator in FLOATS_ONLY and around.dtype.float_format is None:
            raise refuse("programs/operator", operator=f"{value.operator} of {around.dtype.name}")
        for each in arguments:
            self._scalar(each, around)

    def _scope(self, local: Local, body: tuple[Statement, ...]) -> None:
        """A scope declares its local anew."""
        self._met.discard(local)
        for block in self._visible:
            block.discard(local)
        self._declare(local)
        for statement in instance(self._argument, body, tuple):
            self._statement(statement)
        for statement in statements(body):
            if isinstance(statement, Store | Zero):
                raise self._wrong("a statement of a scope", statement)

    def _stored(self, node: Node) -> None:
        self._known(node, None if self._names is None else self._names.stored)

    def _known(self, node: Node, allowed: Collection[Node | None] | None) -> None:
        if instance(self._argument, node, Node).slice_of is not None or (allowed is not None and node not in allowed):
            raise self._wrong("a node that the routine may use so", node)

    def _index(self, node: Node, index: tuple[Affine, ...]) -> None:
        if len(instance(self._argument, index, tuple)) != node.rank:
            raise refuse("compile/shape-mismatch", node=node.label, rank=node.rank, indices=len(index))
        for entry in index:
            self._affine(entry)

    def _affine(self, entry: Affine) -> None:
        check_affine(entry, self._loops)
        self._symbols(entry.symbols)
        for factor in (entry.offset, *(factor for factor, _ in entry.terms)):
            within(self._argument, factor, -MAX_ELEMENTS, MAX_ELEMENTS)

    def _symbols(self, symbols: Collection[Symbol]) -> None:
        for symbol in symbols:
            if self._names is not None and symbol not in self._names.symbols:
                raise self._wrong("a symbol of the routine", symbol)

    def _wrong(self, expected: str, value: object) -> Exception:
        return refuse("arguments/wrong-type", argument=self._argument, expected=expected, value=shown(value))
