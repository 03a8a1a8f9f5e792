"""Cycles: every routine of a path once, in compile order, which is what the gradient rules promise to add up (T3)."""

from __future__ import annotations

from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.contexts import shapes
from counterfoil_oracles.machines.contexts.plans import compiling, moving, running
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import node
from counterfoil_oracles.machines.contexts.world import ContextWorld, accepted
from counterfoil_oracles.machines.world import Plan, do, make, ref

Plans = Plan[None]


def whole_path(world: ContextWorld) -> Plans:
    """A path that is there, or a new one over gradients, run from end to end through its last value.

    Now and then a run of it is made again and taken back, and counts saved before it was compiled are put back.
    """
    c = world.chooser
    tips = [name for name in world.routines if world.is_live(name)][-4:]
    tip, saved = (pick(c, tips), None) if tips and chance(c, 35) else (yield from _line(world))
    path = [tip]
    while path[-1] in world.parents:
        path.append(world.parents[path[-1]])
    routines = [f"{name}.routine" for name in reversed(path) if name in world.routines]
    for _ in range(2 if chance(c, 30) else 1):
        for routine in routines:
            if not world.would_run(tip, routine):
                yield from running.bind_symbols(world, routine)
                yield from running.write_inputs(world, tip, routine)
            yield from running.checked_run(world, tip, routine)
    if routines and chance(c, 30):
        routine = pick(c, routines)
        if accepted((yield from running.checked_run(world, tip, routine))):
            yield from do("rollback", context=ref(tip), routine=ref(routine))
    if saved is not None:
        yield from do("restore_history", history=ref(saved))


def _line(world: ContextWorld) -> Plan[tuple[str, str | None]]:
    """Resets, contributions and propagations compiled in a line over data, those refused left out.

    The last value, and the counts saved before, if they were.
    """
    c = world.chooser
    context = (yield from compiling.root(world)) if chance(c, 60) else world.context()
    gradients = ("gh", "gw1", "gw2", "gy") if chance(c, 75) else ()  # that have a buffer, so that they are counted
    for label in ("x", "w1", "w2", *gradients):
        yield from node(world, label)
        if not world.holds(context, label):
            context = (yield from moving.set_values(world, context, label)) or context
    saved = (yield from make(world, "s", "save_history", context=ref(context))) if chance(c, 25) else None
    sketches = (yield from _one_trunk(world)) if chance(c, 50) else (yield from _any(world))
    for sketch in sketches:
        made = yield from compiling.comp_of(world, sketch, context)
        if made is not None:
            context = (yield from compiling.compiled(world, context, made)) or context
    return context, saved


def _any(world: ContextWorld) -> Plan[list[Sketch]]:
    """Of any gradients."""
    c, found = world.chooser, []
    for _ in range(c.integer(2, 4)):
        family = weighted(c, [(3, shapes.zeroing), (4, shapes.contribution), (3, shapes.propagation)])
        found.append((yield from family(world)))
    return found


def _one_trunk(world: ContextWorld) -> Plan[list[Sketch]]:
    """Of one trunk and one parameter: a reset, contributions and a propagation, mostly in a wrong order."""
    c = world.chooser
    zero, last = Sketch("zero"), Sketch("propagate")
    for gradient in ("gh", "gw1"):
        yield from zero.zero(world, gradient)
    found = [zero]
    for label in ("w1", "w2")[: c.integer(1, 2)]:
        one = Sketch("contribute")
        yield from one.contribute(world, pick(c, ("gh", "gh", "gw1")), ["x", label], "mul")
        found.append(one)
    yield from last.propagate(world, "gh", "gw1", "x")
    found.append(last)
    if chance(c, 30):
        found[-2:] = reversed(found[-2:])
    elif chance(c, 45):
        found.insert(c.integer(0, len(found) - 1), found.pop(c.integer(0, len(found) - 1)))
    return found
