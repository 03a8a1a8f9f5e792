"""Histories that every run of the machine must hold, accepted from end to end, with other steps in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.plans import compiling, moving, running
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import node
from counterfoil_oracles.machines.contexts.world import ContextWorld, accepted, refused_by
from counterfoil_oracles.machines.world import Plan, do, make, ref

Story = Callable[[ContextWorld], Plan[bool]]


class _Broken(Exception):
    """A step of a story was refused: it does not count."""


def _compile(world: ContextWorld, context: str, sketch: Sketch) -> Plan[str]:
    comp = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
    made = None
    if comp is not None:
        made = yield from make(world, "c", "compile", context=ref(context), comp=ref(comp))
    if made is None:
        raise _Broken
    return made


def _given(world: ContextWorld, context: str, label: str) -> Plan[str]:
    yield from node(world, label)
    made = yield from moving.set_values(world, context, label)
    if made is None:
        raise _Broken
    return made


def _run(world: ContextWorld, context: str, made: str) -> Plan[None]:
    if not accepted((yield from running.checked_run(world, context, f"{made}.routine"))):
        raise _Broken


def _must(outcome: bool) -> None:
    if not outcome:
        raise _Broken


def contributors(world: ContextWorld) -> Plan[bool]:
    """Resets, two contributors and a propagator, compiled in a line and run once each, in order."""
    context = yield from compiling.root(world)
    for label in ("x", "w1", "w2"):
        context = yield from _given(world, context, label)
    routines = []
    zero, first, second, last = Sketch("zero"), Sketch("one"), Sketch("two"), Sketch("propagate")
    for gradient in ("gh", "gw1"):
        yield from zero.zero(world, gradient)
    yield from first.contribute(world, "gh", ["x", "w1"], "mul")
    yield from second.contribute(world, "gh", ["x", "w2"], pick(world.chooser, ("mul", "add")))
    yield from last.propagate(world, "gh", "gw1", "x")
    for sketch in (zero, first, second, last):
        context = yield from _compile(world, context, sketch)
        routines.append(context)
        yield from world.interlude()
    for _ in range(world.chooser.integer(1, 2)):
        for made in routines:
            yield from _run(world, context, made)
            yield from world.interlude()
    yield from do("get_values", context=ref(context), node=world.node("gw1"))
    return True


def early_fork(world: ContextWorld) -> Plan[bool]:
    """A fork of an upload chain, used and released before the chain, which lives on."""
    origin = yield from compiling.root(world)
    tip = yield from _given(world, (yield from _given(world, origin, "x")), "w1")
    fork = yield from _given(world, origin, "w2")
    yield from do("same_release_unit", context=ref(fork), other=ref(tip))
    yield from world.interlude()
    sketch = Sketch("forked")
    yield from sketch.set(world, "y", ["w2"], op="neg")
    child = yield from _compile(world, fork, sketch)
    yield from _run(world, child, child)
    for name in (child, fork):
        _must(accepted((yield from do("context.release", context=ref(name)))))
    yield from world.interlude()
    read = yield from do("get_values", context=ref(tip), node=world.node("w1"))
    _must(accepted(read))
    return accepted((yield from do("context.release", context=ref(tip))))


def adoption(world: ContextWorld) -> Plan[bool]:
    """A context that adopts its ancestor, which then is released with it."""
    origin = yield from compiling.root(world)
    start = yield from _given(world, origin, "x")
    sketch = Sketch("scale")
    yield from sketch.set(world, "o", ["x", "x"], op="add")
    middle = yield from _compile(world, start, sketch)
    after = Sketch("after")
    yield from after.set(world, "y", ["o"], op="neg")
    leaf = yield from _compile(world, middle, after)
    _must(accepted((yield from do("adopt_ancestor", context=ref(leaf), ancestor=ref(middle)))))
    yield from _run(world, leaf, middle)
    yield from _run(world, leaf, leaf)
    yield from world.interlude()
    _must(accepted((yield from do("context.release", context=ref(leaf)))))
    dead = yield from do("sync", context=ref(middle))
    return refused_by(dead, "release/dead-handle")


def adopted_constant(world: ContextWorld) -> Plan[bool]:
    """A literal shared by two roots, overwritten by one, refused to the other until it adopts the value."""
    roots = [(yield from compiling.root(world)), (yield from compiling.root(world))]
    sketch = Sketch("shared")
    yield from sketch.set(world, "sum20", ["big"], by="i ->", accumulate="add", initialize=True)
    made = []
    for origin in roots:
        made.append((yield from _compile(world, origin, sketch)))
        yield from _run(world, made[-1], made[-1])
    yield from _given(world, made[0], "big")
    refusal = yield from running.checked_run(world, made[1], f"{made[1]}.routine")
    _must(refused_by(refusal, "run/foreign-write"))
    yield from world.interlude()
    copied = yield from make(world, "c", "copy_from", context=ref(made[1]), source=ref(made[0]), node=world.node("big"))
    _must(copied is not None)
    yield from _run(world, made[1], made[1])
    return True


def resumed_release(world: ContextWorld) -> Plan[bool]:
    """A release that fails between two pools, and the one that finishes it."""
    origin = yield from compiling.root(world)
    tip = yield from _given(world, (yield from _given(world, origin, "x")), "w1")
    yield from world.interlude()
    yield from do("inject", seam="finalize-before-free", **{"pass": 2})
    failed = not accepted((yield from do("context.release", context=ref(tip))))
    yield from do("census")
    yield from do("inject", seam="finalize-before-free", **{"pass": 0})
    if chance(world.chooser, 50):
        yield from do("get_values", context=ref(tip), node=world.node("x"))
    resumed = accepted((yield from do("context.release", context=ref(tip))))
    yield from do("context.release", context=ref(origin))
    return failed and resumed


STORIES: Final[dict[str, Story]] = {
    "two contributors and a propagator": contributors,
    "a fork released before its chain": early_fork,
    "an adoption": adoption,
    "an adopted constant": adopted_constant,
    "a resumed release": resumed_release,
}
"""The histories that a run of the machine must hold, accepted."""


def tell(world: ContextWorld) -> Plan[None]:
    """One of the stories; counted if every step of it was accepted."""
    name = pick(world.chooser, tuple(STORIES))
    world.told[name] += 0
    try:
        if (yield from STORIES[name](world)):
            world.told[name] += 1
    except _Broken:
        pass
