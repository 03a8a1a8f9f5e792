"""The loss of a CUDA device while runs may be under way, and all that can be asked of its contexts then."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.plans import compiling, moving, running
from counterfoil_oracles.machines.contexts.plans.devices import compiled, device_of, given, on
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make, ref

Plans = Plan[None]


def lose(world: ContextWorld) -> Plans:
    """A device lost while runs may be under way, and all that can be asked of its contexts then.

    Nothing crosses devices at that moment: what the other one would lose with it depends on how far the driver is.
    """
    c = world.chooser
    devices = [device for device in world.cuda_devices() if on(world, device)]
    if not devices:
        return
    device = pick(c, devices)
    for each in devices:
        yield from do("sync", context=ref(on(world, each)[-1]))
    steps = c.integer(0, 4)
    if steps and not _able(world, device):
        yield from _doubling(world, device)
    ran = None
    for _ in range(steps):
        ran = (yield from _step_on(world, device)) or ran
    yield from do("device.lose", device=ref(device), why=pick(c, ("unplugged", "overheated")))
    if ran is not None and chance(c, 30):
        yield from _poisoned(ran, ran)
    for _ in range(c.integer(3, 8)):
        yield from pick(c, _AFTERWARDS)(world, device)
    yield from compiling.root(world)


def _able(world: ContextWorld, device: str) -> list[str]:
    """The contexts on the device whose routines would run."""
    mine = [name for name in world.routines if device_of(world, name) == device and world.is_live(name)]
    return [name for name in mine if world.would_run(name, f"{name}.routine")]


def _doubling(world: ContextWorld, device: str) -> Plans:
    """A routine on the device that can run."""
    context = yield from given(world, on(world, device)[-1], "x")
    sketch = Sketch("doubling")
    yield from sketch.set(world, "o", ["x", "x"], op="add")
    yield from compiled(world, context, sketch)


def _step_on(world: ContextWorld, device: str) -> Plan[str | None]:
    """A run on the device, mostly, by its context's name; else an upload."""
    c, able = world.chooser, _able(world, device)
    if able and chance(c, 80):
        name = pick(c, able[-4:])
        yield from do("run", context=ref(name), routine=ref(f"{name}.routine"))
        return name
    context = pick(c, on(world, device)[-4:])
    label = yield from moving.label_of(world, context, bound=True)
    if world.holds(context, label):
        yield from moving.set_values(world, context, label)
    return None


def _of(world: ContextWorld, device: str) -> str:
    """A context of the lost device, live or not; where there is none any more, any."""
    c = world.chooser
    live = on(world, device)
    mine = live if live and chance(c, 85) else [name for name in world.contexts if device_of(world, name) == device]
    return pick(c, mine or world.contexts)


def _told(world: ContextWorld, device: str) -> Plans:
    context = ref(_of(world, device))
    first = ["sync", "poisoned"] if chance(world.chooser, 50) else ["poisoned", "sync"]
    for what in first:
        yield from do(what, context=context)
    yield from do("context.facts", context=context, nodes=[])


def _run(world: ContextWorld, device: str) -> Plans:
    names = [name for name in world.routines if device_of(world, name) == device]
    if names:
        name = pick(world.chooser, names)
        yield from running.checked_run(world, _of(world, device), f"{name}.routine")
        if chance(world.chooser, 40):
            yield from do("rollback", context=ref(name), routine=ref(f"{name}.routine"))


def _read(world: ContextWorld, device: str) -> Plans:
    context = _of(world, device)
    label = yield from moving.label_of(world, context, bound=True)
    yield from do(pick(world.chooser, ("to_host", "get_values")), context=ref(context), node=world.node(label))


def _write(world: ContextWorld, device: str) -> Plans:
    context = _of(world, device)
    label = yield from moving.label_of(world, context, bound=chance(world.chooser, 60))
    yield from moving.set_values(world, context, label)


def _copy(world: ContextWorld, device: str) -> Plans:
    c = world.chooser
    ends = [_of(world, device), world.context()]
    source, target = ends if chance(c, 60) else reversed(ends)
    label = yield from moving.label_of(world, source, bound=True)
    into = {"into_merge_buffer": True} if chance(c, 30) else {}
    yield from make(world, "c", "copy_from", context=ref(target), source=ref(source), node=world.node(label), **into)


def _compile(world: ContextWorld, device: str) -> Plans:
    context = _of(world, device)
    comp = yield from compiling.comp(world, context)
    if comp is not None:
        yield from compiling.compiled(world, context, comp)


def _poison(world: ContextWorld, device: str) -> Plans:
    context = _of(world, device)
    names = [name for name in world.routines if world.roots[name] == world.roots.get(context)]
    if names:
        yield from _poisoned(context, pick(world.chooser, names))


def _poisoned(context: str, made: str) -> Plans:
    yield from do("poison", context=ref(context), routine=ref(f"{made}.routine"), failure="the kernel died")


def _release(world: ContextWorld, device: str) -> Plans:
    yield from do("context.release", context=ref(_of(world, device)))


def _anew(world: ContextWorld, device: str) -> Plans:
    """A root on the lost device, which allocates."""
    made = yield from make(world, "c", "context", backend="cuda", ordinal=int(device[-1]))
    if made is not None:
        yield from given(world, made, "x")
        yield from do("sync", context=ref(made))


_AFTERWARDS: Final = (_told, _told, _run, _run, _read, _read, _write, _copy, _compile, _poison, _release, _anew)
