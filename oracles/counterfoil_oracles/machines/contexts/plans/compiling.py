"""Making roots and comps, and compiling them from any context."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.cuda.setting import Setting
from counterfoil_oracles.machines.choices import chance, pick, some, weighted
from counterfoil_oracles.machines.contexts import shapes
from counterfoil_oracles.machines.contexts.plans import running
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import dtype_of_program, node, symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld, Data, accepted
from counterfoil_oracles.machines.world import Plan, do, make, ref, refs
from counterfoil_spec.commands import Command

Plans = Plan[None]


def begin(world: ContextWorld) -> Plans:
    """A poison byte, a root or two."""
    c = world.chooser
    world.dtype_name = dtype_of_program(c)
    yield from do("poison", byte=pick(c, (0xFF, 0xA5, 0x7F, 0x01)))
    world.host = (yield from make(world, "host", "host")) or ""
    for ordinal in range(Setting.devices):
        yield Command(do="cuda", args={"ordinal": ordinal}, bind=f"cuda{ordinal}")
    world.asynchronous = chance(c, 5)
    world.computing = chance(c, 30)
    yield from root(world)
    if chance(c, 40):
        yield from root(world)


def root(world: ContextWorld) -> Plan[str]:
    """A new root of the program's kind, seldom of the other one."""
    c = world.chooser
    if Setting.devices and chance(c, 75 if world.cuda_devices() else 8):
        ordinal = c.integer(0, Setting.devices - 1) if chance(c, 40) else 0
        if f"cuda{ordinal}" in world.lost and world.cuda_devices() and chance(c, 92):
            ordinal = int(world.cuda_devices()[0][-1])
        made = yield from make(world, "c", "context", backend="cuda", ordinal=ordinal)
        assert made is not None
        return made
    threads = {"threads": pick(c, (2, 3))} if world.asynchronous != chance(c, 4) else {}
    made = yield from make(world, "c", "context", backend="cpu", **threads)
    assert made is not None
    return made


def another_root(world: ContextWorld) -> Plans:
    """One more root, or one that cannot be had."""
    c = world.chooser
    match weighted(c, [(6, 0), (2, 1), (1, 2), (1, 3)]):
        case 0:
            if len({world.roots[name] for name in world.contexts}) < 4:
                yield from root(world)
        case 1:
            yield from make(world, "c", "context", backend=pick(c, ("hip", "metal")))
        case 2:
            yield from make(world, "c", "context", backend="auto", name=pick(c, ("cc", "CPU", "cuda:0", "hip")))
        case _:
            yield from make(world, "c", "context", backend="cpu", ordinal=pick(c, (1, -1)))


# --- comps -----------------------------------------------------------------------------------------------------------


def comp_of(world: ContextWorld, sketch: Sketch, context: str | None = None) -> Plan[str | None]:
    """The comp of a sketch; mostly it embeds what the context it is meant for lacks."""
    args = sketch.args(world)
    if context is not None and chance(world.chooser, 85):
        args["embedded"] = _with_lacking(world, sketch, context, args["embedded"])
    return (yield from make(world, "p", "comp", **args))


def _with_lacking(world: ContextWorld, sketch: Sketch, context: str, embedded: list[Data]) -> list[Data]:
    lacking = [found for label, found in sketch.mentioned.items() if not world.holds(context, label)]
    return embedded + [found for found in lacking if found not in embedded]


def comp(world: ContextWorld, context: str) -> Plan[str | None]:
    """A comp to compile from that context: a new one, an earlier one, or several in sequence."""
    c = world.chooser
    if world.comps and chance(c, 30):
        return pick(c, world.comps[-6:])
    first = yield from comp_of(world, (yield from shapes.draw(world)), context)
    if first is None or not chance(c, 15):
        return first
    second = yield from comp_of(world, (yield from shapes.draw(world)), context)
    if second is None:
        return first
    named = {"label": "both"} if chance(c, 30) else {}
    return (yield from make(world, "p", "comp.sequence", comps=refs([first, second]), **named))


def compile_one(world: ContextWorld) -> Plans:
    """A comp compiled from some context."""
    context = world.context()
    made = yield from comp(world, context)
    if made is not None:
        yield from compiled(world, context, made)


