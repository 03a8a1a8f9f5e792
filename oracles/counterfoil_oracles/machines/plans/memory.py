"""Plans about devices, buffers, files, submitted work and claims."""

from __future__ import annotations

from typing import Any

from counterfoil_oracles.cuda.setting import Setting
from counterfoil_oracles.machines import values
from counterfoil_oracles.machines.choices import chance, pick, some, weighted
from counterfoil_oracles.machines.plans import making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs
from counterfoil_spec.commands import Command


def begin(world: World) -> Plan[None]:
    """The start of every program: a poison byte, the host, a device of each kind, the disk."""
    yield from do("poison", byte=pick(world.chooser, (165, 0, 255, 90, 127)))
    devices: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("host", "host", {}),
        ("gpu", "simulated", {"name": "gpu", "addressable": False}),
        ("near", "simulated", {"name": "near", "addressable": True}),
        ("disk", "disk", {}),
    )
    for name, what, args in devices:
        yield Command(do=what, args=args, bind=name)
    for ordinal in range(Setting.devices):
        yield Command(do="cuda", args={"ordinal": ordinal}, bind=f"cuda{ordinal}")


def new_buffer(world: World) -> Plan[None]:
    """A fresh buffer, sometimes of an impossible size or on the disk, or a view of one."""
    c = world.chooser
    if chance(c, 15):
        size = pick(c, (-1, 2**63, 0, 8))
        yield from make(
            world, "b", "buffer", device=ref(pick(c, ("disk", "host", "gpu"))), nbytes=min(size, 8), kind="device"
        )
        return
    yield from making.buffer(world)


def view(world: World) -> Plan[None]:
    """A view of a buffer: inside it, or one byte too far."""
    c = world.chooser
    names = world.buffers() + world.arrays()
    if not names:
        return
    name = pick(c, names)
    length = world.buffer(name).nbytes
    first = c.integer(0, length)
    nbytes = c.integer(0, length - first)
    if chance(c, 25):
        wrong = pick(c, ((first, length - first + 1), (-1, 1), (length + 1, 0), (0, -1), (2**63, 1), (1, 2**63 - 1)))
        yield from make(world, "b", "buffer.view", buffer=ref(name), first=wrong[0], nbytes=wrong[1])
    yield from make(world, "b", "buffer.view", buffer=ref(name), first=first, nbytes=nbytes)


def borrow(world: World) -> Plan[None]:
    """The same memory under another device, or None."""
    c = world.chooser
    names, devices = world.buffers(), world.all("device")
    if names and devices:
        yield from make(world, "b", "buffer.borrow", buffer=ref(pick(c, names)), device=ref(pick(c, devices)))


def free(world: World) -> Plan[None]:
    """Give memory back, often a view's, a claimed or a dead one's, which is refused."""
    c = world.chooser
    if chance(c, 50):
        base = yield from making.buffer(world, 16)
        if base is None:
            return
        if chance(c, 50):
            part = yield from make(world, "b", "buffer.view", buffer=ref(base), first=0, nbytes=8)
            if part is not None:
                yield from do("buffer.free", buffer=ref(part), why="freed")
        if chance(c, 50):
            held = yield from make(world, "c", "claims.enter", read=[ref(base)], donate=[])
            yield from do("buffer.free", buffer=ref(base), why="freed")
            if held is not None:
                yield from do("claims.exit", claims=ref(held))
        yield from do("buffer.free", buffer=ref(base), why=pick(c, ("freed", "closed")))
        return
    names = world.buffers()
    if names:
        yield from do("buffer.free", buffer=ref(pick(c, names)), why="freed")


def wait(world: World) -> Plan[None]:
    """Wait for an access of a buffer."""
    names = world.buffers() + world.arrays()
    if names:
        waiting = [name for name in names if world.pending(name)]
        name = pick(world.chooser, waiting if waiting and chance(world.chooser, 80) else names)
        yield from do("buffer.wait", buffer=ref(name), access=pick(world.chooser, ("read", "read_write")))


def export(world: World) -> Plan[None]:
    """Hand out a buffer for good."""
    names = world.buffers()
    if names:
        yield from do("buffer.export", buffer=ref(pick(world.chooser, names)))


def overlaps(world: World) -> Plan[None]:
    """Whether two buffers share a byte."""
    names = world.buffers() + world.arrays()
    if names:
        one, other = pick(world.chooser, names), pick(world.chooser, names)
        yield from do("buffer.overlaps", buffer=ref(one), other=ref(other))


# --- devices and files -----------------------------------------------------------------------------------------------


def new_device(world: World) -> Plan[None]:
    """Another device; sometimes one that this machine does not offer."""
    c = world.chooser
    if chance(c, 10):
        yield from make(world, "d", "cuda", ordinal=pick(c, (99, 2**70)))
    elif len(world.all("device")) < 8:
        yield from make(world, "d", "simulated", name=pick(c, ("gpu", "near", "far")), addressable=chance(c, 50))


