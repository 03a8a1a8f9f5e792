"""About two hundred canonical shapes of routines: families of code over the universe, few variants of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.cuda.setting import Setting
from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.contexts import numeric
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import fragment, node, row_view, symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan

Shape = Callable[[ContextWorld], Plan[Sketch]]

_UNARY: Final = ("identity", "neg", "relu", "not")
_FLOAT_UNARY: Final = ("exp", "sqrt", "recip", "tanh")
_BINARY: Final = ("add", "sub", "mul", "max", "cmplt", "div", "arg1")
_HIDDEN: Final = ("h", "t", "u", "y", "v", "q", "o", "a", "b")
_SOURCES: Final = ("x", "w1", "w2", "lit", "h", "t", "y", "v", "a", "own", "cell")


def _is_float(world: ContextWorld) -> bool:
    return world.dtype_name.startswith("float")


def init(world: ContextWorld) -> Plan[Sketch]:
    """Parameters or data defined by code."""
    sketch, c = Sketch("init"), world.chooser
    for label in (pick(c, ("w1", "x", "cell", "a")), "w2")[: 1 + chance(c, 50)]:
        definition: dict[str, Any] = pick(c, ({"constant": 2}, {"fill": [1, 2, 3]}, {"offsets": True}, {"constant": 0}))
        yield from sketch.fetch(world, label, **definition)
    return sketch


def forward(world: ContextWorld) -> Plan[Sketch]:
    """One hidden value of one or two operands."""
    sketch, c = Sketch("forward"), world.chooser
    target = pick(c, _HIDDEN)
    if chance(c, 40):
        ops = _UNARY + (_FLOAT_UNARY if _is_float(world) else ())
        yield from sketch.set(world, target, [pick(c, _SOURCES)], op=pick(c, ops))
    else:
        yield from sketch.set(world, target, [pick(c, _SOURCES), pick(c, _SOURCES)], op=pick(c, _BINARY))
    if chance(c, 30):
        yield from sketch.forward(world, target)
    return sketch


def chain(world: ContextWorld) -> Plan[Sketch]:
    """A hidden value used once or twice in the same routine: virtual, local, or with a buffer."""
    sketch, c = Sketch("chain"), world.chooser
    between = pick(c, ("t", "h", "v", "q", "u"))
    yield from sketch.set(world, between, [pick(c, ("x", "w1", "lit"))], op=pick(c, ("neg", "relu")))
    operands = [between, between] if chance(c, 35) else [between, pick(c, ("w1", "x", "one"))]
    yield from sketch.set(world, pick(c, ("y", "o", "a", "b")), operands, op=pick(c, ("add", "mul")))
    return sketch


def layers(world: ContextWorld) -> Plan[Sketch]:
    """Three values in a row, the last one a sum."""
    sketch = Sketch("layers")
    yield from sketch.set(world, "t", ["w1", "x"], op="mul")
    yield from sketch.set(world, "h", ["t", "w2"], op=pick(world.chooser, ("add", "max")))
    yield from sketch.set(world, "loss", ["h"], by="i ->", accumulate="add", initialize=True)
    return sketch


def total(world: ContextWorld) -> Plan[Sketch]:
    """A reduction to one number, from its neutral value or not."""
    sketch, c = Sketch("total"), world.chooser
    by, operands = "i, i ->", [pick(c, _SOURCES), pick(c, ("x", "w1", "h"))]
    how = pick(c, ("add", "max", "mul"))
    yield from sketch.set(world, "loss", list(operands), op="mul", by=by, accumulate=how, initialize=not chance(c, 20))
    return sketch


def matvec(world: ContextWorld) -> Plan[Sketch]:
    """A matrix times a vector, an outer product, a column sum."""
    sketch, c = Sketch("matvec"), world.chooser
    match c.integer(0, 2):
        case 0:
            yield from sketch.set(
                world, "z", ["m", pick(c, ("x", "w1"))], op="mul", by="i j, j -> i", accumulate="add", initialize=True
            )
        case 1:
            yield from sketch.set(world, "m", ["z", "x"], op="mul", by="i, j -> i j")
        case _:
            yield from sketch.set(world, "h", ["m"], by="i j -> j", accumulate="add", initialize=True)
    return sketch


def big_literal(world: ContextWorld) -> Plan[Sketch]:
    """A literal too large for code: its sum, a copy, or a write over it."""
    sketch, c = Sketch("big"), world.chooser
    match weighted(c, [(4, 0), (3, 1), (2, 2)]):
        case 0:
            yield from sketch.set(world, "sum20", ["big"], by="i ->", accumulate="add", initialize=True)
        case 1:
            yield from sketch.set(world, "wide", ["big", "one"], op="add")
        case _:
            yield from sketch.set(world, "big", ["big", "one"], op="add")
    return sketch


def counter(world: ContextWorld) -> Plan[Sketch]:
    """One more at each run: of a counter, or of every element of a cell."""
    sketch = Sketch("tick")
    target = pick(world.chooser, ("n", "n", "cell", "o"))
    yield from sketch.set(world, target, ["one"], accumulate="add")
    return sketch


def update(world: ContextWorld) -> Plan[Sketch]:
    """A parameter moved by its gradient."""
    sketch = Sketch("sgd")
    parameter, gradient = pick(world.chooser, (("w1", "gw1"), ("w2", "gw2"), ("w1", "gw2")))
    yield from sketch.set(world, parameter, [parameter, gradient], op="sub")
    return sketch


# --- gradients -------------------------------------------------------------------------------------------------------


def zeroing(world: ContextWorld) -> Plan[Sketch]:
    """Gradients reset, and nothing else."""
    sketch, c = Sketch("zero"), world.chooser
    for gradient in pick(c, (["gw1"], ["gh"], ["gw1", "gh"], ["gw1", "gw2"], ["gw1", "gw2", "gh", "gy"])):
        yield from sketch.zero(world, gradient)
    return sketch


def contribution(world: ContextWorld) -> Plan[Sketch]:
    """Something added to gradients, with or without a reset before it."""
    sketch, c = Sketch("contribute"), world.chooser
    gradients = pick(c, (["gw1"], ["gh"], ["gw2"], ["gw1", "gw2"], ["gy"]))
    for gradient in gradients if chance(c, 35) else []:
        yield from sketch.zero(world, gradient)
    for gradient in gradients:
        yield from sketch.contribute(world, gradient, [pick(c, ("x", "w2", "lit")), pick(c, ("x", "w1"))], "mul")
    if chance(c, 25):
        sketch.allowances.append([sketch.mentioned[gradients[0]], pick(c, (2, 3, 1))])
    return sketch


def propagation(world: ContextWorld) -> Plan[Sketch]:
    """The backprop from a hidden gradient, with or without resets."""
    sketch, c = Sketch("propagate"), world.chooser
    gradient, to = pick(c, (("gh", "gw1"), ("gh", "gw1"), ("gy", "gh"), ("gh", "gw2")))
    for zeroed in (gradient, to):
        if chance(c, 25):
            yield from sketch.zero(world, zeroed)
    if chance(c, 25):
        yield from sketch.contribute(world, gradient, ["x", "w1"], "mul")
    yield from sketch.propagate(world, gradient, to, pick(c, ("x", "w2")))
    return sketch


def step(world: ContextWorld) -> Plan[Sketch]:
    """Forward, resets, a seed, and the backprop through one hidden value: what grad_update makes."""
    sketch, c = Sketch("grad"), world.chooser
    yield from sketch.set(world, "h", ["w1", "x"], op="mul")
    yield from sketch.set(world, "loss", ["h"], by="i ->", accumulate="add", initialize=True)
    yield from sketch.forward(world, "h")
    for gradient in ("gh", "gw1")[: 2 - chance(c, 40)]:
        yield from sketch.zero(world, gradient)
    yield from sketch.contribute(world, "gh", ["h", "one"], "mul")
    yield from sketch.propagate(world, "gh", "gw1", "x")
    if chance(c, 30):
        sketch.allowances.append([sketch.mentioned["gw1"], 2])
    return sketch


def hand_write(world: ContextWorld) -> Plan[Sketch]:
    """A gradient written by hand: no contribution, no reset."""
    sketch, c = Sketch("hand"), world.chooser
    gradient = pick(c, ("gw1", "gw2", "gh"))
    if chance(c, 50):
        yield from sketch.set(world, gradient, [gradient, "x"], op="add")
    else:
        yield from sketch.fetch(world, gradient, constant=pick(c, (0, 1)))
    return sketch


# --- symbols, views, merge buffers, margins --------------------------------------------------------------------------


def rows(world: ContextWorld) -> Plan[Sketch]:
    """A row of a table chosen at the run: by index, by view, by fetch; or a row written."""
    sketch, c = Sketch("row"), world.chooser
    yield from symbol(world, "row")
    match c.integer(0, 4):
        case 0:
            yield from sketch.set(world, pick(c, ("y", "h")), ["table"], by="$row j -> j")
        case 1:
            view = yield from row_view(world)
            yield from sketch.mention(world, "table")
            sketch.mention_view("view", view)
            yield from sketch.set(world, pick(c, ("y", "a")), ["view", "w1"], op="add")
        case 2:
            index = yield from symbol(world, "row")
            parent = yield from sketch.mention(world, "table")
            yield from sketch.fetch(world, pick(c, ("y", "h")), row=[parent, index])
        case 3:
            view = yield from row_view(world)
            yield from sketch.mention(world, "table")
            sketch.mention_view("view", view)
            yield from sketch.set(world, "view", ["x"], op="neg")
        case _:
            yield from sketch.set(world, "table", ["x"], by="j -> $row j")
    return sketch


def bound(world: ContextWorld) -> Plan[Sketch]:
    """A symbol's value embedded, an extent that is a symbol, an offset that is one."""
    sketch, c = Sketch("bound"), world.chooser
    match c.integer(0, 3):
        case 0:
            value = yield from symbol(world, pick(c, ("row", "any", "far")))
            yield from sketch.fetch(world, pick(c, ("n", "h", "loss")), embed=value)
        case 1:
            yield from symbol(world, "few")
            yield from sketch.set(world, "loss", ["x"], by="i -> ; i=$few", accumulate="add", initialize=True)
        case 2:
            yield from symbol(world, "few")
            yield from sketch.set(world, "y", ["x"], by="i -> i ; i=$few", op="neg")
        case _:
            yield from symbol(world, "far")
            yield from sketch.set(world, "h", ["five"], by="i+$far -> i")
    return sketch


