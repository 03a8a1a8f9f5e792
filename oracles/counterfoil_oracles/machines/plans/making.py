"""Plans that make what other plans need: buffers, arrays of a wanted dtype and shape, and arrays with a fault."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from counterfoil_oracles.machines import codes, shapes, values
from counterfoil_oracles.machines.choices import chance, pick, weighted
from counterfoil_oracles.machines.world import Plan, World, do, make, ref
from counterfoil_spec.dtypes import BUFFER_FORMATS, Dtype
from counterfoil_spec.interface import MemoryKind

KINDS: Final = tuple(kind.value for kind in MemoryKind)


def dtype(world: World) -> Dtype:
    """Any dtype; sub-byte ones twice as often."""
    narrow = [found for found in Dtype.all if found.bits < 8]
    return pick(world.chooser, [*Dtype.all, *narrow])


def device(world: World, admit: Callable[[str], bool] = lambda name: True) -> str:
    """A device that is not lost and that ``admit`` takes; the host if there is none."""
    names = [name for name in world.all("device") if name not in world.lost and name != "disk" and admit(name)]
    return pick(world.chooser, names) if names else "host"


def buffer(world: World, nbytes: int | None = None, on: str | None = None) -> Plan[str | None]:
    """A fresh buffer with drawn bytes, on the host or another device."""
    c = world.chooser
    size = weighted(c, [(40, 32), (20, 16), (15, 64), (10, 24), (5, 0), (5, 7), (5, 100)]) if nbytes is None else nbytes
    where = on or device(world)
    name = yield from make(world, "b", "buffer", device=ref(where), nbytes=size, kind=pick(c, ("device", *KINDS)))
    if name is not None and size and chance(c, 80):
        yield from do("buffer.poke", buffer=ref(name), bytes=values.content(c, size))
    return name


def fill(world: World, array: str) -> Plan[None]:
    """Give an array's buffer drawn bytes, once its work is done."""
    nbytes = world.buffer(array).nbytes
    if nbytes:
        if world.pending(array):
            yield from do("buffer.wait", buffer=ref(array), access="read_write")
        yield from do("buffer.poke", buffer=ref(array), bytes=_content(world, world.dtype(array), nbytes))


def _content(world: World, wanted: Dtype, nbytes: int) -> str:
    """Bytes for elements of a dtype: its edges, or any."""
    if chance(world.chooser, 40):
        return codes.elements(world.chooser, wanted, nbytes)
    return values.content(world.chooser, nbytes)


def over(world: World, name: str, wanted: Dtype, shape: list[int], distinct: bool = True) -> Plan[str | None]:
    """An array of a dtype and shape over a buffer, laid out as its bytes allow."""
    room = world.buffer(name).nbytes * 8 // wanted.bits
    place = shapes.layout(world.chooser, shape, room, distinct)
    layout = yield from make(world, "l", "layout", **place)
    if layout is None:
        return None
    return (yield from make(world, "a", "array", dtype=wanted.name, layout=ref(layout), buffer=ref(name)))