def siblings(world: ContextWorld) -> Plans:
    """One comp, or two, compiled from the same context; now and then one is run from the other."""
    context = world.context()
    made = yield from comp(world, context)
    names = []
    for _ in range(2):
        if made is not None:
            names.append((yield from compiled(world, context, made)))
        if chance(world.chooser, 50):
            made = yield from comp(world, context)
    match names:
        case [str(first), str(second)] if chance(world.chooser, 40):
            yield from running.prepare(world, second, f"{first}.routine")
            yield from running.checked_run(world, second, f"{first}.routine")


def line(world: ContextWorld) -> Plans:
    """A few compiles, each from what the last returned."""
    context: str | None = world.context()
    for _ in range(world.chooser.integer(2, 4)):
        if context is None:
            return
        made = yield from comp(world, context)
        if made is not None:
            context = yield from compiled(world, context, made)


def gradients(world: ContextWorld) -> Plans:
    """A line of resets, contributions and propagations, then run in order; what is refused is left out."""
    context, c = world.context(), world.chooser
    routines = []
    for _ in range(c.integer(3, 5)):
        family = weighted(c, [(4, shapes.zeroing), (5, shapes.contribution), (2, shapes.propagation)])
        made = yield from comp_of(world, (yield from family(world)), context)
        if made is not None:
            child = yield from compiled(world, context, made)
            routines += [f"{child}.routine"] if child is not None else []
            context = child or context
    for routine in routines:
        yield from do("can_run", context=ref(context), routine=ref(routines[-1]))
        yield from running.prepare(world, context, routine)
        if accepted((yield from running.checked_run(world, context, routine))) and chance(c, 75):
            yield from running.again(world, context, routine)


def compiled(world: ContextWorld, context: str, made: str) -> Plan[str | None]:
    """A compile with, now and then, a name, bindings, a transform, prelowered code or a reuse cell."""
    c = world.chooser
    args: Data = {"context": ref(context), "comp": ref(made)}
    if chance(c, 14):
        args["name"] = pick(c, ("r", "s", "init"))
    if chance(c, 4):
        args["bindings"] = []
        for label in some(c, ("row", "any"), 2):
            args["bindings"].append((yield from symbol(world, label)))
    if chance(c, 10):
        args["transform"] = weighted(c, [(4, "each"), (4, "identity"), (1, "empty"), (1, "raise")])
    if chance(c, 4):
        args["reuse"] = yield from _reuse(world, context, made)
    if chance(c, 5):
        args["prelowered"] = yield from prelowered(world, world.chooser.integer(0, 4))
        args["name"] = "lowered"
    return (yield from make(world, "c", "compile", **args))


def _reuse(world: ContextWorld, context: str, made: str) -> Plan[Data]:
    fitting = [name for name, used in world.reuses.items() if used == (context, made) or chance(world.chooser, 30)]
    if fitting:
        return ref(pick(world.chooser, fitting))
    name = yield from make(world, "k", "reuse")
    assert name is not None
    world.reuses[name] = (context, made)
    return ref(name)


CROSSED: Final = 4
"""The form of loops by hand whose second nest's inner iterator is the first one's."""


def prelowered(world: ContextWorld, form: int) -> Plan[Data]:
    """Loops written by hand over vectors, in one of five forms."""
    c = world.chooser
    target, source = pick(c, ("h", "y", "gw1")), pick(c, ("x", "w1"))
    to, of = (yield from node(world, target)), (yield from node(world, source))
    value = {"apply": pick(c, ("add", "mul")), "to": [{"load": [of, ["i"]]}, 2]}
    body: list[Data]
    match form:
        case 0:
            body = [{"loop": ["i", 3, [{"store": [to, ["i"], value]}]]}]
        case 4:
            other = yield from node(world, "b")
            added = {"apply": "add", "to": [{"load": [other, ["k"]]}, {"load": [of, ["i"]]}]}
            inner = {"loop": ["i", 3, [{"store": [other, ["k"], added]}]]}
            body = [{"loop": ["i", 3, [{"store": [to, ["i"], value]}]]}, {"zero": other}, {"loop": ["k", 3, [inner]]}]
        case 1:
            added = {"apply": "add", "to": [{"load": [to, ["i"]]}, value]}
            body = [{"zero": to}, {"loop": ["i", 3, [{"store": [to, ["i"], added]}]]}]
        case 2:
            guarded = {"store": [to, ["i"], {"position": "2*i"}]}
            body = [{"loop": ["i", 3, [{"if": ["i", "2", [guarded]]}]]}]
        case _:
            body = [{"store": [to, ["1"], {"load": [of, ["2"]]}]}]
    made = yield from make(world, "low", "lowered", body=body)
    assert made is not None
    return ref(made)
