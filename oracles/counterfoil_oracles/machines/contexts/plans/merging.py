"""Merge buffers: fills, consumers compiled below them, refills before and after the consumers ran."""

from __future__ import annotations

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.plans import compiling, moving, running
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import node
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make, ref

Plans = Plan[None]


def filled(world: ContextWorld, label: str, source: str, target: str) -> Plan[str | None]:
    """The target's merge buffer filled from a source, which is given a value where it has none."""
    yield from node(world, label)
    if not world.holds(source, label):
        source = (yield from moving.set_values(world, source, label)) or source
    args = {"context": ref(target), "source": ref(source), "node": world.node(label), "into_merge_buffer": True}
    return (yield from make(world, "c", "copy_from", **args))


def _consumer(world: ContextWorld, label: str) -> Plan[Sketch]:
    sketch, c = Sketch("consume"), world.chooser
    match c.integer(0, 3):
        case 0:
            yield from sketch.set(world, "o", [{"merge": label}], op="neg")
        case 1:
            yield from sketch.set(world, "n", ["one"], accumulate="add")
            yield from sketch.set(world, "b", [{"merge": label}, {"merge": label}], op="mul")
        case 2:
            yield from sketch.set(world, "gw2", [{"merge": label}], accumulate="add")
        case _:
            yield from sketch.set(world, "v", [{"merge": label}], op="neg")
    return sketch


def cycle(world: ContextWorld) -> Plans:
    """A fill and its consumers; the next fill, refused while one is pending, accepted when they ran or are released."""
    c = world.chooser
    label = pick(c, ("a", "gw1"))
    source, target = world.context(), world.context()
    current = yield from filled(world, label, source, target)
    if current is None:
        return
    consumers = []
    for _ in range(c.integer(1, 2)):
        sketch = yield from _consumer(world, label)
        comp = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
        made = None if comp is None else (yield from compiling.compiled(world, current, comp))
        consumers += [made] if made is not None else []
    if chance(c, 50):
        yield from filled(world, label, source, current)
    if consumers and chance(c, 25):
        yield from filled(world, label, source, (yield from compiling.root(world)))
    for made in consumers:
        if chance(c, 75):
            yield from running.checked_run(world, made, f"{made}.routine")
        elif chance(c, 50):
            yield from do("context.release", context=ref(made))
    refilled = yield from filled(world, label, source, current)
    for made in consumers[:1]:
        yield from running.checked_run(world, made, f"{made}.routine")
        yield from do("can_run", context=ref(made), routine=ref(f"{made}.routine"))
        if chance(c, 50):
            yield from read_through(world, made)
    if refilled is not None and chance(c, 40):
        other = yield from compiling.root(world)
        yield from filled(world, label, source, other)
        for made in consumers[-1:]:
            yield from running.checked_run(world, made, f"{made}.routine")


def read_through(world: ContextWorld, context: str) -> Plans:
    """A routine that reads what may be virtual over a merge buffer, and a host read of it."""
    sketch = Sketch("through")
    yield from sketch.set(world, "y", ["v"], op="neg")
    comp = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
    if comp is not None:
        yield from compiling.compiled(world, context, comp)
    yield from do("get_values", context=ref(context), node=world.node("v"))


def rewritten(world: ContextWorld) -> Plans:
    """A node read, then written from outside, then by a routine, which waits for no reader before the upload."""
    c = world.chooser
    label, context = pick(c, ("x", "w1", "a", "h")), world.context()
    reader, writer = Sketch("reader"), Sketch("rewriter")
    yield from reader.set(world, "o", [label], op="neg")
    yield from writer.fetch(world, label, constant=1)
    for sketch in (reader, writer):
        comp = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
        made = None if comp is None else (yield from compiling.compiled(world, context, comp))
        context = made or context
        if sketch is reader and chance(c, 70):
            context = (yield from moving.set_values(world, context, label)) or context


def pending_writer(world: ContextWorld) -> Plans:
    """A fill from a node whose writer has not run, then from it once it has."""
    sketch = Sketch("writer")
    yield from sketch.set(world, "a", ["lit", "lit"], op="add")
    context = world.context()
    comp = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
    made = None if comp is None else (yield from compiling.compiled(world, context, comp))
    if made is not None:
        yield from filled(world, "a", made, world.context())
        yield from running.checked_run(world, made, f"{made}.routine")
        yield from filled(world, "a", made, world.context())
