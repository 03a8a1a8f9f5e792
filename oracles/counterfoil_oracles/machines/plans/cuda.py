"""Plans about CUDA devices: work in a row without a wait, work between devices, memory used again, pages borrowed."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.machines import shapes, values
from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.plans import making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs
from counterfoil_spec.dtypes import Dtype, bit, float4_e2m1fn, float32, int4, int8, int32, int64, uint4, uint8, uint16

_WHOLE: Final = (int32, uint8, int64, uint16, int8, int4, uint4)
"""Dtypes whose results leave no room, so that nothing waits for them."""

_NARROW: Final = (bit, int4, uint4, float4_e2m1fn)

PAGE: Final = 4096


def device(world: World) -> str:
    """A CUDA device that is not lost; the host if there is none."""
    devices = world.cuda_devices()
    return pick(world.chooser, devices) if devices else "host"


def empty(world: World, where: str, wanted: Dtype, shape: list[int], kind: str = "device") -> Plan[str | None]:
    """A fresh array."""
    return (yield from make(world, "a", "empty", device=ref(where), dtype=wanted.name, shape=shape, kind=kind))


def _array(world: World, where: str, wanted: Dtype, shape: list[int], kind: str = "device") -> Plan[str | None]:
    """A fresh array with drawn bytes, not waited for."""
    name = yield from empty(world, where, wanted, shape, kind)
    nbytes = world.buffer(name).nbytes if name is not None else 0
    if name is not None and nbytes:
        source = yield from make(world, "a", "host_array", dtype=wanted.name, shape=shape)
        if source is not None:
            yield from do("buffer.poke", buffer=ref(source), bytes=values.content(world.chooser, nbytes))
            yield from do("transfer", src=ref(source), dst=ref(name))
    return name


def chain(world: World) -> Plan[None]:
    """Kernels, copies, fills and submissions on two arrays of one device without a wait, and then a read of both."""
    c, where = world.chooser, device(world)
    wanted, shape = pick(c, _WHOLE), pick(c, ([4], [3, 5], [33], [2, 3, 4]))
    names = []
    for _ in range(2):
        kind = pick(c, ("device", "device", "pinned", "mapped"))
        names.append((yield from _array(world, where, wanted, shape, kind)))
    arrays = [name for name in names if name is not None]
    if len(arrays) < 2:
        return
    for _ in range(c.integer(2, 6)):
        one, other = pick(c, arrays), pick(c, arrays)
        match weighted(c, [(4, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5)]):
            case 0:
                yield from do("kernel", name=pick(c, ("add", "mul", "sub")), dst=ref(one), sources=refs([one, other]))
            case 1:
                yield from do("submit", device=ref(where), work="increment", reads=[], writes=refs([one]))
            case 2:
                yield from do("transfer", src=ref(one), dst=ref(other))
            case 3:
                yield from do("submit", device=ref(where), work="sum", reads=refs([one, other]), writes=refs([other]))
            case 4:
                yield from do("submit_fill", buffer=ref(one), byte=c.integer(0, 255))
            case _:
                yield from do("kernel", name="fill", dst=ref(one), sources=[], value=c.integer(0, 1))
    for name in arrays:
        yield from read(world, name)


def read(world: World, name: str) -> Plan[None]:
    """The elements of an array, by way of a copy on the host."""
    copied = yield from make(world, "a", "array.to_device", array=ref(name), device=ref("host"))
    if copied is not None:
        yield from do("array.to_values", array=ref(copied))


def crossing(world: World) -> Plan[None]:
    """Memory handed on: from the host to a device, to another, to a simulated one, changed at each, and back."""
    c = world.chooser
    wanted, shape = pick(c, (*_WHOLE, *_NARROW)), shapes.shape(c, 24)
    name = yield from _array(world, "host", wanted, shape)
    places = [*world.cuda_devices(), *world.cuda_devices(), "host", "near", "gpu"]
    places = [place for place in places if place not in world.lost]
    for _ in range(c.integer(2, 4)):
        if name is None:
            return
        where = pick(c, places)
        if chance(c, 30):
            moved = yield from empty(world, where, wanted, shape)
            if moved is not None:
                yield from do("transfer", src=ref(name), dst=ref(moved))
        else:
            moved = yield from make(world, "a", "array.to_device", array=ref(name), device=ref(where))
        if moved is not None and where != "host":
            work = pick(c, ("increment", "fill:9"))
            yield from do("submit", device=ref(where), work=work, reads=[], writes=[ref(moved)])
        if chance(c, 40):
            yield from do("submit", device=ref(where), work="increment", reads=[], writes=[ref(name)])
        name = moved
    if name is not None:
        yield from read(world, name)


def bounced(world: World) -> Plan[None]:
    """Elements to a place of the host's that is not in a row, and from there to a device, with no wait between."""
    c, where = world.chooser, device(world)
    wanted, count = pick(c, (*_WHOLE, *_NARROW)), c.integer(2, 9)
    wide = yield from make(world, "a", "host_array", dtype=wanted.name, shape=[2 * count])
    source = yield from _array(world, where, wanted, [count])
    if wide is None or source is None:
        return
    yield from making.fill(world, wide)
    spread = {"slice": [[c.integer(0, 1), count, 2]]}
    apart = yield from make(world, "a", "array.move", array=ref(wide), move=spread)
    whole = yield from _array(world, where, wanted, [2 * count])
    for _ in range(c.integer(1, 2)):
        target = yield from empty(world, device(world), wanted, [count])
        if apart is None or target is None or whole is None:
            return
        sent = pick(c, ((source, apart), (whole, wide)))
        yield from do("transfer", src=ref(sent[0]), dst=ref(sent[1]))
        yield from do("transfer", src=ref(apart), dst=ref(target))
        if chance(c, 50):
            yield from do("submit", device=ref(where), work="increment", reads=[], writes=refs([source]))
        yield from read(world, target)


