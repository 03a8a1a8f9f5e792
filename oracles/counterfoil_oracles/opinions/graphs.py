"""Random small tensor programs as data: leaves with small integers, steps over them, a loss that is a sum.

Each step's result is a polynomial of the leaves wherever no comparison turns, so derivatives of the loss are exact
numbers. Shapes and degrees are reckoned here, not by the frontend.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from counterfoil_spec.dtypes import Dtype, float32, float64

Shape = tuple[int, ...]

MOST_DEGREE: Final = 5
_MOST_ELEMENTS: Final = 40
_NUMBERS: Final = (-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Leaf:
    """A tensor that is differentiated by, and its values: a parameter, or data with a gradient."""

    shape: Shape
    values: tuple[int, ...]
    is_param: bool


@dataclass(frozen=True)
class Step:
    """An operation on tensors by number (the leaves first, then the steps before it); ``detail`` is its own."""

    operation: str
    operands: tuple[int, ...]
    detail: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Leaves and steps; the last step is the loss, a polynomial of at most that degree in any one leaf's element."""

    dtype: Dtype
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    degree: int

    def blank(self) -> Graph:
        """The same graph, all leaves 0: what graphs that differ in values alone have in common."""
        return self._with(lambda leaf: (0,) * len(leaf.values))

    def reseeded(self, rng: random.Random) -> Graph:
        """The same graph with other values in its leaves."""
        return self._with(lambda leaf: tuple(rng.choice(_NUMBERS) for _ in leaf.values))

    def _with(self, values: Callable[[Leaf], tuple[int, ...]]) -> Graph:
        return replace(self, leaves=tuple(replace(leaf, values=values(leaf)) for leaf in self.leaves))

    def __str__(self) -> str:
        leaves = " ".join(f"{list(leaf.shape)}={list(leaf.values)}" for leaf in self.leaves)
        numbered = enumerate(self.steps, len(self.leaves))
        steps = " ".join(f"%{at}={step.operation}{[*step.operands, *step.detail]}" for at, step in numbered)
        return f"{self.dtype} {leaves} {steps}"


@dataclass(frozen=True)
class _Known:
    shape: Shape
    degree: int


@dataclass
class _Drawing:
    """A graph while it is drawn."""

    rng: random.Random
    leaves: list[Leaf] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    known: list[_Known] = field(default_factory=list)

    @property
    def newest(self) -> int:
        return len(self.known) - 1

    def leaf(self, shape: Shape, is_param: bool = True) -> None:
        values = tuple(self.rng.choice(_NUMBERS) for _ in range(math.prod(shape)))
        self.leaves.append(Leaf(shape, values, is_param))
        self.known.append(_Known(shape, 1))

    def step(self, operation: str, operands: Sequence[int], shape: Shape, degree: int, *detail: Any) -> None:
        """Add a step, unless it is of too high a degree or too large."""
        if degree <= MOST_DEGREE and math.prod(shape) <= _MOST_ELEMENTS:
            self.steps.append(Step(operation, tuple(operands), detail))
            self.known.append(_Known(shape, degree))

    def some(self, wanted: Callable[[Shape], bool]) -> int | None:
        """One of the tensors of a wanted shape, if there is one."""
        found = [at for at, known in enumerate(self.known) if wanted(known.shape)]
        return self.rng.choice(found) if found else None

    def shape(self, at: int) -> Shape:
        return self.known[at].shape

    def offset(self) -> float:
        """What is added to one side of a comparison, so that integers are seldom equal in it."""
        return self.rng.choice((0.5, -0.5, 0.25))

    def product_degree(self, *operands: int) -> int:
        return sum(self.known[at].degree for at in operands)

    def largest_degree(self, *operands: int) -> int:
        return max(self.known[at].degree for at in operands)


def graphs(rng: random.Random, count: int) -> Iterator[Graph]:
    """So many graphs."""
    for _ in range(count):
        drawing = _Drawing(rng)
        _FAMILIES[rng.randrange(len(_FAMILIES))](drawing)
        for _ in range(rng.randint(3, 7)):
            rng.choice(_MOVES)(drawing)
        _weigh(drawing)
        at = drawing.newest
        drawing.step("sum", (at,), (), drawing.known[at].degree, None, False)
        yield _needed(drawing)


