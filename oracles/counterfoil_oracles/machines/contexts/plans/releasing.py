"""Releases, adoptions, forks, and failures injected at every seam."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.holdings import SEAMS
from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.contexts.plans import asking, compiling, moving, running
from counterfoil_oracles.machines.contexts.sketch import Sketch
from counterfoil_oracles.machines.contexts.universe import node
from counterfoil_oracles.machines.contexts.world import ContextPlan, ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make, ref, refs

Plans = Plan[None]

LEAST_LIVE: Final = 3
"""Releases mostly leave that many live contexts."""


def release(world: ContextWorld) -> Plans:
    """A context released: a late one, a fork, any; now and then twice, or a whole root."""
    c = world.chooser
    live = [name for name in world.contexts if world.is_live(name)]
    if len(live) <= LEAST_LIVE:
        yield from compiling.root(world)
        return
    leaves = [name for name in live if name not in world.parents.values()] or live
    name = pick(c, leaves) if chance(c, 75) else pick(c, live) if chance(c, 30) else pick(c, world.contexts)
    yield from do("context.release", context=ref(name))
    if chance(c, 25):
        yield from do("context.release", context=ref(name))
    if chance(c, 25):
        yield from asking.kinship(world)


def fork(world: ContextWorld) -> Plans:
    """Two uploads that allocate, from one value: the second is a fork; then either is released, or used."""
    yield from forked(world, world.context())


def forked(world: ContextWorld, context: str) -> Plans:
    """The same, from that value."""
    c = world.chooser
    free = [label for label in ("x", "w1", "w2", "a", "b", "m") if label not in world.bound(context, (label,))]
    if len(free) < 2:
        return
    made = []
    for label in free[:2]:
        yield from node(world, label)
        made.append((yield from moving.set_values(world, context, label)))
    names = [name for name in made if name is not None]
    if len(names) == 2:
        yield from do("same_release_unit", context=ref(names[0]), other=ref(names[1]))
        if chance(c, 50):
            yield from do("context.release", context=ref(pick(c, names)))
        if chance(c, 50):
            comp = yield from compiling.comp(world, names[1])
            if comp is not None:
                yield from compiling.compiled(world, names[1], comp)


def recycled(world: ContextWorld) -> Plans:
    """A literal whose last binder is released, then wanted again."""
    c, context = world.chooser, world.context()
    sketch = Sketch("recycled")
    yield from sketch.set(world, "o", ["rare"], op="neg")
    made = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
    for _ in range(2 if made is not None else 0):
        child = yield from compiling.compiled(world, context, str(made))
        if child is not None:
            yield from running.checked_run(world, child, f"{child}.routine")
            if chance(c, 80):
                yield from do("context.release", context=ref(child))


def adopt(world: ContextWorld) -> Plans:
    """A context adopts an ancestor, or what is none."""
    c = world.chooser
    context = world.context()
    chain = [context]
    while chain[-1] in world.parents:
        chain.append(world.parents[chain[-1]])
    kept = [name for name in chain[1:] if name in world.contexts]
    ancestor = pick(c, kept) if kept and chance(c, 80) else world.context()
    yield from do("adopt_ancestor", context=ref(context), ancestor=ref(ancestor))
    if chance(c, 40):
        yield from forked(world, context)


def inject(world: ContextWorld) -> Plans:
    """A failure at a seam, and a step that may pass it; then none any more."""
    c = world.chooser
    seam = pick(c, SEAMS)
    seams: str | list[str] = seam
    if seam == _CLEANUP:
        seams = [pick(c, _BEFORE_CLEANUP), seam]
    passes = 1 if seam == _CLEANUP or chance(c, 75) else 2
    yield from do("inject", seam=seams, **{"pass": passes})
    plan = _passing(world, seam)
    for _ in range(passes):
        yield from plan(world)
    if chance(c, 30):
        yield from running.run(world)
    yield from do("inject", seam=seams, **{"pass": 0})
    if chance(c, 60):
        yield from plan(world)


_CLEANUP: Final = "transfer-cleanup-before-await"
_BEFORE_CLEANUP: Final = ("transfer-pool-allocated", "init-from-device-before-await")
"""A failed copy gives its pool back past the first: it is passed only where one of the others failed before."""


def _passing(world: ContextWorld, seam: str) -> ContextPlan:
    """What mostly passes the seam."""
    if seam.startswith("finalize"):
        return release
    if seam in ("delta-pool-allocated", "link-after-delta"):
        return _allocating
    if seam.startswith("to-host"):
        return moving.read_stored
    if seam == _CLEANUP:
        return moving.fresh_copy
    if seam.startswith("from-host"):
        return pick(world.chooser, (moving.upload, fork))
    return pick(world.chooser, (moving.copy, moving.fresh_copy, moving.fresh_copy, fork))


def _allocating(world: ContextWorld) -> Plans:
    """A routine compiled that writes a node for which its context mostly has no buffer."""
    c, context = world.chooser, world.context()
    free = [label for label in ("o", "u", "y", "h") if label not in world.bound(context, (label,))]
    sketch = Sketch("allocating")
    yield from sketch.set(world, pick(c, free or ("o",)), [pick(c, ("x", "w1"))], op="neg")
    made = yield from make(world, "p", "comp", **sketch.args(world, everything=True))
    if made is not None:
        yield from compiling.compiled(world, context, made)


def budget(world: ContextWorld) -> Plans:
    """Little memory left, a step that wants some, and memory again."""
    c = world.chooser
    devices = world.all("device")
    where = pick(c, devices) if len(devices) > 1 else world.host
    live = world.driver.half.inspection.live_bytes(world.named(where))
    yield from do("device.set_budget", device=ref(where), nbytes=live + pick(c, (0, 8, 40, 100)))
    yield from pick(c, (compiling.compile_one, moving.upload, moving.copy, fork))(world)
    yield from do("device.set_budget", device=ref(where), nbytes=None)


def donate(world: ContextWorld) -> Plans:
    """A buffer of a context donated, and now and then consumed: what binds it is refused at the door."""
    c = world.chooser
    if not world.routines or world.asynchronous:
        return
    found = world.runnable()
    if found is None:
        return
    outputs = [each.label for each in world.named(found[1]).outputs if each.label in world.labels]
    if not outputs or not world.holds(found[0], outputs[0]):
        return
    array = yield from make(world, "a", "context.buffer", context=ref(found[0]), node=world.node(pick(c, outputs[:1])))
    if array is None:
        return
    held = yield from make(world, "d", "claims.enter", read=[], donate=refs([array]))
    yield from running.checked_run(world, *found)
    consumed = None
    if held is not None:
        if chance(c, 30):
            consumed = yield from make(
                world, "b", "claims.consume", claims=ref(held), buffer=ref(array), why="donated to mul"
            )
        yield from do("claims.exit", claims=ref(held))
    yield from do("drop", names=refs([name for name in (held, array, consumed) if name is not None]))
    yield from running.checked_run(world, *found)


def tidy(world: ContextWorld) -> Plans:
    """Forget the oldest contexts where there are many: nothing is released by that."""
    surplus = world.surplus()
    if len(surplus) > 8:
        yield from do("drop", names=refs(surplus))


def finish(world: ContextWorld) -> Plans:
    """Release all, roots last, and count what is left."""
    for name in sorted(world.contexts, key=lambda name: -int(world.named(name).lifecycle_depth)):
        yield from do("context.release", context=ref(name))
    yield from do("census")