def scattered(world: World) -> Plan[None]:
    """Elements that the host puts where a device reads them: pinned memory, named by the host."""
    c, where = world.chooser, device(world)
    wanted, count = pick(c, (*_WHOLE, *_NARROW)), c.integer(2, 9)
    pinned = yield from _array(world, where, wanted, [2 * count], pick(c, ("pinned", "mapped")))
    source = yield from _array(world, where, wanted, [count])
    copied = yield from empty(world, where, wanted, [2 * count])
    if pinned is None or source is None or copied is None:
        return
    lent = yield from make(world, "a", "array.borrow", array=ref(pinned), device=ref("host"))
    if lent is None:
        return
    spread = {"slice": [[c.integer(0, 1), count, 2]]}
    apart = yield from make(world, "a", "array.move", array=ref(lent), move=spread)
    if apart is not None:
        yield from do("transfer", src=ref(source), dst=ref(apart))
        yield from do("kernel", name="copy", dst=ref(copied), sources=[ref(pinned)])
        yield from read(world, copied)


def long_rows(world: World) -> Plan[None]:
    """Reductions of more terms than a warp has threads, along rows and columns, and the same of a row in a scan."""
    c, where = world.chooser, device(world)
    name = pick(c, ("sum", "mean", "max", "argmax", "prod", "mean"))
    wanted = float32 if name == "mean" else pick(c, (int32, float32, uint8))
    count = pick(c, (40, 65, 128, 300, 700))
    shape, axes = pick(c, (([count], [0]), ([2, count], [1]), ([count, 3], [0]), ([2, count], [0, 1])))
    left = [extent for axis, extent in enumerate(shape) if axis not in axes]
    source = yield from empty(world, where, wanted, shape)
    target = yield from empty(world, where, int64 if name == "argmax" else wanted, left)
    if source is None or target is None:
        return
    yield from do("kernel", name="iota", dst=ref(source), sources=[], axis=0)
    yield from do("kernel", name=name, dst=ref(target), sources=[ref(source)], axes=axes)
    if len(shape) == 1:
        yield from do("kernel", name="cumsum", dst=ref(source), sources=[ref(source)], axis=0)
    yield from read(world, target)


def pages(world: World) -> Plan[None]:
    """Whole pages of the host's memory, and memory that is not, borrowed by a device: work of both on them."""
    c, where = world.chooser, device(world)
    memory = {"bytes": values.content(c, 8), "format": "B", "pages": c.integer(1, 2), "readonly": chance(c, 15)}
    array = yield from make(world, "a", "from_buffer", dtype="uint8", object={**memory, "shape": []})
    if array is None:
        return
    if chance(c, 30):
        part = yield from make(world, "b", "array.buffer", array=ref(array))
        if part is not None:
            array = (yield from make(world, "b", "buffer.view", buffer=ref(part), first=8, nbytes=64)) or array
    what = "array.borrow" if world.roles[array] == "array" else "buffer.borrow"
    key = "array" if what == "array.borrow" else "buffer"
    lent = yield from make(world, "b", what, **{key: ref(array)}, device=ref(where))
    if lent is None:
        return
    yield from do("submit", device=ref(where), work="increment", reads=[], writes=[ref(lent)])
    if world.roles[lent] == "array" and chance(c, 60):
        own = yield from empty(world, where, uint8, world.shape(lent))
        if own is not None:
            yield from do("kernel", name="copy", dst=ref(own), sources=[ref(lent)])
            yield from do("kernel", name="add", dst=ref(lent), sources=refs([own, lent]))
    if world.roles[array] == "array":
        yield from do("array.get", array=ref(array), index=[c.integer(0, 9)])
    if chance(c, 50):
        yield from make(world, "b", "buffer.borrow", buffer=ref(lent), device=ref(pick(c, world.all("device"))))
    yield from do("drop", names=refs([lent]))


