"""C functions being written: statements of the loop IR as they are, and what nests are made of.

Names are canonical: arguments a0.. by position, scratch s0.., iterators i0.., locals t0.., bindings b[0].., each
numbered where it first appears; so equal programs give equal sources whatever their labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from counterfoil.compile.buffers import Buffers, offset
from counterfoil.compile.expressions import Operators
from counterfoil.compile.literals import CTYPES, number
from counterfoil_spec.dtypes import Dtype, int64
from counterfoil_spec.programs.loops import (
    Apply,
    If,
    Load,
    LoadMerge,
    Local,
    LocalValue,
    Loop,
    Number,
    Position,
    Scalar,
    Scope,
    SetLocal,
    Statement,
    Store,
    Zero,
)
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Extent, Index
from counterfoil_spec.programs.symbols import Iterator, Symbol


class Function:
    """One C function being written: its body's lines, and the buffers and bindings it turned out to need."""

    def __init__(self, buffers: Buffers, symbols: Sequence[Symbol], operators: Operators) -> None:
        self.lines: list[str] = []
        self.reads: dict[Node, None] = {}
        self.writes: dict[Node, None] = {}
        self.merged: Node | None = None
        self.uses_bindings = False
        self.uses_services = False
        self.shared: tuple[int, int] | None = None
        self._buffers = buffers
        self._symbols = {symbol: f"b[{position}]" for position, symbol in enumerate(symbols)}
        self.operators = operators
        self._iterators: dict[Iterator, str] = {}
        self._locals: dict[Local, str] = {}
        self._declared = 0
        self._depth = 1

    def line(self, text: str) -> None:
        """One line at the present depth."""
        self.lines.append("    " * self._depth + text)

    def open(self, text: str) -> None:
        """A line that begins a block."""
        self.line(f"{text} {{")
        self._depth += 1

    def close(self) -> None:
        """The end of a block."""
        self._depth -= 1
        self.line("}")

    def affine(self, entry: Affine) -> str:
        """An index as a C expression of i64."""
        parts = []
        for factor, variable in entry.terms:
            name = self.variable(variable)
            parts.append(name if factor == 1 else f"{factor} * {name}")
        if entry.offset or not parts:
            parts.append(str(entry.offset))
        return " + ".join(parts).replace("+ -", "- ")

    def variable(self, variable: Iterator | Symbol) -> str:
        """The name of an iterator or a binding."""
        if isinstance(variable, Symbol):
            self.uses_bindings = True
            return self._symbols[variable]
        known = self._iterators.get(variable)
        if known is None:
            known = self._iterators[variable] = f"i{len(self._iterators)}"
        return known

    def element(self, node: Node, index: tuple[Affine, ...], written: bool) -> str:
        """An element of a node's buffer."""
        (self.writes if written else self.reads)[node] = None
        return f"{self._buffers.name(node)}[{self.affine(offset(node, index))}]"

    def address(self, node: Node, index: Index, inner: Sequence[Iterator], written: bool) -> str:
        """Where a node's element lies, for the iterators in ``inner`` at 0."""
        (self.writes if written else self.reads)[node] = None
        whole = offset(node, index)
        first = Affine(tuple(term for term in whole.terms if term[1] not in inner), whole.offset)
        return f"{self._buffers.name(node)} + {self.affine(first)}" if first != Affine() else self._buffers.name(node)

    def value(self, scalar: Scalar, dtype: Dtype) -> str:
        """A value in a dtype; what it needs first is written before it."""
        operators = self.operators
        match scalar:
            case Load(node, index):
                return operators.converted(self.element(node, index, False), node.dtype, dtype)
            case LoadMerge(node, index):
                self.merged = node
                return operators.converted(f"m[{self.affine(offset(node, index))}]", node.dtype, dtype)
            case Number(value):
                return number(value, dtype)
            case Position(index):
                return operators.converted(f"({self.affine(index)})", int64, dtype)
            case LocalValue(local):
                return operators.converted(self._locals[local], local.dtype, dtype)
            case Apply(operator, arguments):
                written = tuple(self.value(argument, dtype) for argument in arguments)
                return operators.applied(operator, written, dtype)
            case Scope(local, body):
                return operators.converted(self._scope(local, body), local.dtype, dtype)

    def _scope(self, local: Local, body: tuple[Statement, ...]) -> str:
        self.declare(local)
        self.statements(body)
        return self._locals[local]

    def declare(self, local: Local) -> str:
        """A local, 0 until it is set. Loops written out declare one again: each time it has another name."""
        name = self._locals[local] = f"t{self._declared}"
        self._declared += 1
        self.line(f"{CTYPES[local.dtype]} {name} = 0;")
        return name

    def statements(self, body: Iterable[Statement]) -> None:
        """Statements, one after the other, as they are."""
        for statement in body:
            match statement:
                case Zero(node):
                    self._zero(node)
                case Store(node, index, value):
                    text = self.value(value, node.dtype)
                    self.line(f"{self.element(node, index, True)} = {text};")
                case SetLocal(local, value):
                    self.line(f"{self._locals[local]} = {self.value(value, local.dtype)};")
                case Loop(iterator, extent, inner):
                    self.loop(iterator, extent)
                    self.statements(inner)
                    self.close()
                case If(left, right, inner):
                    self.open(f"if ({self.affine(left)} < {self.affine(right)})")
                    self.statements(inner)
                    self.close()

    def whole(self, statement: Statement) -> None:
        """A statement that is no nest: the locals it sets are declared first."""
        for inner in declared((statement,)):
            self.declare(inner)
        self.statements((statement,))

    def loop(self, iterator: Iterator, extent: Extent) -> None:
        """The head of a loop."""
        name = self.variable(iterator)
        self.open(f"for (i64 {name} = 0; {name} < {self.extent(extent)}; {name}++)")

    def share(self, iterator: Iterator, extent: int, grain: int) -> None:
        """The head of a loop of which each call carries out its share."""
        self.shared = extent, grain
        name = self.variable(iterator)
        self.open(f"for (i64 {name} = first; {name} < last; {name}++)")

    def extent(self, extent: Extent) -> str:
        """A loop's bound."""
        return self.variable(extent) if isinstance(extent, Symbol) else str(extent)

    def _zero(self, node: Node) -> None:
        loops = tuple((Iterator(f"i{axis}"), extent) for axis, extent in enumerate(node.shape))
        for iterator, extent in loops:
            self.loop(iterator, extent)
        index = tuple(Affine(((1, iterator),)) for iterator, _ in loops)
        self.line(f"{self.element(node, index, True)} = 0;")
        for _ in loops:
            self.close()

    def parameters(self) -> list[str]:
        """Its C parameters."""
        found = []
        for node in self._nodes():
            const = "" if node in self.writes else "const "
            found.append(f"{const}{self._buffers.ctype(node)} *restrict {self._buffers.name(node)}")
        if self.merged is not None:
            found.append(f"const {CTYPES[self.merged.dtype]} *restrict m")
        found += ["const i64 *restrict b"] if self.uses_bindings else []
        found += ["const cf_services *v"] if self.uses_services else []
        return found + (["i64 first", "i64 last"] if self.shared else [])

    def arguments(self) -> list[str]:
        """What is passed for them, from a frame."""
        found = [self._buffers.pointer(node) for node in self._nodes()]
        found += ["f->merge"] if self.merged is not None else []
        found += ["f->bindings"] if self.uses_bindings else []
        return found + (["f->services"] if self.uses_services else [])

    def _nodes(self) -> list[Node]:
        return [*self.writes, *(node for node in self.reads if node not in self.writes)]


def declared(body: Iterable[Statement]) -> dict[Local, None]:
    """The locals that statements set outside of scopes."""
    found: dict[Local, None] = {}
    for statement in body:
        match statement:
            case SetLocal(local, _):
                found[local] = None
            case Loop(_, _, inner) | If(_, _, inner):
                found |= declared(inner)
    return found
