"""Routines over inputs that were given, compiled and run at once: what code is emitted for is carried out."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.contexts import numeric, shapes
from counterfoil_oracles.machines.contexts.plans import compiling, moving, running
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import SPECS, symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make

FAMILIES: Final = (
    (14, shapes.forward), (12, shapes.chain), (4, shapes.layers), (10, shapes.total), (6, shapes.matvec),
    (8, shapes.rows), (6, shapes.bound), (8, shapes.margins), (5, shapes.parts), (3, shapes.counter),
    (30, numeric.medley), (14, numeric.mixed), (12, numeric.padded), (9, numeric.shifted), (7, numeric.product),
    (5, numeric.two_symbols),
)  # fmt: skip
"""Families of code that computes something, in proportion to their weights."""


def compute(world: ContextWorld) -> Plan[None]:
    """One routine of these families, its inputs given first, run once or twice."""
    roots = [name for name in world.contexts if world.roots[name] == name and world.is_live(name)]
    context = pick(world.chooser, roots) if roots and chance(world.chooser, 50) else world.context()
    sketch: Sketch = yield from weighted(world.chooser, FAMILIES)(world)
    for label in sketch.mentioned:
        if _is_input(sketch, label) and not _is_written(world, context, label):
            context = (yield from moving.set_values(world, context, label)) or context
    args = sketch.args(world, everything=True)
    args["embedded"] = [found for label, found in sketch.mentioned.items() if label != "view"]
    comp = yield from make(world, "p", "comp", **args)
    made = None if comp is None else (yield from compiling.compiled(world, context, comp))
    if made is None:
        return
    yield from running.bind_symbols(world, f"{made}.routine")
    yield from running.checked_run(world, made, f"{made}.routine")
    if chance(world.chooser, 50):
        yield from _past_the_range(world, made)
    if chance(world.chooser, 60):
        for label in [label for label in sketch.mentioned if _is_input(sketch, label)][:1]:
            yield from moving.set_values(world, made, label)
        yield from running.checked_run(world, made, f"{made}.routine")


def _past_the_range(world: ContextWorld, made: str) -> Plan[None]:
    """A run with a symbol one past its range, or past what indexes hold, and the symbol put right again."""
    for wanted in world.named(f"{made}.routine").bindings[:1]:
        past = 2**31 if wanted.greatest is None else wanted.greatest + 1
        yield from do("symbol.set", symbol=(yield from symbol(world, wanted.label)), value=past)
        yield from running.checked_run(world, made, f"{made}.routine")
        yield from running.bind_symbols(world, f"{made}.routine")


def _is_input(sketch: Sketch, label: str) -> bool:
    return label not in sketch.written and label != "view" and "literal" not in SPECS.get(label, {})


def _is_written(world: ContextWorld, context: str, label: str) -> bool:
    found: bool = world.named(context).buffer_written(world.named(world.labels[label]))
    return found
