"""Contexts on two CUDA devices that reach into each other's memory, routines run again as graphs, fills elided."""

from __future__ import annotations

from typing import Any

from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts import shapes
from counterfoil_oracles.machines.contexts.plans import compiling, merging, moving
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import node, symbol
from counterfoil_oracles.machines.contexts.world import ContextWorld, Data
from counterfoil_oracles.machines.world import Plan, do, make, ref, refs

Plans = Plan[None]


def device_of(world: ContextWorld, context: str) -> str | None:
    """The name of a context's CUDA device, None for other contexts."""
    made: Any = world.named(context)
    return f"cuda{made.device.ordinal}" if made.backend_name == "cuda" else None


def on(world: ContextWorld, device: str) -> list[str]:
    """The live contexts on a CUDA device, oldest first."""
    return [name for name in world.contexts if device_of(world, name) == device and world.is_live(name)]


def compiled(world: ContextWorld, context: str, sketch: Sketch, **how: Any) -> Plan[str | None]:
    """A child whose routine writes all nodes of a sketch; None where the compile is refused."""
    comp = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
    if comp is None:
        return None
    return (yield from make(world, "c", "compile", context=ref(context), comp=ref(comp), **how))


def _some(world: ContextWorld) -> str | None:
    """A live context on a CUDA device, a late one; None where there is none."""
    there = [name for name in world.contexts if device_of(world, name) and world.is_live(name)]
    return pick(world.chooser, there[-4:]) if there else None


def given(world: ContextWorld, context: str, label: str) -> Plan[str]:
    """The context with values for a node, made where it is not yet."""
    yield from node(world, label)
    return (yield from moving.set_values(world, context, label)) or context


def _pair(world: ContextWorld) -> Plan[tuple[str, str] | None]:
    """A context on each of two devices, late ones or new ones; None where there are no two devices."""
    c, devices = world.chooser, world.cuda_devices()
    if len(devices) < 2:
        return None
    found = []
    for device in devices if chance(c, 50) else reversed(devices):
        there = on(world, device)
        if there and chance(c, 70):
            found.append(pick(c, there[-3:]))
            continue
        made = yield from make(world, "c", "context", backend="cuda", ordinal=int(device[-1]))
        assert made is not None
        found.append(made)
    return found[0], found[1]


def across(world: ContextWorld) -> Plans:
    """A run, and before it is waited for a copy from the other device over what it reads, or what it writes."""
    c, pair = world.chooser, (yield from _pair(world))
    if pair is None:
        return
    here, there = pair
    source, target = pick(c, ("x", "w1", "a")), pick(c, ("o", "b"))
    label = source if chance(c, 60) else target
    there = yield from given(world, there, label)
    here = yield from given(world, here, source)
    sketch = Sketch("across")
    yield from sketch.set(world, target, [source, "lit"], op=pick(c, ("add", "mul")))
    child = yield from compiled(world, here, sketch)
    if child is None:
        return
    for _ in range(c.integer(1, 2)):
        yield from do("run", context=ref(child), routine=ref(f"{child}.routine"))
        yield from do("copy_from", context=ref(child), source=ref(there), node=world.node(label))
        if chance(c, 70):
            yield from do("sync", context=ref(there))
        yield from do("get_values", context=ref(child), node=world.node(target))


def exchange(world: ContextWorld) -> Plans:
    """Each device's merge buffer filled from the other device, consumed, and filled again."""
    c, pair = world.chooser, (yield from _pair(world))
    if pair is None:
        return
    label = pick(c, ("a", "w1"))
    one = yield from given(world, pair[0], label)
    other = yield from given(world, pair[1], label)
    for source, target in ((one, other), (other, one))[: c.integer(1, 2)]:
        yield from _consumed(world, label, source, target)


