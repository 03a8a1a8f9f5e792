"""Small networks of the frontend: losses over shared trunks, their updates compiled in chains and siblings, and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.plans import compiling, running
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make, ref, refs

Plans = Plan[None]


def _tensor(world: ContextWorld, function: str, to: Sequence[Any] = (), **options: Any) -> Plan[str]:
    args: dict[str, Any] = {"make": function, **options}
    if to:
        args["to"] = [ref(entry) if isinstance(entry, str) else entry for entry in to]
    made = yield from make(world, "t", "tensor", **args)
    return made or ""


def losses(world: ContextWorld) -> Plan[tuple[list[str], list[str]]]:
    """One loss or two over a trunk of two parameters; the names of the losses and of the leaves to upload."""
    c = world.chooser
    x = yield from _tensor(world, "data", label="in", shape=[3])
    w = yield from _tensor(world, "param", label="p1", shape=[3])
    b = yield from _tensor(world, "param", label="p2", shape=[3])
    product = yield from _tensor(world, "mul", [w, x])
    trunk = yield from _tensor(world, pick(c, ("relu", "neg")), [product])
    shifted = yield from _tensor(world, "add", [trunk, b])
    made = [(yield from _tensor(world, "sum", [shifted]))]
    if chance(c, 60):
        other = yield from _tensor(world, "mul", [trunk, pick(c, (w, b, 2))])
        made.append((yield from _tensor(world, pick(c, ("sum", "mean")), [other])))
    if chance(c, 15):
        cut = yield from _tensor(world, "stop_gradient", [trunk])
        made.append((yield from _tensor(world, "sum", [(yield from _tensor(world, "mul", [cut, b]))])))
    return made, [x, w, b]


def train(world: ContextWorld) -> Plans:
    """Updates of each loss, with and without accumulation, compiled from here and there, and run."""
    c = world.chooser
    made, given = yield from losses(world)
    if not all([*made, *given]):
        return
    comps: list[str] = []
    for loss in made if chance(c, 80) else made[::-1]:
        yield from do("trainable", loss=ref(loss))
        comps += yield from _updates(world, loss)
    context = yield from compiling.root(world)
    for leaf in given:
        values = [c.integer(-2, 3) for _ in range(3)]
        context = (
            yield from make(world, "c", "set_values", context=ref(context), node=ref(leaf), values=values)
        ) or context
    yield from _compiled_and_run(world, context, comps)
    for name in [*made, given[1]]:
        yield from do("get_values", context=ref(world.contexts[-1]), node=ref(name))
        yield from do("get_values", context=ref(world.contexts[-1]), node={"grad": name})


def _updates(world: ContextWorld, loss: str) -> Plan[list[str]]:
    c = world.chooser
    steps = {"accum_steps": pick(c, (1, 2, 2, 0))} if chance(c, 40) else {}
    names = []
    if steps:
        names.append((yield from make(world, "p", "zero_params_grads", loss=ref(loss))))
    names.append((yield from make(world, "p", "grad_update", loss=ref(loss), **steps)))
    names.append((yield from make(world, "p", "sgd_update", loss=ref(loss), lr=pick(c, (0.5, 1, 0.25)))))
    if len(names) > 1 and chance(c, 15) and None not in names:
        names = [(yield from make(world, "p", "comp.sequence", comps=refs([name for name in names if name])))]
    for name in names:
        if name is not None:
            yield from do("comp.facts", comp=ref(name))
    return [name for name in names if name is not None]


def _compiled_and_run(world: ContextWorld, context: str, comps: list[str]) -> Plans:
    c = world.chooser
    origin, routines = context, []
    for name in comps:
        made = yield from compiling.compiled(world, context if chance(c, 85) else origin, name)
        if made is not None:
            routines.append(made)
            context = made if chance(c, 90) else context
    for _ in range(c.integer(1, 3)):
        for made in routines:
            yield from running.checked_run(world, routines[-1] if chance(c, 70) else made, f"{made}.routine")


def session(world: ContextWorld) -> Plans:
    """A closure that fails: nothing of the session compiles until it is rewound, and then not what it discarded."""
    c = world.chooser
    yield from do("session.closure")
    made, given = yield from losses(world)
    comps = (yield from _updates(world, made[0])) if made[0] and given[0] else []
    yield from do("session.closure", fail="a cable was pulled")
    for name in comps[:1]:
        yield from compiling.compiled(world, world.context(), name)
    yield from do("session.rewind")
    for name in comps[:2]:
        yield from compiling.compiled(world, world.context(), name)
    if chance(c, 60) and given[0]:
        context = world.context()
        yield from do("get_values", context=ref(context), node=ref(given[0]))
        yield from make(world, "c", "set_values", context=ref(context), node=ref(given[0]), values=[1, 2, 3])
        yield from do("tensor", make="neg", to=[ref(made[0])])