def _needed(drawing: _Drawing) -> Graph:
    """The graph of what the loss depends on."""
    first, wanted = len(drawing.leaves), {drawing.newest}
    for at in range(drawing.newest, first - 1, -1):
        if at in wanted:
            wanted.update(drawing.steps[at - first].operands)
    numbers = {old: new for new, old in enumerate(sorted(wanted))}
    steps = [
        Step(step.operation, tuple(numbers[operand] for operand in step.operands), step.detail)
        for at, step in enumerate(drawing.steps, first)
        if at in wanted
    ]
    leaves = tuple(leaf for at, leaf in enumerate(drawing.leaves) if at in wanted)
    dtype = drawing.rng.choice((float32, float32, float64))
    return Graph(dtype, leaves, tuple(steps), drawing.known[-1].degree)


# --- what a graph begins with ----------------------------------------------------------------------------------------


def _matrices(drawing: _Drawing) -> None:
    rows, inner, columns = (drawing.rng.randint(1, 3) for _ in range(3))
    drawing.leaf((rows, inner))
    drawing.leaf((inner, columns), drawing.rng.random() < 0.7)
    drawing.leaf((inner,))
    drawing.step("matmul", (0, 1), (rows, columns), 2)


def _vectors(drawing: _Drawing) -> None:
    extent = drawing.rng.randint(2, 4)
    drawing.leaf((extent,), drawing.rng.random() < 0.7)
    drawing.leaf((3,))
    drawing.leaf(())
    drawing.step("convolve", (0, 1), (extent,), 2, drawing.rng.choice((0, 2, -1)))


def _images(drawing: _Drawing) -> None:
    rng = drawing.rng
    size, channels, outs = rng.randint(3, 4), rng.randint(1, 2), rng.randint(1, 2)
    drawing.leaf((1, size, size, channels), rng.random() < 0.7)
    rows, columns, stride, padding = rng.randint(2, 3), rng.randint(1, 3), rng.randint(1, 2), rng.randint(0, 1)
    drawing.leaf((rows, columns, channels, outs))
    drawing.leaf((outs,))
    height, width = ((size + 2 * padding - extent) // stride + 1 for extent in (rows, columns))
    drawing.step("conv2d", (0, 1), (1, height, width, outs), 2, stride, padding)


_FAMILIES: Final = (_matrices, _vectors, _images)


# --- the steps -------------------------------------------------------------------------------------------------------


def broadcast(*shapes: Shape) -> Shape | None:
    """The shape that those broadcast to; None where they do not."""
    extents: list[int] = []
    for axes in itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        longer = {extent for extent in axes if extent != 1} or {1}
        if len(longer) > 1:
            return None
        extents.append(longer.pop())
    return tuple(reversed(extents))


def _partner(drawing: _Drawing, at: int) -> int:
    """A tensor that broadcasts with that one: itself if no other does."""
    found = drawing.some(lambda shape: broadcast(shape, drawing.shape(at)) is not None)
    assert found is not None
    return found


def _unary(drawing: _Drawing) -> None:
    at = drawing.newest
    name = drawing.rng.choice(("neg", "relu", "relu", "scale"))
    detail = {"neg": (), "relu": (drawing.offset(),), "scale": (drawing.rng.choice((2, -1, 0.5)),)}
    drawing.step(name, (at,), drawing.shape(at), drawing.known[at].degree, *detail[name])


def _binary(drawing: _Drawing) -> None:
    pair = [drawing.newest, _partner(drawing, drawing.newest)]
    drawing.rng.shuffle(pair)
    name = drawing.rng.choice(("add", "sub", "mul", "mul", "maximum", "minimum"))
    degree = drawing.product_degree(*pair) if name == "mul" else drawing.largest_degree(*pair)
    shape = broadcast(*map(drawing.shape, pair))
    assert shape is not None
    drawing.step(name, pair, shape, degree, *([drawing.offset()] if name in ("maximum", "minimum") else []))


def _ternary(drawing: _Drawing) -> None:
    at = drawing.newest
    others = (at, _partner(drawing, at), _partner(drawing, at))
    shape = broadcast(*map(drawing.shape, others))
    name = drawing.rng.choice(("fma", "mul3", "choose"))
    if shape is None:
        return
    degree = drawing.product_degree(*others) if name != "choose" else drawing.largest_degree(*others)
    drawing.step(name, others, shape, degree, *([drawing.offset()] if name == "choose" else []))


def _reduce(drawing: _Drawing) -> None:
    at, rng = drawing.newest, drawing.rng
    shape = drawing.shape(at)
    if not shape:
        return
    gone = tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, min(2, len(shape))))))
    keepdims = rng.random() < 0.5
    names = ["sum", "sum", "max", "min"]
    names += ["mean", "mean"] * (math.prod(shape[axis] for axis in gone) in (2, 4, 8))
    kept = tuple(1 if axis in gone else extent for axis, extent in enumerate(shape) if keepdims or axis not in gone)
    drawing.step(rng.choice(names), (at,), kept, drawing.known[at].degree, gone, keepdims)


