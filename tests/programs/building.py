"""Programs for the tests: small ones written out, and drawn ones over a handful of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from counterfoil_reference.programs import NOTHING_DECIDED, Decisions, Plan, execute, plan
from counterfoil_spec.dtypes import Dtype, float32, float64, int32, int64
from counterfoil_spec.programs.assignments import (
    Accumulate,
    Assignment,
    Constant,
    Embed,
    Fetch,
    Fill,
    Merge,
    Offsets,
    Operand,
    Read,
    Row,
)
from counterfoil_spec.programs.assignments import (
    Sequence as Code,
)
from counterfoil_spec.programs.loops import Lowered
from counterfoil_spec.programs.nodes import Intent, Node
from counterfoil_spec.programs.operators import ARITY, FLOATS_ONLY
from counterfoil_spec.programs.projections import Affine, Extent, Index, Projections, affine, at, fixed
from counterfoil_spec.programs.specs import parse, pointwise
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import Refusal


@dataclass
class Buffers:
    """A store: lists of numbers by node, the padded layout, zeros and margins where nothing was given."""

    nodes: Sequence[Node]
    merged: Sequence[float] = ()
    values: dict[Node, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.nodes:
            self.values.setdefault(node, padded(node, [zero(node.dtype)] * node.size))

    def read(self, node: Node) -> list[float]:
        return list(self.values[node])

    def write(self, node: Node, values: list[float]) -> None:
        assert len(values) == len(self.values[node])
        self.values[node] = list(values)

    def merge(self) -> list[float]:
        return list(self.merged)

    def array(self, node: Node) -> Any:
        return node


def zero(dtype: Dtype) -> float:
    """The number 0 as values of the dtype are."""
    return 0 if dtype.float_format is None else 0.0


def padded(node: Node, values: Sequence[float]) -> list[float]:
    """Values of the unpadded shape in the layout of the buffer, the margin value around them."""
    given = iter(values)
    found: list[float] = []
    margin = node.margin if node.dtype.float_format is not None else int(node.margin)
    for place in range(math.prod(node.dims)):
        inside = True
        for extent, width, (left, _) in reversed(list(zip(node.shape, node.dims, node.padding, strict=True))):
            place, entry = divmod(place, width)
            inside = inside and left <= entry < left + extent
        found.append(next(given) if inside else margin)
    return found


def run(
    what: Plan | Sequence[Lowered],
    arguments: Sequence[Node],
    given: Mapping[Node, Sequence[float]],
    bindings: Mapping[Symbol, int] | None = None,
    merged: Sequence[float] = (),
) -> dict[Node, list[float]]:
    """The buffers after executing a plan, or kernels over its arguments, on the values given (zeros elsewhere)."""
    store = Buffers(arguments, merged)
    for node, values in given.items():
        if node in store.values:
            store.values[node] = padded(node, values)
    execute(what, store, bindings or {})
    return store.values


def planned(*assignments: Assignment, decisions: Decisions = NOTHING_DECIDED) -> Plan:
    """The plan of assignments in sequence, as a routine called r."""
    return plan(Code(assignments), decisions, "r")


def refusal(attempt: Callable[[], object]) -> tuple[str, dict[str, object]]:
    """The rule and the subjects of the refusal that the attempt ends in."""
    try:
        attempt()
    except Refusal as refused:
        return refused.rule, refused.subjects
    raise AssertionError("nothing was refused")


def spec(
    text: str,
    target: Node,
    *operands: Operand | Node,
    operation: str | None = None,
    accumulator: str = "add",
    initialize: bool = True,
    symbols: Mapping[str, Symbol] | None = None,
) -> Accumulate:
    """An accumulation with the projections a text says; a product of its operands, or the one it has."""
    given = tuple(Read(each) if isinstance(each, Node) else each for each in operands)
    nodes = [each.node for each in given]
    named = operation or ("identity" if len(given) == 1 else "mul")
    return Accumulate(target, accumulator, named, given, parse(text, target, nodes, symbols or {}), initialize)


def store(target: Node, operation: str, *operands: Operand | Node) -> Accumulate:
    """``target = operation(operands)``, pointwise."""
    given = tuple(Read(each) if isinstance(each, Node) else each for each in operands)
    return Accumulate(target, "arg2", operation, given, pointwise(target, [each.node for each in given]))


def add_to(target: Node, operand: Node) -> Accumulate:
    """``target += operand``, pointwise."""
    return Accumulate(target, "add", "identity", (Read(operand),), pointwise(target, [operand]))


def copy(target: Node, operand: Node) -> Accumulate:
    """``target = operand``, pointwise."""
    return store(target, "identity", operand)


def observed(label: str, shape: Sequence[int] = (), dtype: Dtype = float32) -> Node:
    """A node that gets a buffer wherever it is written."""
    node = Node(label, shape, dtype)
    node.set_observable()
    return node


def declared(label: str, intent: Intent, shape: Sequence[int] = (2,), dtype: Dtype = float32) -> Node:
    """A node with a declared intent."""
    node = Node(label, shape, dtype)
    node.require(intent)
    return node


# --- drawn programs --------------------------------------------------------------------------------------------------

SHAPES = [(), (1,), (2,), (3,), (2, 3), (3, 2), (2, 2), (1, 3), (0,)]
FIRM = [
    "identity", "neg", "relu", "satur01", "not", "trunc", "add", "sub", "mul", "max", "min", "cmplt", "cmpeq", "where",
    "fma", "relu_gate", "satur01_gate", "or", "and", "div", "mod", "arg1", "arg2",
]  # fmt: skip
LOOSE = ["exp", "sin", "tanh", "sqrt", "recip", "recip_sqrt", "to_pow_of", "mul3", "log"]
ACCUMULATORS = ["arg2", "arg2", "arg2", "add", "add", "sub", "mul", "max", "min", "or", "cmplt", "arg1"]


@dataclass
class Drawn:
    """A drawn program: its nodes, its symbols with their values, and routines as lists of assignments."""

    nodes: list[Node]
    bindings: dict[Symbol, int]
    routines: list[list[Assignment]]
    given: dict[Node, list[float]]
    merged: list[float]
    decisions: Decisions


@st.composite
def programs(draw: st.DrawFn, routines: int = 1, loose: bool = True, merges: bool = False) -> Drawn:
    """Up to eight assignments per routine over two to six nodes, with two bounded symbols and one extent.

    Half of the programs are *plain*: each step defines the whole of the next node, so that much can be inlined. In half
    of them all assignments use the same iterators, each in another order.
    """
    plain = draw(st.booleans())
    shared = [Iterator(label) for label in "abcd"] if draw(st.booleans()) else None
    count = draw(st.integers(4, 6)) if plain else draw(st.integers(2, 5))
    nodes = [draw(drawn_nodes(f"n{place}", plain)) for place in range(count)]
    symbols = [Symbol("s", 2), Symbol("t", 1), Symbol("e", 3, extent=True)]
    bindings = {each: draw(st.integers(0, each.greatest or 0)) for each in symbols}
    whole = list(nodes)
    nodes += [row for node in whole if not plain for row in draw(rows(node, symbols[0]))]
    parts = []
    for _ in range(routines):
        length = draw(st.integers(1, 8))
        first = draw(st.integers(0, count - 1))
        order = [nodes[(first + place) % count] for place in range(length)] if plain else [None] * length
        parts.append([draw(assignments(nodes, symbols, loose, merges, target, shared)) for target in order])
    given = {node: [draw(numbers(node.dtype, loose)) for _ in range(node.size)] for node in whole}
    merged = [draw(numbers(nodes[0].dtype, False))] * math.prod(nodes[0].dims)
    preferred = frozenset(node for node in nodes if plain and draw(st.booleans()))
    return Drawn(whole, bindings, parts, given, merged, replace(NOTHING_DECIDED, inline=preferred))


@st.composite
def drawn_nodes(draw: st.DrawFn, label: str, plain: bool) -> Node:
    """A node of one of the four dtypes, sometimes padded, declared, observable."""
    shape = draw(st.sampled_from([(2,), (3,), (2, 2)] if plain else SHAPES))
    dtype = draw(st.sampled_from([float32, float32, float32, float64, int32, int64]))
    padding = [(1, 2)] + [(0, 0)] * (len(shape) - 1) if shape and draw(st.integers(0, 4)) == 0 else None
    node = Node(label, shape, dtype, padding=padding, margin=draw(st.sampled_from([0.0, 2.0])))
    intents = [Intent.UNSPECIFIED] * 6 + [Intent.NEVER_VIRTUAL, Intent.LOCAL, Intent.ON_DEVICE, Intent.CONSTANT]
    if not plain:
        node.require(draw(st.sampled_from(intents)))
    if draw(st.integers(0, 3)) == 0:
        node.set_observable()
    return node


@st.composite
def rows(draw: st.DrawFn, parent: Node, symbol: Symbol) -> list[Node]:
    """A slice view of a node that admits one, or none."""
    if not parent.rank or parent.shape[0] < 2 or parent.is_padded or draw(st.booleans()):
        return []
    return [Node(f"{parent.label}_row", parent.shape[1:], parent.dtype, slice_of=(parent, symbol))]


def numbers(dtype: Dtype, loose: bool) -> st.SearchStrategy[float]:
    """Numbers of a dtype: small integers, and with ``loose`` others."""
    if dtype.float_format is None:
        return st.integers(-5, 5)
    small = st.integers(-5, 5).map(float)
    odd = st.sampled_from([-0.0, 0.5, 1.5, -0.75, math.inf, math.nan, 1e30, 3.0000002384185791])
    return (
        small
        | odd.map(lambda x: x if dtype is float64 else min(x, 3e38) if x == 1e30 else x).filter(
            lambda x: dtype is float64 or x != 1e30
        )
        if loose
        else small
    )


@st.composite
def assignments(
    draw: st.DrawFn,
    nodes: Sequence[Node],
    symbols: Sequence[Symbol],
    loose: bool,
    merges: bool,
    whole: Node | None,
    shared: Sequence[Iterator] | None = None,
) -> Assignment:
    """A fetch, or an accumulation with loops over the target's axes and up to two more; of ``whole``, definite.

    Its iterators are its own, or those ``shared`` with others.
    """
    target = whole or draw(st.sampled_from(nodes))
    if draw(st.integers(0, 4)) == 0:
        return draw(fetches(target, nodes, symbols))
    names = FIRM + (LOOSE if loose and target.dtype.float_format is not None else [])
    operation = draw(st.sampled_from([name for name in names if loose or name not in FLOATS_ONLY | {"div"}]))
    iterators = [Iterator(label) for label in "ijkl"] if shared is None else draw(st.permutations(shared))
    loops, index = draw(targets(target, symbols, whole is not None, iterators))
    for iterator in iterators[2 : 2 + draw(st.sampled_from([0, 0, 0, 1, 1, 2]))]:
        extent: Extent = draw(st.sampled_from([1, 2, 3, 2, 3, symbols[2]]))
        loops.append((iterator, extent))
    operands: list[Operand] = []
    indices: list[Index] = []
    for _ in range(ARITY[operation]):
        node = draw(st.sampled_from([each for each in nodes if each is not whole]))
        is_merge = merges and node is nodes[0] and draw(st.booleans())
        operands.append(Merge(node) if is_merge else Read(node))
        indices.append(tuple(draw(entries(node, axis, loops, symbols)) for axis in range(node.rank)))
    projections = Projections(tuple(loops), index, tuple(indices))
    accumulator = draw(st.sampled_from(ACCUMULATORS))
    initialize = draw(st.booleans()) or (whole is not None and accumulator != "arg2")
    return Accumulate(target, accumulator, operation, tuple(operands), projections, initialize)


@st.composite
def fetches(draw: st.DrawFn, target: Node, nodes: Sequence[Node], symbols: Sequence[Symbol]) -> Assignment:
    """A definition of the whole node."""
    parents = [node for node in nodes if node.rank and node.shape[1:] == target.shape and node.shape[0] >= 2]
    choice = draw(st.integers(0, 4 if parents else 3))
    if choice == 4:
        return Fetch(target, Row(draw(st.sampled_from(parents)), symbols[0]))
    if choice == 3:
        return Fetch(target, Embed(symbols[0]))
    if choice == 2:
        return Fetch(target, Offsets())
    values = st.sampled_from([0, 1, 2.5, -1, 0.0, -0.0])
    if choice == 1:
        return Fetch(target, Fill(tuple(draw(values) for _ in range(target.size))))
    return Fetch(target, Constant(draw(values)))


@st.composite
def targets(
    draw: st.DrawFn, target: Node, symbols: Sequence[Symbol], whole: bool, iterators: Sequence[Iterator]
) -> tuple[list[tuple[Iterator, Extent]], Index]:
    """Loops and the target's index: mostly one loop per axis, sometimes a part of it, a fixed place or a symbol's."""
    loops: list[tuple[Iterator, Extent]] = []
    index: list[Affine] = []
    for axis, extent in enumerate(target.shape):
        kind = (
            "whole"
            if whole or not extent
            else draw(st.sampled_from(["whole"] * 8 + ["fixed", "part", "symbol", "symbolic"]))
        )
        iterator = iterators[axis]
        if kind == "fixed":
            index.append(fixed(draw(st.integers(0, extent - 1))))
        elif kind == "symbol":
            index.append(at(symbols[0] if extent >= 2 else symbols[1]))
        elif kind == "part" and extent > 1:
            loops.append((iterator, extent - 1))
            index.append(affine([(1, iterator)], 1))
        elif kind == "symbolic" and extent >= 3:
            loops.append((iterator, symbols[2]))
            index.append(at(iterator))
        else:
            loops.append((iterator, extent))
            index.append(at(iterator))
    return loops, tuple(index)


@st.composite
def entries(
    draw: st.DrawFn, node: Node, axis: int, loops: Sequence[tuple[Iterator, Extent]], symbols: Sequence[Symbol]
) -> Affine:
    """An index entry that stays within the axis, its margins included."""
    extent, (left, right) = node.shape[axis], node.padding[axis]
    choices: list[Affine] = []
    for iterator, bound in loops:
        most = bound if isinstance(bound, int) else bound.bound or 0
        if most <= extent:
            choices += [at(iterator)] * 3
            if extent and most:
                choices.append(affine([(-1, iterator)], most - 1))
        if left and most <= extent + 1:
            choices += [affine([(1, iterator)], -1)] * 2
        if right and most <= extent + 1:
            choices += [affine([(1, iterator)], 1)] * 2
    if extent or left or right:
        choices.append(fixed(draw(st.integers(-left, extent + right - 1))))
    if extent >= 2:
        choices.append(at(symbols[0]))
    if not choices:  # nothing to read: a loop of no points makes that right
        return at(loops[0][0]) if loops and loops[0][1] == 0 else fixed(0)
    return draw(st.sampled_from(choices))
