"""Questions, and decisions for later compiles."""

from __future__ import annotations

from typing import Any

from counterfoil_oracles.machines.choices import chance, pick, some, weighted
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make, ref

Plans = Plan[None]


def facts(world: ContextWorld) -> Plans:
    """What a context says of every node, and why some of them cannot be read."""
    c = world.chooser
    context = world.context()
    labels = world.made_labels()
    yield from do("context.facts", context=ref(context), nodes=[world.node(label) for label in labels])
    for label in some(c, labels, 3):
        yield from do("explain_observability", context=ref(context), node=world.node(label))
    yield from do("compile_count")
    yield from do("poisoned", context=ref(context))


def kinship(world: ContextWorld) -> Plans:
    """Whether two contexts share a release unit."""
    yield from do("same_release_unit", context=ref(world.context()), other=ref(world.context()))
    yield from do("sync", context=ref(world.context()))


def declare(world: ContextWorld) -> Plans:
    """A declaration of a node strengthened after the fact."""
    c = world.chooser
    label = pick(c, world.made_labels()) if world.labels else None
    if label is None:
        return
    if chance(c, 60):
        what = pick(c, ("observable", "zero_valid", "context_owned"))
        yield from do("node.declare", node=world.node(label), what=what)
    else:
        intent = pick(c, ("constant", "virtual", "never_virtual", "local", "on_device"))
        yield from do("node.require", node=world.node(label), intent=intent)


def decide(world: ContextWorld) -> Plans:
    """Nodes decided, or preferred, for the compiles below a context."""
    c = world.chooser
    context = ref(world.context())
    labels = some(c, world.made_labels(), 4)
    nodes = [world.node(label) for label in labels]
    if chance(c, 75):
        reading = weighted(c, [(2, "materialized"), (2, "inline"), (1, "footprint")])
        yield from make(world, "c", "decide", context=context, reading=reading, nodes=nodes)
        return
    more: dict[str, Any] = {"skip_empty": False} if chance(c, 30) else {}
    yield from make(
        world, "c", "decide_readings", context=context, materialized=nodes[:1], inline=nodes[1:2], footprint=nodes[2:],
        **more,
    )  # fmt: skip