def merge(world: ContextWorld) -> Plan[Sketch]:
    """The merge buffer read: added to a node, stored, or through a value that may be virtual."""
    sketch, c = Sketch("merge"), world.chooser
    filled = pick(c, ("a", "a", "gw1", "w1"))
    match c.integer(0, 2):
        case 0:
            yield from sketch.set(world, pick(c, ("b", filled)), [{"merge": filled}], accumulate="add")
        case 1:
            yield from sketch.set(world, "b", [{"merge": filled}, "x"], op="add")
        case _:
            yield from sketch.set(world, pick(c, ("t", "v")), [{"merge": filled}], op="neg")
    return sketch


def margins(world: ContextWorld) -> Plan[Sketch]:
    """A padded node written, and read past its edges."""
    sketch, c = Sketch("margins"), world.chooser
    match c.integer(0, 3):
        case 0:
            yield from sketch.set(world, pick(c, ("pad", "edge")), ["x"])
        case 1:
            yield from sketch.set(
                world, "h", ["pad", "w1"], op="mul", by="i+k-1, k -> i ; i=3", accumulate="add", initialize=True
            )
        case 2:
            yield from sketch.set(world, "h", ["edge"], by="i-1 -> i ; i=3")
        case _:
            yield from sketch.fetch(world, pick(c, ("pad", "edge")), offsets=True)
    return sketch