def budget(world: World) -> Plan[None]:
    """A budget, an allocation that may not fit, and the budget lifted again."""
    c = world.chooser
    where = pick(c, world.all("device"))
    if chance(c, 20):
        yield from do("device.set_budget", device=ref(where), nbytes=-1)
    yield from do("device.set_budget", device=ref(where), nbytes=pick(c, (0, 8, 16, 100)))
    size = pick(c, (1, 16, 8, 200))
    yield from make(world, "b", "buffer", device=ref(where), nbytes=size, kind="device")
    if chance(c, 50):
        shape = [pick(c, (1, 4, 16))]
        if where != "disk":
            yield from make(world, "a", "empty", device=ref(where), dtype="int32", shape=shape, kind="device")
        yield from make(world, "a", "host_array", dtype="int16", shape=shape)
        yield from make(world, "a", "from_values", dtype="int8", shape=[2], values=[1, 2])
        for name in some(c, world.arrays(), 2):
            yield from make(world, "a", "array.copy", array=ref(name))
            yield from make(world, "a", "array.to_device", array=ref(name), device=ref(where))
    yield from do("device.set_budget", device=ref(where), nbytes=None)
    yield from make(world, "b", "buffer", device=ref(where), nbytes=size, kind="device")


def files(world: World) -> Plan[None]:
    """A file opened for reading or made anew, or one that is not there, or is there already."""
    c = world.chooser
    path = world.fresh("f")
    if chance(c, 50):
        if chance(c, 30):
            yield from make(world, "b", "disk.open", path=path)
        yield from do("file", path=path, bytes=values.content(c, pick(c, (0, 8, 16, 33))))
        yield from make(world, "b", "disk.open", path=path)
        yield from make(world, "b", "disk.create", path=path, nbytes=8)
        return
    made = yield from make(world, "b", "disk.create", path=path, nbytes=pick(c, (16, 0, 8, 33, -1)))
    if made is None:
        return
    world.files.append(path)
    yield from make(world, "b", "disk.create", path=path, nbytes=4)
    others = [name for name in world.buffers() if world.buffer(name).nbytes == world.buffer(made).nbytes]
    yield from do("submit_copy", src=ref(pick(c, others)), dst=ref(made))
    yield from do("file.bytes", path=path)


def advance(world: World) -> Plan[None]:
    """Perform some of a device's work."""
    c = world.chooser
    count = pick(c, (1, 1, 2, 0, 100)) if chance(c, 90) else pick(c, (-1, 2**63))
    yield from do("device.advance", device=ref(pick(c, world.all("device"))), count=count)


def lose(world: World) -> Plan[None]:
    """Lose a device, mostly one with work to perform; another is made where few are left."""
    c = world.chooser
    why = pick(c, ("unplugged", "overheated", "gone"))
    if chance(c, 25):
        yield from do("device.lose", device=ref(pick(c, ("host", "disk"))), why=why)
    kept = world.cuda_devices()
    if kept and chance(c, 15):
        kept = []
    names = [name for name in world.all("device") if name not in ("host", "disk", *kept)]
    if len([name for name in names if name not in world.lost]) < 3:
        for addressable in (False, True):
            yield from make(world, "d", "simulated", name="spare", addressable=addressable)
    if names and chance(c, 60):
        yield from do("device.lose", device=ref(pick(c, names)), why=why)


# --- work ------------------------------------------------------------------------------------------------------------


def submit(world: World) -> Plan[None]:
    """Queue work on a device's buffers; now and then on somebody else's, on the host, or work that raises."""
    c = world.chooser
    devices = [name for name in world.all("device") if name != "disk" or chance(c, 10)]
    where = pick(c, [name for name in devices if name != "host" or chance(c, 10)] or devices)
    own = [name for name in world.buffers() + world.arrays() if world.places[name].device == where]
    if not own or chance(c, 20):
        made = yield from making.buffer(world, pick(c, (16, 8, 32)), where if where != "disk" else "host")
        own += [made] if made is not None else []
    names = own if chance(c, 90) else world.buffers()
    work = weighted(c, [(40, "increment"), (30, "sum"), (25, f"fill:{c.integer(0, 255)}"), (2, "raise")])
    reads, writes = refs(some(c, names, 2)), refs(some(c, names, 2))
    if chance(c, 10):
        yield from do("submit", device=ref(pick(c, ("host", "disk"))), work=work, reads=reads, writes=writes)
    yield from do("submit", device=ref(where), work=work, reads=reads, writes=writes)


