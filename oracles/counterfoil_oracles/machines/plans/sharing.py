"""Plans about memory with more than one user: two devices, two views, two holders of claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.plans import making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs


def across(world: World) -> Plan[None]:
    """Memory that another device works on, and accesses of it: the work may fail, and either device be lost."""
    c = world.chooser
    worker = yield from make(world, "d", "simulated", name=pick(c, ("near", "far")), addressable=True)
    owner: str | None = "host"
    if chance(c, 40):
        owner = yield from make(world, "d", "simulated", name="owner", addressable=True)
    if worker is None or owner is None:
        return
    array = yield from make(world, "a", "empty", device=ref(owner), dtype="uint8", shape=[8], kind="device")
    if array is None:
        return
    yield from making.fill(world, array)
    lent = yield from make(world, "b", "buffer.borrow", buffer=ref(array), device=ref(worker))
    if lent is None:
        return
    for _ in range(c.integer(1, 2)):
        yield from _work(world, worker, lent)
    for _ in range(weighted(c, [(50, 0), (30, 1), (20, 2)])):
        lost = pick(c, (worker, worker, owner))
        yield from do("device.lose", device=ref(lost), why=pick(c, ("unplugged", "overheated")))
    for _ in range(3):
        yield from pick(c, _ACCESSES)(world, array, lent, worker)
    if chance(c, 80):
        yield from do("drop", names=refs([lent, array, *(name for name in (worker, owner) if name != "host")]))


def _work(world: World, worker: str, lent: str) -> Plan[None]:
    """Queue work that reads the memory, writes it, or fails."""
    c = world.chooser
    reads, writes = pick(c, (([lent], []), ([], [lent]), ([lent], [lent])))
    work = weighted(c, [(50, "increment"), (25, "fill:7"), (25, "raise")])
    yield from do("submit", device=ref(worker), work=work, reads=refs(reads), writes=refs(writes))


def _wait(world: World, array: str, lent: str, worker: str) -> Plan[None]:
    access = pick(world.chooser, ("read", "read_write"))
    yield from do("buffer.wait", buffer=ref(pick(world.chooser, (array, lent))), access=access)


def _export(world: World, array: str, lent: str, worker: str) -> Plan[None]:
    yield from do("buffer.export", buffer=ref(array))


def _element(world: World, array: str, lent: str, worker: str) -> Plan[None]:
    if chance(world.chooser, 50):
        yield from do("array.set", array=ref(array), index=[0], value=1)
    yield from do("array.get", array=ref(array), index=[0])


def _kernel(world: World, array: str, lent: str, worker: str) -> Plan[None]:
    yield from do("kernel", name="fill", dst=ref(array), sources=[], value=3)


def _copy(world: World, array: str, lent: str, worker: str) -> Plan[None]:
    yield from make(world, "a", "array.copy", array=ref(array))


def _device(world: World, array: str, lent: str, worker: str) -> Plan[None]:
    """What the worker itself still does."""
    yield from do("device.advance", device=ref(worker), count=1)
    yield from make(world, "b", "buffer", device=ref(worker), nbytes=4, kind="device")
    yield from _work(world, worker, lent)


_ACCESSES: Final[tuple[Callable[[World, str, str, str], Plan[None]], ...]] = (
    _wait, _export, _element, _kernel, _copy, _device,
)  # fmt: skip


def halves(world: World) -> Plan[None]:
    """Two views that meet inside a buffer: they share no byte, whoever asks."""
    c = world.chooser
    base = yield from making.buffer(world, 16, "host")
    at = pick(c, (8, 8, 4, 15))
    if base is None:
        return
    one = yield from make(world, "b", "buffer.view", buffer=ref(base), first=0, nbytes=at)
    other = yield from make(world, "b", "buffer.view", buffer=ref(base), first=at, nbytes=16 - at)
    if one is None or other is None:
        return
    yield from do("buffer.overlaps", buffer=ref(one), other=ref(other))
    yield from do("submit_copy", src=ref(other), dst=ref(one))
    held = yield from make(world, "c", "claims.enter", read=[ref(one)], donate=[ref(other)])
    if held is not None:
        yield from do("claims.exit", claims=ref(held))


def holders(world: World) -> Plan[None]:
    """A donation of memory that somebody else holds too; let go in either order, and donated once more."""
    c = world.chooser
    base = yield from making.buffer(world, 8, "host")
    if base is None:
        return
    first = yield from make(world, "c", "claims.enter", read=[ref(base)], donate=[])
    second = yield from make(world, "c", "claims.enter", read=[], donate=[ref(base)])
    held = [name for name in (first, second) if name is not None]
    for name in held:
        yield from do("claims.exclusive", claims=ref(name), buffer=ref(base))
    if chance(c, 40) and held:
        name, why = pick(c, held), pick(c, ("donated to mul", "taken"))
        base = (yield from make(world, "b", "claims.consume", claims=ref(name), buffer=ref(base), why=why)) or base
    for name in held if chance(c, 50) else held[::-1]:
        yield from do("claims.exit", claims=ref(name), **({"raise": True} if chance(c, 30) else {}))
    yield from making.consumed(world, base)