def fresh(world: World, wanted: Dtype, shape: list[int], on: str | None = None) -> Plan[str | None]:
    """A fresh array of a dtype and shape on a device, made in one of the ways there are, with drawn contents."""
    c, on = world.chooser, on or world.where
    if on == "host" and math.prod(shape) <= 24 and chance(c, 25):
        drawn = [values.value(c, wanted) for _ in range(math.prod(shape))]
        return (yield from make(world, "a", "from_values", dtype=wanted.name, shape=shape, values=drawn))
    if on == "host" and chance(c, 15):
        name = yield from make(world, "a", "host_array", dtype=wanted.name, shape=shape)
    elif chance(c, 55):
        spare = pick(c, (0, 0, 8, 16))
        base = yield from buffer(world, (math.prod(shape) * wanted.bits + 7) // 8 * pick(c, (1, 2, 3)) + spare, on)
        name = (yield from over(world, base, wanted, shape)) if base is not None else None
        if name is not None and chance(c, 40):
            yield from fill(world, name)
        return name
    else:
        name = yield from make(
            world, "a", "empty", device=ref(on), dtype=wanted.name, shape=shape, kind=pick(c, ("device", *KINDS))
        )
    if name is not None and chance(c, 85):
        yield from fill(world, name)
    return name


def operand(world: World, wanted: Dtype, shape: list[int], distinct: bool = False) -> Plan[str | None]:
    """A usable array of a dtype and shape: one there is, one over a buffer there is, or a fresh one."""
    c = world.chooser

    def fits(name: str) -> bool:
        return world.dtype(name) is wanted and world.shape(name) == shape and world.usable(name)

    found = [name for name in world.arrays(fits) if not distinct or writable(world, name)]
    if found and chance(c, 60):
        return pick(c, found)
    need = math.prod(shape) * wanted.bits

    def holds(name: str) -> bool:
        buffer = world.buffer(name)
        return world.usable(name) and buffer.nbytes * 8 >= need and (not distinct or buffer.access.value != "read")

    roomy = world.buffers(holds)
    if roomy and chance(c, 50):
        name = yield from over(world, pick(c, roomy), wanted, shape, distinct)
        if name is not None:
            return name
    where = device(world, world.near)
    return (yield from fresh(world, wanted, shape, where))


def writable(world: World, name: str) -> bool:
    """Whether an array can be written element by element."""
    return bool(world.named(name).layout.is_distinct) and world.buffer(name).access.value != "read"


# --- arrays with a fault ---------------------------------------------------------------------------------------------


def dead(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """An array whose buffer was consumed or freed."""
    found = world.arrays(lambda name: world.buffer(name).dead is not None)
    alike = [name for name in found if world.dtype(name) is wanted and world.shape(name) == shape]
    if alike:
        return pick(world.chooser, alike)
    name = yield from fresh(world, wanted, shape, pick(world.chooser, (world.where, device(world))))
    if name is None:
        return None
    owner = yield from make(world, "b", "array.buffer", array=ref(name))
    if chance(world.chooser, 50):
        yield from do("buffer.free", buffer=ref(name), why=pick(world.chooser, ("freed", "closed")))
    elif owner is not None:
        yield from consumed(world, owner)
    return name


def consumed(world: World, name: str) -> Plan[str | None]:
    """Donate a buffer and consume it; the new owner, or None."""
    held = yield from make(world, "c", "claims.enter", read=[], donate=[ref(name)])
    if held is None:
        return None
    yield from do("claims.exclusive", claims=ref(held), buffer=ref(name))
    why = pick(world.chooser, ("donated to mul", "donated to add", "taken"))
    owner = yield from make(world, "b", "claims.consume", claims=ref(held), buffer=ref(name), why=why)
    yield from do("claims.exit", claims=ref(held))
    return owner


def exclusive(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """An array whose memory is held exclusive by an open claim."""
    found = world.arrays(lambda name: world.buffer(name).claims[1])
    alike = [name for name in found if world.dtype(name) is wanted and world.shape(name) == shape]
    if alike:
        return pick(world.chooser, alike)
    name = yield from fresh(world, wanted, shape)
    if name is None:
        return None
    yield from make(world, "c", "claims.enter", read=[], donate=[ref(name)])
    return name


def read_only(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """An array over memory of an object that did not offer it for writing, or over a file opened for reading."""
    c = world.chooser
    nbytes = (math.prod(shape) * wanted.bits + 7) // 8
    drawn = values.content(c, nbytes)
    code = BUFFER_FORMATS.get(wanted)
    if code is not None and chance(c, 40):
        memory = {"bytes": drawn, "format": code, "shape": shape, "readonly": True}
        return (yield from make(world, "a", "from_buffer", dtype=wanted.name, object=memory))
    if chance(c, 30):
        path = world.fresh("f")
        world.files.append(path)
        yield from do("file", path=path, bytes=drawn)
        base = yield from make(world, "b", "disk.open", path=path)
        if base is not None:
            base = yield from make(world, "b", "buffer.borrow", buffer=ref(base), device=ref("host"))
    else:
        memory = {"bytes": drawn, "format": "B", "shape": [nbytes], "readonly": True}
        base = yield from make(world, "a", "from_buffer", dtype="uint8", object=memory)
    return (yield from over(world, base, wanted, shape)) if base is not None else None


def off_host(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """An array in memory that the host does not address."""
    where = device(world, lambda name: not world.addressable[name])
    if where == "host":
        made = yield from make(world, "d", "simulated", name="gpu", addressable=False)
        where = made or "host"
    return (yield from make(world, "a", "empty", device=ref(where), dtype=wanted.name, shape=shape, kind="device"))


def repeated(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """An array that reaches an element twice, where the shape has more than one index."""
    c = world.chooser
    need = (math.prod(shape) * wanted.bits + 7) // 8
    base = yield from buffer(world, need + 8, world.where)
    if base is None:
        return None
    strides = shapes.contiguous(shape)
    wide = [axis for axis, extent in enumerate(shape) if extent > 1]
    if wide:
        strides[pick(c, wide)] = 0
    layout = yield from make(world, "l", "layout", shape=shape, strides=strides, offset=0)
    if layout is None:
        return None
    return (yield from make(world, "a", "array", dtype=wanted.name, layout=ref(layout), buffer=ref(base)))


def lost(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """An array in the memory of a device that was lost after the array was made."""
    c = world.chooser
    where = yield from make(world, "d", "simulated", name=pick(c, ("tpu", "npu")), addressable=chance(c, 70))
    if where is None:
        return None
    name = yield from make(world, "a", "empty", device=ref(where), dtype=wanted.name, shape=shape, kind=pick(c, KINDS))
    if name is not None and chance(c, 40):
        yield from do("submit", device=ref(where), work="increment", reads=[], writes=[ref(name)])
    yield from do("device.lose", device=ref(where), why=pick(c, ("unplugged", "overheated")))
    return name


def pending(world: World, wanted: Dtype, shape: list[int]) -> Plan[str | None]:
    """A usable array whose memory has work to wait for."""
    c = world.chooser
    where = device(world, lambda name: world.near(name) and name != "host")
    if where == "host":
        made = yield from make(world, "d", "simulated", name="near", addressable=True)
        where = made or "host"
    name = yield from fresh(world, wanted, shape, where)
    if name is not None:
        work = pick(c, ("increment", "fill:5", "increment"))
        yield from do("submit", device=ref(where), work=work, reads=[], writes=[ref(name)])
    return name
