"""Shapes in which the compiler has most to do: other dtypes, shifted reads, matrix products, two symbols."""

from __future__ import annotations

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan


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


def product(world: ContextWorld) -> Plan[Sketch]:
    """A matrix product large enough for the blocked kernel, added to what its target holds or not."""
    sketch, c = Sketch("product"), world.chooser
    yield from sketch.fetch(world, "left", offsets=True)
    yield from sketch.fetch(world, "right", offsets=True)
    by = "i k, k j -> i j"
    yield from sketch.set(
        world, "both", ["left", "right"], op="mul", by=by, accumulate="add", initialize=chance(c, 40)
    )
    return sketch


def two_symbols(world: ContextWorld) -> Plan[Sketch]:
    """A row up to an extent, both chosen at the run."""
    sketch = Sketch("two")
    yield from symbol(world, "few")
    yield from symbol(world, "row")
    yield from sketch.set(world, "y", ["table"], by="$row i -> i ; i=$few", op="neg")
    return sketch