def recycled(world: World) -> Plan[None]:
    """Memory let go of with work under way, and memory of the same size taken at once: by the device, by the host."""
    c, where = world.chooser, device(world)
    kind, size = pick(c, ("device", "pinned", "mapped")), pick(c, (64, 100, 256))
    for _ in range(c.integer(2, 4)):
        name = yield from make(world, "b", "buffer", device=ref(where), nbytes=size, kind=kind)
        if name is None:
            return
        if kind != "device" and chance(c, 50):
            array = yield from making.over(world, name, uint8, [size])
            if array is not None:
                yield from do("kernel", name="fill", dst=ref(array), sources=[], value=c.integer(0, 255))
                yield from do("array.to_values", array=ref(array))
                yield from do("drop", names=refs([array]))
        for work in ("increment", f"fill:{c.integer(0, 255)}")[: c.integer(1, 2)]:
            yield from do("submit", device=ref(where), work=work, reads=[], writes=[ref(name)])
        if chance(c, 50):
            yield from do("buffer.free", buffer=ref(name), why="freed")
        yield from do("drop", names=refs([name]))


def mixed(world: World) -> Plan[None]:
    """A kernel over memory of several kinds: a device's own, pinned, the host's, another device's."""
    c, where = world.chooser, device(world)
    wanted, shape = pick(c, _WHOLE), pick(c, ([4], [0], [2, 3]))
    others = [name for name in ("host", "gpu", *world.cuda_devices()) if name not in world.lost]
    names = []
    for _ in range(3):
        away = pick(c, others) if chance(c, 35) else where
        kind = pick(c, making.KINDS)
        found = [0, *shape[1:]] if chance(c, 20) else shape
        name = yield from _array(world, away, wanted, found, kind)
        if name is not None and kind != "device" and away != "host" and chance(c, 40):
            name = (yield from make(world, "a", "array.borrow", array=ref(name), device=ref("host"))) or name
        names.append(name)
    operands = [name for name in names if name is not None]
    if len(operands) == 3:
        yield from do("kernel", name="add", dst=ref(operands[0]), sources=refs(operands[1:]))
        yield from do("kernel", name="sub", dst=ref(operands[1]), sources=refs(operands[::2]))


def neighbours(world: World) -> Plan[None]:
    """Elements narrower than a byte that share bytes with others: two arrays over one buffer, written in turn."""
    c, where = world.chooser, device(world)
    wanted = pick(c, _NARROW)
    count = c.integer(2, 40)
    base = yield from making.buffer(world, (2 * count * wanted.bits + 7) // 8 + 1, where)
    if base is None:
        return
    names = []
    for offset in (0, 1):
        layout = yield from make(world, "l", "layout", shape=[count], strides=[2], offset=offset)
        if layout is not None:
            args = {"dtype": wanted.name, "layout": ref(layout), "buffer": ref(base)}
            names.append((yield from make(world, "a", "array", **args)))
    arrays = [name for name in names if name is not None]
    for name in [*arrays, *arrays[:1]]:
        source = yield from _array(world, where, wanted, [count])
        if source is not None:
            if chance(c, 50):
                yield from do("kernel", name="copy", dst=ref(name), sources=[ref(source)])
            else:
                yield from do("transfer", src=ref(source), dst=ref(name))
    if arrays:
        yield from read(world, arrays[0])


def bounded(world: World) -> Plan[None]:
    """A budget just above what is live, memory that fits and memory that does not, work under way on what was live."""
    c, where = world.chooser, device(world)
    held = yield from make(world, "b", "buffer", device=ref(where), nbytes=64, kind=pick(c, making.KINDS))
    if held is None:
        return
    if where != "host":
        yield from do("submit", device=ref(where), work="increment", reads=[], writes=refs([held]))
    live = world.driver.half.inspection.live_bytes(world.named(where))
    yield from do("device.set_budget", device=ref(where), nbytes=live + pick(c, (0, 8, 32)))
    for nbytes in (pick(c, (8, 1)), pick(c, (32, 40))):
        yield from make(world, "b", "buffer", device=ref(where), nbytes=nbytes, kind=pick(c, making.KINDS))
    yield from do("device.set_budget", device=ref(where), nbytes=None)


def ordinals(world: World) -> Plan[None]:
    """Devices that the driver does not have, and the same device once more."""
    c = world.chooser
    yield from make(world, "d", "cuda", ordinal=pick(c, (64, -1, 2**70)))
    yield from do("device.advance", device=ref(device(world)), count=pick(c, (0, 1, 2)))
