"""Values moved: uploads, copies between contexts and roots, merge fills, host reads."""

from __future__ import annotations

from typing import Any

from counterfoil_oracles.machines.choices import Chooser, chance, pick, weighted
from counterfoil_oracles.machines.contexts.universe import SPECS, node, row_view
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.world import Plan, do, make, ref
from counterfoil_spec.programs.nodes import Node

Plans = Plan[None]


def value(chooser: Chooser, node: Node) -> Any:
    """One element: mostly a small whole number, for floats now and then a fraction or an odd one."""
    if node.dtype.name.startswith("int") or chance(chooser, 70):
        return chooser.integer(-3, 9)
    return pick(chooser, (0.5, -1.25, 0.1, 1e30, -0.0, 3.4e38, {"float": "7ff0000000000000"}, 1e-40))


def values(world: ContextWorld, label: str) -> list[Any]:
    """Elements for the node of that label."""
    found: Node = world.named(world.labels[label])
    return [value(world.chooser, found) for _ in range(found.size)]


def set_values(world: ContextWorld, context: str, label: str) -> Plan[str | None]:
    """Values for all elements of a node; the context they are in."""
    return (
        yield from make(
            world, "c", "set_values", context=ref(context), node=world.node(label), values=values(world, label)
        )
    )


def label_of(world: ContextWorld, context: str, bound: bool) -> Plan[str]:
    """A node's label: mostly of one the context binds, else any of the universe."""
    c = world.chooser
    held = world.bound(context, world.labels) if bound else []
    if held and chance(c, 80):
        return pick(c, held)
    label = pick(c, tuple(SPECS)) if chance(c, 30) or not world.labels else pick(c, world.made_labels())
    yield from node(world, label)
    return label


def upload(world: ContextWorld) -> Plans:
    """A node written from the host, whole or one element; now and then wrongly."""
    c = world.chooser
    context = world.context()
    label = yield from label_of(world, context, bound=chance(c, 70))
    found: Node = world.named(world.labels[label])
    if chance(c, 25) and found.size:
        index = [c.integer(0, extent - 1) for extent in found.shape]
        if chance(c, 8):
            index = pick(c, (index[:-1], [*index, 0], [entry + 9 for entry in index]))
        one = value(c, found) if chance(c, 92) else pick(c, ({"odd": "text"}, 2**80, {"odd": "true"}))
        yield from make(world, "c", "set_value", context=ref(context), node=world.node(label), index=index, value=one)
    elif chance(c, 30):
        yield from _from_host(world, context, label, found)
    else:
        given = values(world, label)
        if chance(c, 4):
            given = pick(c, (given[:-1], [*given, 1], [{"odd": "text"}] * len(given)))
        yield from make(world, "c", "set_values", context=ref(context), node=world.node(label), values=given)


def _from_host(world: ContextWorld, context: str, label: str, found: Node) -> Plans:
    c = world.chooser
    size = 1
    for extent in found.dims:
        size *= extent
    args: dict[str, Any] = {"values": [value(c, found) for _ in range(size)]}
    if chance(c, 8):
        args |= pick(c, ({"shape": [1, size]}, {"dtype": "float64" if world.dtype_name != "float64" else "float32"}))
        args["values"] = [c.integer(0, 5) for _ in range(size)]
    yield from make(world, "c", "from_host", context=ref(context), node=world.node(label), **args)


def copy(world: ContextWorld) -> Plans:
    """A node copied from one context into another, of this root or of another."""
    c = world.chooser
    source, target = world.context(), world.context()
    if chance(c, 30):
        apart = [name for name in world.contexts if world.roots[name] != world.roots[source]]
        target = pick(c, apart) if apart else target
    label = yield from label_of(world, source, bound=chance(c, 85))
    yield from make(world, "c", "copy_from", context=ref(target), source=ref(source), node=world.node(label))


def fresh_copy(world: ContextWorld) -> Plans:
    """A node copied into a live context that has no buffer for it, from one that does; one is written if none does."""
    c = world.chooser
    live = [name for name in world.contexts if world.is_live(name)]
    if not live:
        return
    apart = [label for label in ("x", "w1", "w2", "a") if len({bool(world.bound(name, (label,))) for name in live}) > 1]
    label = pick(c, apart or ("x", "w1", "a"))
    if not apart:
        yield from node(world, label)
        live.append((yield from set_values(world, pick(c, live), label)) or live[0])
    sources = [name for name in live if world.holds(name, label)]
    targets = [name for name in live if not world.holds(name, label)]
    if sources and targets:
        source, target = pick(c, sources), pick(c, targets)
        yield from make(world, "c", "copy_from", context=ref(target), source=ref(source), node=world.node(label))


def fill(world: ContextWorld) -> Plan[str | None]:
    """A merge fill, mostly of a node that readers of the merge buffer want."""
    c = world.chooser
    source, target = world.context(), world.context()
    label = pick(c, ("a", "a", "gw1", "w1"))
    yield from node(world, label)
    held = [name for name in world.contexts if world.holds(name, label) and world.is_live(name)]
    if held and chance(c, 85):
        source = pick(c, held)
    elif not held and chance(c, 80):
        source = (yield from set_values(world, source, label)) or source
    return (
        yield from make(
            world, "c", "copy_from", context=ref(target), source=ref(source), node=world.node(label),
            into_merge_buffer=True,
        )
    )  # fmt: skip


def merge_fill(world: ContextWorld) -> Plans:
    """A merge fill."""
    yield from fill(world)


def read_stored(world: ContextWorld) -> Plans:
    """A host read of a node that a live context binds, so that bytes move; one is written where none is bound."""
    c = world.chooser
    context = world.context()
    held = world.bound(context, world.labels)
    label = pick(c, held or ("x", "w1", "a"))
    if not held:
        yield from node(world, label)
        context = (yield from set_values(world, context, label)) or context
    yield from do(pick(c, ("to_host", "get_values")), context=ref(context), node=world.node(label))


def read(world: ContextWorld) -> Plans:
    """A host read of any kind."""
    c = world.chooser
    context = world.context()
    label = yield from label_of(world, context, bound=chance(c, 60))
    found: Node = world.named(world.labels[label])
    args = {"context": ref(context), "node": world.node(label)}
    match weighted(c, [(5, "to_host"), (5, "get_values"), (3, "get_value"), (2, "points"), (2, "all"), (1, "view")]):
        case "get_value":
            index = [c.integer(0, max(extent - 1, 0)) for extent in found.shape]
            yield from do("get_value", **args, index=index)
        case "points" if found.rank == 1 or (found.rank == 2 and found.shape[1] == 3):
            yield from do("points_1d", **args, **({"column": c.integer(0, 2)} if found.rank == 2 else {}))
            if found.rank == 2:
                yield from do("points_2d", **args, x=c.integer(0, 2), y=2)
        case "all":
            labels = [label, *(pick(c, world.made_labels()) for _ in range(c.integer(0, 3)))]
            yield from do("to_host_all", context=args["context"], nodes=[world.node(label) for label in labels])
        case "view":
            view = yield from row_view(world)
            yield from do("get_values", context=args["context"], node=view)
        case "to_host":
            yield from do("to_host", **args)
        case _:
            yield from do("get_values", **args)