def parts(world: ContextWorld) -> Plan[Sketch]:
    """Part of a node written; an empty node; a node of another rank."""
    sketch, c = Sketch("parts"), world.chooser
    match c.integer(0, 4):
        case 0:
            yield from sketch.set(world, "five", ["x"], by="i -> i+1")
        case 1:
            yield from sketch.fetch(world, "five", constant=1)
            yield from sketch.set(world, "five", ["x"], by="i -> i+2", accumulate="add")
        case 2:
            yield from sketch.set(world, "none", ["none"], op="neg")
        case 3:
            yield from sketch.set(world, "flat", ["x"], by="i -> i 0")
        case _:
            yield from sketch.set(world, "y", ["flat"], by="i 0 -> i")
    return sketch


def cleared(world: ContextWorld) -> Plan[Sketch]:
    """A node filled, looked at or not, and then added to or written anew, all or a part of it: the fill is seen."""
    sketch, c = Sketch("cleared"), world.chooser
    target, seen = pick(c, ("o", "gw1", "y", "u")), pick(c, ("y", "b"))
    way = c.integer(0, 3)
    if way == 2:
        yield from sketch.fetch(world, "five", constant=2)
        part = {"accumulate": "add"} if chance(c, 60) else {}
        yield from sketch.set(world, "five", ["x"], by=pick(c, ("i -> i+1", "i -> i+2")), **part)
        return sketch
    yield from sketch.fetch(world, target, constant=pick(c, (0, 2)))
    match way:
        case 0:
            yield from sketch.set(world, "o" if seen == target else seen, [target, "one"], op="add")
        case 1:
            yield from sketch.set(world, "loss", [target], by="i ->", accumulate="add", initialize=True)
        case _:
            yield from sketch.set(world, "o" if target == "y" else "y", [target], by="i -> 2-i")
    if chance(c, 60):
        yield from sketch.set(world, target, [pick(c, ("x", "lit"))], accumulate="add")
    else:
        yield from sketch.set(world, target, ["lit", pick(c, ("x", "one"))], op="mul")
    return sketch