def _consumed(world: ContextWorld, label: str, source: str, target: str) -> Plans:
    c = world.chooser
    filled = yield from merging.filled(world, label, source, target)
    if filled is None:
        return
    sketch = Sketch("consume")
    yield from sketch.set(world, "o", [{"merge": label}, "lit"], op="add")
    made = yield from compiled(world, filled, sketch)
    if made is None:
        return
    for _ in range(c.integer(1, 2)):
        if chance(c, 60):
            source = (yield from moving.set_values(world, source, label)) or source
            yield from merging.filled(world, label, source, made)
        yield from do("run", context=ref(made), routine=ref(f"{made}.routine"))
        if chance(c, 50):
            yield from moving.set_values(world, source, label)
            yield from merging.filled(world, label, source, made)
            yield from do("sync", context=ref(source))
        yield from do("get_values", context=ref(made), node=world.node("o"))


def replayed(world: ContextWorld) -> Plans:
    """A routine of several kernels run again and again, as a graph from the second run on, with much in between."""
    c, context = world.chooser, _some(world)
    if context is None:
        return
    sketch = Sketch("kernels")
    yield from sketch.set(world, "wide", ["big", "one"], op="add")
    yield from sketch.set(world, "o", ["x", "o"] if chance(c, 40) else ["x", "lit"], op="add")
    context = yield from given(world, context, "x")
    context = yield from given(world, context, "o")
    made = yield from compiled(world, context, sketch)
    if made is None:
        return
    for _ in range(c.integer(2, 5)):
        yield from do("run", context=ref(made), routine=ref(f"{made}.routine"))
        if chance(c, 60):
            yield from pick(c, (_upload_between, _taken_back, _look_between))(world, made)
    yield from do("context.release" if chance(c, 40) else "sync", context=ref(made))


def _upload_between(world: ContextWorld, made: str) -> Plans:
    yield from moving.set_values(world, made, pick(world.chooser, ("x", "o", "wide")))


def _taken_back(world: ContextWorld, made: str) -> Plans:
    yield from do("rollback", context=ref(made), routine=ref(f"{made}.routine"))


def _look_between(world: ContextWorld, made: str) -> Plans:
    yield from do("get_values", context=ref(made), node=world.node(pick(world.chooser, ("o", "wide"))))


def fused(world: ContextWorld) -> Plans:
    """What the emitter joins with care: a fill that something sees, loops that share an iterator. Run and compared."""
    c, context = world.chooser, _some(world)
    if context is None:
        return
    for label in ("x", "w1"):
        context = yield from given(world, context, label)
    sketch = yield from shapes.cleared(world)
    by_hand: Data = {}
    if chance(c, 30):
        by_hand = {"prelowered": (yield from compiling.prelowered(world, compiling.CROSSED)), "name": "lowered"}
    made = yield from compiled(world, context, sketch, **by_hand)
    if made is None:
        return
    for _ in range(2):  # what a fill left out should have cleared is there from the run before
        yield from do("run", context=ref(made), routine=ref(f"{made}.routine"))
    yield from do("sync", context=ref(made))


def behind(world: ContextWorld) -> Plans:
    """Runs of one routine with a value each, behind a copy that nobody has waited for: each takes its own value."""
    c, here = world.chooser, _some(world)
    if here is None:
        return
    here = yield from given(world, here, "o")
    sketch = Sketch("late")
    yield from sketch.fetch(world, "h", embed=(yield from symbol(world, "row")))
    yield from sketch.set(world, "o", ["h"], accumulate="add")
    child = yield from compiled(world, here, sketch)
    if child is None:
        return
    there = yield from make(world, "a", "context.buffer", context=ref(child), node=world.node("o"))
    late = yield from make(world, "d", "simulated", name="late", addressable=False)
    values = {"dtype": world.dtype_name, "shape": [3], "values": [5, 6, 7]}
    source = yield from make(world, "a", "from_values", **values)
    if there is None or late is None or source is None:
        return
    away = yield from make(world, "a", "array.to_device", array=ref(source), device=ref(late))
    if away is not None:
        yield from do("transfer", src=ref(away), dst=ref(there))
    # How far the late device is would be compared: where there are contexts the reference waits for nothing.
    yield from do("drop", names=refs([name for name in (there, away, late) if name is not None]))
    for _ in range(c.integer(1, 3)):
        yield from do("symbol.set", symbol=(yield from symbol(world, "row")), value=c.integer(0, 3))
        yield from do("run", context=ref(child), routine=ref(f"{child}.routine"))
    yield from do("get_values", context=ref(child), node=world.node("o"))
    yield from do("drop", names=refs([source]))
