"""Shapes in which the compiler has most to do: other dtypes, shifted reads, matrix products, two symbols."""

from __future__ import annotations

from random import Random
from typing import Final

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan
from counterfoil_spec.programs.operators import ARITY, FLOATS_ONLY

_MEDLEYS: Final = 24
"""Variants of a medley, of each dtype: few, so that they are compiled once."""

_TARGETS: Final = ("h", "t", "u", "a", "b", "o")
_ANY: Final = tuple(op for op in ARITY if op not in ("exp2", "log2", "log", "sin", "cos", "to_pow_of", "recip_sqrt"))
_WHOLE: Final = (*(op for op in _ANY if op not in FLOATS_ONLY), "div", "div", "mod", "mod")


def medley(world: ContextWorld) -> Plan[Sketch]:
    """Several assignments in a row, of any operators, over one input or two and what they gave before."""
    sketch, variant = Sketch("medley"), Random(world.chooser.integer(0, _MEDLEYS - 1))
    sources = ["x", "w1", "x"]
    for target in (*variant.sample(_TARGETS, 4), "y"):
        op = variant.choice(_ANY if world.dtype_name.startswith("float") else _WHOLE)
        yield from sketch.set(world, target, [variant.choice(sources) for _ in range(ARITY[op])], op=op)
        sources += [target, target]
    return sketch


def mixed(world: ContextWorld) -> Plan[Sketch]:
    """Values of another dtype, converted where they are stored and where they are read."""
    sketch, c = Sketch("mixed"), world.chooser
    other = pick(c, ("whole", "real"))
    if chance(c, 50):
        yield from sketch.set(world, other, [pick(c, ("x", "w1", "real"))], op=pick(c, ("identity", "neg")))
    if chance(c, 70):
        operands = [other, pick(c, ("x", "w1", "real"))]
        yield from sketch.set(world, pick(c, ("y", "a", "whole")), operands, op=pick(c, ("add", "mul", "sub")))
    return sketch


def shifted(world: ContextWorld) -> Plan[Sketch]:
    """A value read at other elements than those that the assignment before it wrote in the same order."""
    sketch, c = Sketch("shifted"), world.chooser
    yield from sketch.set(world, "five", [pick(c, ("x", "w1"))], by="i -> i+1", op=pick(c, ("identity", "neg")))
    yield from sketch.set(world, pick(c, ("y", "a", "h")), ["five"], by=pick(c, ("i+2 -> i ; i=3", "2-i -> i ; i=3")))
    return sketch


def padded(world: ContextWorld) -> Plan[Sketch]:
    """A padded value, inlined or not, read past its edges in the same routine."""
    sketch, c = Sketch("padded"), world.chooser
    label, by = pick(c, (("edge", "i-1 -> i ; i=3"), ("pad", "i-1 -> i ; i=3"), ("pad", "i+1 -> i ; i=3")))
    if chance(c, 70):
        yield from sketch.set(world, label, [pick(c, ("x", "w1"))], op=pick(c, ("neg", "identity")))
    yield from sketch.set(world, "y", [label], op=pick(c, ("identity", "neg")), by=by)
    return sketch


def product(world: ContextWorld) -> Plan[Sketch]:
    """A matrix product large enough for the blocked kernel, added to what its target holds or not."""
    sketch, c = Sketch("product"), world.chooser
    yield from sketch.fetch(world, "left", offsets=True)
    yield from sketch.fetch(world, "right", offsets=True)
    by = "i k, k j -> i j"
    yield from sketch.set(world, "both", ["left", "right"], op="mul", by=by, accumulate="add", initialize=chance(c, 40))
    return sketch


def area(world: ContextWorld) -> Plan[Sketch]:
    """More points than a block of a CUDA device has threads: written, and added up along each row or not."""
    sketch, c = Sketch("area"), world.chooser
    if chance(c, 50):
        yield from sketch.fetch(world, "area", offsets=True)
    else:
        yield from sketch.set(world, "area", ["strip"], by="i -> i j", op=pick(c, ("neg", "identity")))
    if chance(c, 40):
        yield from sketch.set(world, "strip", ["area"], by="i j -> i", accumulate="add", initialize=True)
    return sketch


def two_symbols(world: ContextWorld) -> Plan[Sketch]:
    """A row up to an extent, both chosen at the run."""
    sketch = Sketch("two")
    yield from symbol(world, "few")
    yield from symbol(world, "row")
    yield from sketch.set(world, "y", ["table"], by="$row i -> i ; i=$few", op="neg")
    return sketch
