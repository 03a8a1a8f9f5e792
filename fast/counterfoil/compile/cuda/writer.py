"""CUDA kernels being written: the C backend's functions, with threads, and parameters by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

from counterfoil.compile.buffers import Buffers, offset
from counterfoil.compile.cuda.operators import CudaOperators
from counterfoil.compile.cuda.products import NARROW
from counterfoil.compile.cuda.program import Dim, Kind, Launch, Parameter
from counterfoil.compile.cuda.work import Guards, Work
from counterfoil.compile.emit import Function
from counterfoil.compile.literals import CTYPES
from counterfoil.compile.nests import Loops
from counterfoil_spec.dtypes import Dtype, int64
from counterfoil_spec.programs.loops import Load, Number, Position, Scalar
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Extent
from counterfoil_spec.programs.symbols import Iterator, Symbol

THREADS: Final = 256
"""Threads of a block, where nothing else decides."""


class Writer(Function):
    """One kernel being written. ``narrow``: all its affine forms fit 32 bits. ``known``: elements whose values stand in
    registers, by node and position. ``kept``: nodes stored to in other ways than by ``store``. ``resident``: blocks of
    it that a multiprocessor must have room for, 0 where that is the compiler's choice."""

    def __init__(
        self, buffers: Buffers, symbols: Sequence[Symbol], operators: CudaOperators, works: Sequence[Work] = ()
    ) -> None:
        super().__init__(buffers, symbols, operators)
        self.numbers = operators
        self.narrow = bool(works) and all(_fits(work) for work in works)
        self.index = "i32" if self.narrow else "i64"
        self.known: dict[tuple[Node, Affine], str] = {}
        self.kept: set[Node] = set()
        self.stores: list[tuple[Node, int]] = []
        self.resident = 0
        self.grid: Dim = (1, 1, 1)
        self.block: Dim = (1, 1, 1)
        self.bound: dict[Symbol, int] = {}
        self._values = 0
        self._places = {symbol: place for place, symbol in enumerate(symbols)}

    def variable(self, variable: Iterator | Symbol) -> str:
        """The name of an iterator or a binding."""
        if not isinstance(variable, Symbol):
            return super().variable(variable)
        self.bound[variable] = self._places[variable]
        return f"b{self._places[variable]}"

    def fresh(self) -> str:
        """A name for a value."""
        self._values += 1
        return f"v{self._values - 1}"

    def forget(self, node: Node) -> None:
        """What is known of the node's elements may have changed."""
        self.known = {key: name for key, name in self.known.items() if key[0] is not node}

    def rename(self, iterator: Iterator, name: str) -> None:
        """Give an iterator a name that is in scope already."""
        self._iterators[iterator] = name

    def value(self, scalar: Scalar, dtype: Dtype) -> str:
        """A value in a dtype; what it needs first is written before it."""
        match scalar:
            case Load(node, index) if (node, offset(node, index)) in self.known:
                return self.operators.converted(self.known[node, offset(node, index)], node.dtype, dtype)
            case Number(value):
                return self.numbers.number(value, dtype)
            case Position(index):
                return self.operators.converted(f"(i64)({self.affine(index)})", int64, dtype)
        return super().value(scalar, dtype)

    def loop(self, iterator: Iterator, extent: Extent) -> None:
        """The head of a loop."""
        name = self.variable(iterator)
        self.open(f"for ({self.index} {name} = 0; {name} < {self.extent(extent)}; {name}++)")

    def define(self, iterator: Iterator, text: str) -> None:
        """An iterator that is computed."""
        self.line(f"const {self.index} {self.variable(iterator)} = {text};")

    def decompose(self, flat: str, loops: Loops) -> None:
        """The iterators of loops of which ``flat``, unsigned, counts the points."""
        rest = flat
        for place, (iterator, extent) in reversed(list(enumerate(loops))):
            count = "0" if extent == 1 else rest if place == 0 else f"{rest} % {extent}"
            self.define(iterator, f"({self.index})({count})")
            rest = rest if extent == 1 else f"{rest} / {extent}"

    def condition(self, guards: Guards) -> str:
        """The guards as one condition."""
        return " && ".join(f"{self.affine(left)} < {self.affine(right)}" for left, right in guards)

    def open_inside(self, work: Work) -> None:
        """What must hold for the present point of a work to be one, its solved iterators found first."""
        for each in work.solved:
            dividend = f"({self.affine(each.dividend)})"
            whole = f"{dividend} % {each.divisor} == 0"
            self.open(f"if ({dividend} >= 0 && {dividend} < {each.divisor * each.extent} && {whole})")
            self.define(each.iterator, f"{dividend} / {each.divisor}")
        if work.inside:
            self.open(f"if ({self.condition(work.inside)})")

    def close_inside(self, work: Work) -> None:
        """Its end."""
        for _ in range(len(work.solved) + bool(work.inside)):
            self.close()

    def store(self, node: Node, text: str) -> None:
        """A line that stores to a node what later loads of this kernel find in a register."""
        self.stores.append((node, len(self.lines)))
        self.line(text)

    def drop(self, nodes: Set[Node]) -> None:
        """Leave out the stores to nodes that nobody reads, where none is stored to in another way."""
        for node, place in self.stores:
            if node in nodes - self.kept:
                self.lines[place] = ""
                self.writes.pop(node, None)

    def touch(self, node: Node, written: bool) -> str:
        """The name of a node's buffer, noted as read or written."""
        (self.writes if written else self.reads)[node] = None
        return self._buffers.name(node)

    def ctype(self, node: Node) -> str:
        """The type of a node's elements."""
        return CTYPES[node.dtype]

    def launch(self, name: str, offsets: Mapping[Node, int], arguments: Mapping[Node, int]) -> Launch:
        """How the kernel is launched."""
        found = []
        for node in self._nodes():
            place = arguments.get(node)
            found.append(Parameter(Kind.SCRATCH, offsets[node]) if place is None else Parameter(Kind.ARGUMENT, place))
        found += [Parameter(Kind.MERGE)] if self.merged is not None else []
        found += [Parameter(Kind.BINDING, place) for place in sorted(self.bound.values())]
        writes = tuple(sorted(arguments[node] for node in self.writes if node in arguments))
        return Launch(name, self.grid, self.block, tuple(found), writes)

    def text(self, name: str, tabled: bool = False) -> str:
        """The kernel's text; ``tabled``: its parameters lie in a table."""
        x, y, z = self.block
        places = sorted(self.bound.values())
        parameters = [each.replace("*restrict", "*__restrict__") for each in super().parameters()]
        parameters += [f"i64 w{place}" for place in places]
        taken = [_taken(each, place) for place, each in enumerate(parameters)] if tabled else []
        parameters = ["const u64 *__restrict__ table"] if tabled else parameters
        bounds = f"{x * y * z}, {self.resident}" if self.resident else f"{x * y * z}"
        head = f'extern "C" __global__ void __launch_bounds__({bounds}) {name}({", ".join(parameters)}) {{\n'
        bound = [f"    const {self.index} b{place} = ({self.index})w{place};" for place in places]
        return head + "\n".join([*taken, *bound, *filter(None, self.lines)]) + "\n}\n"


def _taken(parameter: str, place: int) -> str:
    """A parameter taken from a table."""
    kind = parameter[: parameter.rindex(" ")] if "*" not in parameter else parameter[: parameter.index("*") + 1]
    return f"    {parameter} = ({kind})table[{place}];"


def _fits(work: Work) -> bool:
    """Whether no affine form of the work, nor any part of one, leaves 32 bits."""
    extents = work.extents
    greatest = max(extents.values(), default=0)
    return greatest < NARROW and all(_reach(entry, extents) < NARROW for entry in work.affines)


def _reach(entry: Affine, extents: Mapping[Iterator, int]) -> int:
    total = abs(entry.offset)
    for factor, variable in entry.terms:
        if isinstance(variable, Iterator):
            most = extents[variable]
        else:
            most = NARROW if variable.greatest is None else variable.greatest
        total += abs(factor) * most
    return total