def submit_copy(world: World) -> Plan[None]:
    """Queue a copy between two buffers: of other lengths or of one memory first, now and then, and then a good one."""
    c = world.chooser
    names = world.buffers() + world.arrays()
    if not names:
        return
    src = pick(c, names)
    if chance(c, 30):
        yield from do("submit_copy", src=ref(src), dst=ref(pick(c, names)))
    alike = [name for name in names if world.buffer(name).nbytes == world.buffer(src).nbytes and world.live(name)]
    apart = [name for name in alike if world.places[name].memory != world.places[src].memory]
    if not apart or chance(c, 20):
        made = yield from making.buffer(world, world.buffer(src).nbytes)
        apart += [made] if made is not None else []
    if apart:
        yield from do("submit_copy", src=ref(src), dst=ref(pick(c, apart)))


def submit_fill(world: World) -> Plan[None]:
    """Queue a fill of a buffer, mostly with a byte."""
    names = world.buffers() + world.arrays()
    if names:
        name = pick(world.chooser, names)
        if chance(world.chooser, 20):
            yield from do("submit_fill", buffer=ref(name), byte=pick(world.chooser, (256, -1)))
        yield from do("submit_fill", buffer=ref(name), byte=world.chooser.integer(0, 255))


# --- claims ----------------------------------------------------------------------------------------------------------


def enter(world: World) -> Plan[None]:
    """Claim buffers for reading and for donation, ask and consume, and leave now or later."""
    c = world.chooser
    names = world.buffers() + world.arrays()
    alive = [name for name in names if world.live(name)] if chance(c, 90) else names
    donated, read = some(c, alive, 2), some(c, alive, 2)
    if chance(c, 60):
        donated = yield from _views(world)
    if chance(c, 70):
        taken = {world.places[name].memory for name in donated}
        read = [name for name in read if world.places[name].memory not in taken]
    held = yield from make(world, "c", "claims.enter", read=refs(read), donate=refs(donated))
    if held is None:
        return
    for name in donated + read[:1]:
        yield from do("claims.exclusive", claims=ref(held), buffer=ref(name))
    if donated and chance(c, 35):
        why = pick(c, ("donated to mul", "donated to add", "taken"))
        yield from make(world, "b", "claims.consume", claims=ref(held), buffer=ref(pick(c, donated)), why=why)
    if chance(c, 75) or len(world.holding) > 2:
        yield from leave(world, held)


def _views(world: World) -> Plan[list[str]]:
    """A view that leaves out part of its memory, or one that covers all of it."""
    c = world.chooser
    names = [name for name in world.buffers() if world.live(name) and world.buffer(name).nbytes > 1]
    base: str | None = pick(c, names) if names else (yield from making.buffer(world, 8))
    if base is None:
        return []
    nbytes = world.buffer(base).nbytes - chance(c, 80)
    found = yield from make(world, "b", "buffer.view", buffer=ref(base), first=0, nbytes=nbytes)
    return [found] if found is not None else []


def leave(world: World, held: str) -> Plan[None]:
    """Leave claims; sometimes ask them afterwards."""
    c = world.chooser
    yield from do("claims.exit", claims=ref(held))
    names = world.buffers()
    if names and chance(c, 15):
        yield from do("claims.exclusive", claims=ref(held), buffer=ref(pick(c, names)))
        yield from make(world, "b", "claims.consume", claims=ref(held), buffer=ref(pick(c, names)), why="taken")


def use_claims(world: World) -> Plan[None]:
    """Ask open claims about any buffer, consume through them, or leave them."""
    c = world.chooser
    if not world.holding:
        return
    held = pick(c, list(world.holding))
    names = world.holding[held] if world.holding[held] and chance(c, 60) else world.buffers()
    if names:
        yield from do("claims.exclusive", claims=ref(held), buffer=ref(pick(c, names)))
        if chance(c, 40):
            yield from make(
                world, "b", "claims.consume", claims=ref(held), buffer=ref(pick(c, names)), why="donated to x"
            )
    if chance(c, 50):
        yield from leave(world, held)


def probe(world: World) -> Plan[None]:
    """The end of every program: leave all claims, then donate each live buffer; what is exclusive is compared."""
    for held in list(world.holding):
        yield from do("claims.exit", claims=ref(held))
    for name in world.buffers() + world.arrays():
        if world.live(name):
            held_now = yield from make(world, "c", "claims.enter", read=[], donate=[ref(name)])
            if held_now is not None:
                yield from do("claims.exclusive", claims=ref(held_now), buffer=ref(name))
                yield from do("claims.exit", claims=ref(held_now))


def tidy(world: World) -> Plan[None]:
    """Forget the oldest objects where there are many, so that memory is collected while the program runs."""
    kept = {"host", "gpu", "near", "disk", "cuda0", "cuda1", *world.holding}
    donated = {name for names in world.holding.values() for name in names}
    names = [name for name in world.roles if name not in kept and name not in donated]
    if len(names) > 40:
        yield from do("drop", names=refs(names[: len(names) - 24]))
