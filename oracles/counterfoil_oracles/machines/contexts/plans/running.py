"""Runs: checked first, then carried out; bindings, timing, rollbacks, poison and histories."""

from __future__ import annotations

from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.contexts.plans import moving
from counterfoil_oracles.machines.contexts.universe import SYMBOLS, symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld, accepted, refused_by
from counterfoil_oracles.machines.world import Plan, do, make, ref
from counterfoil_spec.commands import Command, Outcome

Plans = Plan[None]


def checked_run(world: ContextWorld, context: str, routine: str, timing: bool = False) -> Plan[Outcome]:
    """check_runnable, then run; what came of the run."""
    pair = {"context": ref(context), "routine": ref(routine)}
    if chance(world.chooser, 20):
        yield from do("can_run", **pair)
    yield from do("check_runnable", **pair)
    args = {**pair, "timing": True} if timing else pair
    bind = world.fresh("c") if chance(world.chooser, 60) else None
    return (yield Command(do="run", args=args, bind=bind))


def run(world: ContextWorld) -> Plans:
    """A routine run: mostly one that would run, with the inputs it lacks given first."""
    c = world.chooser
    if not world.routines:
        return
    found = world.runnable() if chance(c, 60) else None
    context, routine = found if found is not None else (world.context(), world.routine())
    if found is None and chance(c, 60):
        context = routine.removesuffix(".routine") if chance(c, 70) else context
        yield from prepare(world, context, routine)
    outcome = yield from checked_run(world, context, routine, timing=chance(c, 4))
    if refused_by(outcome, "gradients/without-reset") and chance(c, 40):
        yield from _reset(world, context, routine)
    elif accepted(outcome) and chance(c, 25):
        yield from again(world, context, routine)


def again(world: ContextWorld, context: str, routine: str) -> Plans:
    """A routine run once more, and where a gradient must be reset before, after that too."""
    outcome = yield from checked_run(world, context, routine)
    if refused_by(outcome, "gradients/without-reset"):
        yield from _reset(world, context, routine)


def prepare(world: ContextWorld, context: str, routine: str) -> Plans:
    """Run what the routine depends on, bind its symbols, write its inputs, as far as that can be seen."""
    for _ in range(3):
        if world.would_run(context, routine):
            return
        yield from bind_symbols(world, routine)
        yield from write_inputs(world, context, routine)
        made = world.named(routine)
        for name in list(world.routines):
            other = world.named(f"{name}.routine")
            if other.routine_id in made.execution_deps and world.roots[name] == world.roots.get(context):
                if world.would_run(context, f"{name}.routine"):
                    yield from checked_run(world, context, f"{name}.routine")


def bind_symbols(world: ContextWorld, routine: str) -> Plans:
    """Values in range for the symbols of a routine that have none, or a wrong one."""
    for wanted in world.named(routine).bindings:
        greatest = wanted.greatest if wanted.greatest is not None else 3
        if wanted.value is None or not 0 <= wanted.value <= greatest:
            value = world.chooser.integer(0, greatest)
            yield from do("symbol.set", symbol=(yield from symbol(world, wanted.label)), value=value)


def write_inputs(world: ContextWorld, context: str, routine: str) -> Plans:
    """Values for the inputs of a routine that nobody wrote."""
    made = world.named(context)
    labels = {node.label: node for node in world.named(routine).inputs}
    for label, node in labels.items():
        if label in world.labels and world.is_live(context) and not made.buffer_written(node):
            yield from moving.set_values(world, context, label)


def _reset(world: ContextWorld, context: str, routine: str) -> Plans:
    """Write the gradients from outside, then run again."""
    for node in world.named(routine).outputs:
        if node.zero_valid and node.label in world.labels:
            yield from moving.set_values(world, context, node.label)
    yield from checked_run(world, context, routine)


def rebind(world: ContextWorld) -> Plans:
    """A symbol given a value: in range, at its edges, past them, none yet; then a routine that takes it."""
    c = world.chooser
    label = pick(c, tuple(SYMBOLS))
    value = weighted(c, [(60, c.integer(0, 2)), (10, 3), (6, 4), (6, -1), (4, 2**31), (4, 2**31 - 1), (2, 2**70)])
    yield from do("symbol.set", symbol=(yield from symbol(world, label)), value=value)
    takers = [name for name in world.routines if _takes(world, name, label)]
    if takers and chance(c, 60):
        yield from checked_run(world, takers[-1], f"{takers[-1]}.routine")


def _takes(world: ContextWorld, name: str, label: str) -> bool:
    return any(symbol.label == label for symbol in world.named(f"{name}.routine").bindings)


def check(world: ContextWorld) -> Plans:
    """The checks alone, from any context."""
    if world.routines:
        pair = {"context": ref(world.context()), "routine": ref(world.routine())}
        for what in ("can_run", "check_lineage_runnable", "check_launch_bindings", "routine.facts"):
            if what == "routine.facts":
                yield from do(what, routine=pair["routine"])
            else:
                yield from do(what, **pair)


def rollback(world: ContextWorld) -> Plans:
    """A run taken back: mostly one that has just been made."""
    c = world.chooser
    if not world.routines:
        return
    found = world.runnable()
    if found is not None and chance(c, 60):
        yield from checked_run(world, *found)
        yield from do("rollback", context=ref(found[0]), routine=ref(found[1]))
        if chance(c, 50):
            yield from checked_run(world, *found)
    elif chance(c, 10):
        yield from do("rollback", context=ref(world.context()), routine=999)
    else:
        yield from do("rollback", context=ref(world.context()), routine=ref(world.routine()))


def overtaken(world: ContextWorld) -> Plans:
    """A run taken back after another write of what it wrote."""
    found = world.runnable() if world.routines else None
    if found is None:
        return
    yield from checked_run(world, *found)
    labels = [node.label for node in world.named(found[1]).outputs if node.label in world.labels]
    if labels and world.holds(found[0], labels[0]):
        yield from moving.set_values(world, found[0], labels[0])
    yield from do("rollback", context=ref(found[0]), routine=ref(found[1]))


def poison(world: ContextWorld) -> Plans:
    """A lineage poisoned, and looked at; seldom, since nothing of it recovers: another root takes over."""
    if world.routines and chance(world.chooser, 50):
        context, routine = world.context(), world.routine()
        outcome = yield from do("poison", context=ref(context), routine=ref(routine), failure="the kernel died")
        yield from do("poisoned", context=ref(context))
        yield from do("sync", context=ref(context))
        yield from checked_run(world, routine.removesuffix(".routine"), routine)
        label = yield from moving.label_of(world, context, bound=True)
        yield from do("get_values", context=ref(context), node=world.node(label))
        yield from moving.set_values(world, context, label)
        if accepted(outcome):
            yield from make(world, "c", "context", backend="cpu", **({"threads": 2} if world.asynchronous else {}))


def history(world: ContextWorld) -> Plans:
    """Counts saved, a few runs, counts put back: what autotuning does."""
    c = world.chooser
    if world.histories and chance(c, 30):
        yield from do("restore_history", history=ref(pick(c, world.histories[-3:])))
        return
    saved = yield from make(world, "s", "save_history", context=ref(world.context()))
    for _ in range(c.integer(1, 3)):
        found = world.runnable() if world.routines else None
        if found is not None:
            yield from checked_run(world, *found, timing=chance(c, 60))
    if saved is not None and chance(c, 70):
        yield from do("restore_history", history=ref(saved))
        found = world.runnable() if world.routines else None
        if found is not None:
            yield from checked_run(world, *found)