def _matmul(drawing: _Drawing) -> None:
    at = drawing.newest
    shape = drawing.shape(at)
    if not 1 <= len(shape) <= 2:
        return
    right = drawing.some(lambda other: 1 <= len(other) <= 2 and other[0] == shape[-1])
    if right is not None:
        made = (*shape[:-1], *drawing.shape(right)[1:])
        drawing.step("matmul", (at, right), made, drawing.product_degree(at, right))


_SPECS: Final = ("i,j->ij", "ij,kj->ik", "ij,ij->i", "ij,ij->j", "ij->ji", "ij,j->i", "i,ij->", "ij,j,ki->k", "ii->i")


def _einsum(drawing: _Drawing) -> None:
    spec = drawing.rng.choice(_SPECS)
    inputs, output = spec.split("->")
    operands: list[int] = []
    extents: dict[str, int] = {}
    for position, axes in enumerate(inputs.split(",")):
        fits = functools.partial(_fits, axes, extents)
        newest = drawing.newest
        found = newest if not position and fits(drawing.shape(newest)) else drawing.some(fits)
        if found is None:
            return
        operands.append(found)
        extents.update(zip(axes, drawing.shape(found), strict=True))
    shape = tuple(extents[axis] for axis in output)
    drawing.step("einsum", operands, shape, drawing.product_degree(*operands), spec)


def _fits(axes: str, extents: Mapping[str, int], shape: Shape) -> bool:
    """Whether a shape has those axes, one name never two extents."""
    named = {**dict(zip(axes, shape, strict=False)), **extents}
    return len(axes) == len(shape) and all(named[axis] == extent for axis, extent in zip(axes, shape, strict=True))


def _pool(drawing: _Drawing) -> None:
    at = drawing.newest
    shape = drawing.shape(at)
    if len(shape) == 4 and min(shape[1:3]) >= 2:
        made = (shape[0], shape[1] // 2, shape[2] // 2, shape[3])
        drawing.step(drawing.rng.choice(("max_pool", "mean_pool")), (at,), made, drawing.known[at].degree)


def _row(drawing: _Drawing) -> None:
    at = drawing.newest
    shape = drawing.shape(at)
    if shape:
        drawing.step("row", (at,), shape[1:], drawing.known[at].degree, drawing.rng.randrange(shape[0]), shape[0])


def _weigh(drawing: _Drawing) -> None:
    at = drawing.newest
    weights = tuple(drawing.rng.choice((-2, -1, 1, 2, 3)) for _ in range(math.prod(drawing.shape(at))))
    drawing.step("weigh", (at,), drawing.shape(at), drawing.known[at].degree, weights)


_MOVES: Final = (
    _unary, _unary, _binary, _binary, _binary, _ternary, _ternary, _reduce, _matmul, _matmul, _einsum, _einsum, _einsum,
    _pool, _pool, _pool, _row,
)  # fmt: skip