def wrong(world: ContextWorld) -> Plan[Sketch]:
    """Code that no compile accepts."""
    sketch, c = Sketch("wrong"), world.chooser
    match c.integer(0, 4):
        case 0:
            yield from sketch.fetch(world, "wide", fill=[1] * 20)
        case 1:
            yield from sketch.set(world, "y", ["x"], by="i+1 -> i ; i=3")
        case 2:
            yield from sketch.set(world, "b", [{"merge": "a"}, {"merge": "w1"}], op="add")
        case 3:
            yield from symbol(world, "any")
            yield from sketch.set(world, "y", ["five"], by="i+$any -> i")
        case _:
            yield from sketch.set(world, "v", ["v", "x"], op="add")
    return sketch


def owned_twice(world: ContextWorld) -> Plan[Sketch]:
    """A fragment twice in one comp."""
    sketch = yield from forward(world)
    twice = yield from fragment(world, "t", "forward")
    sketch.owned += [twice, twice]
    return sketch


def nothing(world: ContextWorld) -> Plan[Sketch]:
    """No code."""
    yield from node(world, "x")
    return Sketch("nothing")


SHAPES: Final[tuple[tuple[int, Shape], ...]] = (
    (10, init),
    (16, forward),
    (12, chain),
    (6, layers),
    (8, total),
    (6, matvec),
    (7, big_literal),
    (7, counter),
    (7, update),
    (11, zeroing),
    (14, contribution),
    (11, propagation),
    (8, step),
    (5, hand_write),
    (9, rows),
    (8, bound),
    (7, merge),
    (8, margins),
    (6, parts),
    (4, cleared),
    (4, numeric.mixed),
    (3, numeric.shifted),
    (2, numeric.product),
    (2, numeric.two_symbols),
    (4, wrong),
    (1, owned_twice),
    (1, nothing),
)
"""The families, in proportion to their weights."""


def draw(world: ContextWorld) -> Plan[Sketch]:
    """A sketch of any family; where there are CUDA devices, now and then one of several blocks."""
    if Setting.devices and chance(world.chooser, 3):
        return (yield from numeric.area(world))
    return (yield from weighted(world.chooser, SHAPES)(world))
