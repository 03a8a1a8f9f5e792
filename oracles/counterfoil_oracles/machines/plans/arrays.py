"""Plans about arrays: making them, viewing them, reading and writing elements, copying and sharing."""

from __future__ import annotations

import math
from typing import Any, Final

from counterfoil_oracles.machines import shapes, values
from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.plans import making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref
from counterfoil_spec.dtypes import BUFFER_FORMATS, Dtype, uint8

_FAULTS: Final = (making.dead, making.exclusive, making.off_host, making.lost)


def new_array(world: World) -> Plan[None]:
    """An array over a buffer there is, where it mostly fits, or a fresh one."""
    c = world.chooser
    names = [name for name in world.buffers() + world.arrays() if world.live(name) or chance(c, 10)]
    wanted, shape = making.dtype(world), shapes.shape(c)
    if not names or chance(c, 40):
        yield from making.fresh(world, wanted, shape, making.device(world))
        return
    name = pick(c, names)
    if chance(c, 15):
        room = world.buffer(name).nbytes * 8 // wanted.bits + pick(c, (0, 1, 1, 4))
        place = shapes.layout(c, [room], room + pick(c, (0, 1)))
        layout = yield from make(world, "l", "layout", **place)
        if layout is not None:
            yield from make(world, "a", "array", dtype=wanted.name, layout=ref(layout), buffer=ref(name))
    yield from making.over(world, name, wanted, shape, distinct=chance(c, 60))


def wrong_shapes(world: World) -> Plan[None]:
    """Fresh arrays of impossible shapes, or with too many or too few values."""
    c = world.chooser
    shape = pick(c, ([-1], [2**53 + 1], [2**27, 2**27], [0, 2**60], [1] * 33, [2, -3, 4], [2**52, 2**52, 0], [2**53]))
    wanted = making.dtype(world).name
    if shape != [2**53] or wanted in ("complex128", "float64"):
        yield from make(world, "a", "host_array", dtype=wanted, shape=shape)
        yield from make(world, "a", "empty", device=ref(pick(c, ("host", "gpu", "disk"))), dtype=wanted, shape=shape)
    yield from make(world, "a", "from_values", dtype=wanted, shape=shape if chance(c, 50) else [2], values=[])
    yield from make(world, "a", "empty", device=ref(pick(c, ("host", "disk"))), dtype=wanted, shape=[pick(c, (0, 2))])


def from_values(world: World) -> Plan[None]:
    """An array of values, one of them sometimes wrong, and then right again."""
    c = world.chooser
    wanted, shape = making.dtype(world), shapes.shape(c, 12)
    drawn = [values.value(c, wanted) for _ in range(math.prod(shape))]
    if drawn and chance(c, 40):
        at = c.integer(0, len(drawn) - 1)
        wrong = [*drawn[:at], values.wrong_value(c, wanted), *drawn[at + 1 :]]
        yield from make(world, "a", "from_values", dtype=wanted.name, shape=shape, values=wrong)
    if chance(c, 15):
        more = [*drawn, values.value(c, wanted)]
        yield from make(world, "a", "from_values", dtype=wanted.name, shape=shape, values=more)
    yield from make(world, "a", "from_values", dtype=wanted.name, shape=shape, values=drawn)


def from_buffer(world: World) -> Plan[None]:
    """An array over an object's memory: of its format or another, aligned or not, in C order or not."""
    c = world.chooser
    wanted = pick(c, list(BUFFER_FORMATS))
    shape = shapes.shape(c, 12)
    memory: dict[str, Any] = {
        "bytes": values.content(c, math.prod(shape) * wanted.bits // 8),
        "format": BUFFER_FORMATS[wanted],
        "shape": shape,
        "readonly": chance(c, 40),
    }
    if len(shape) <= 16:
        spoiled = _spoiled(world, memory, wanted)
        if spoiled is not None:
            yield from make(world, "a", "from_buffer", dtype=wanted.name, object=spoiled)
        if chance(c, 20):
            yield from make(
                world, "a", "from_buffer", dtype=wanted.name, object={"odd": pick(c, ("none", "half", "dict"))}
            )
        if chance(c, 20):
            yield from make(world, "a", "from_buffer", dtype=making.dtype(world).name, object=memory)
        yield from make(world, "a", "from_buffer", dtype=wanted.name, object=memory)


def _spoiled(world: World, memory: dict[str, Any], wanted: Dtype) -> dict[str, Any] | None:
    """The object with one fault, or None."""
    shape = memory["shape"]
    match world.chooser.integer(0, 5):
        case 0 if 0 not in shape and shape and wanted.bits > 8 and memory["format"] in "dfqQiIhH":
            return {**memory, "skip": 1}
        case 1 if shape and shape[0] > 1 and math.prod(shape) > 1:
            return {**memory, "reversed": True}
        case 2 if wanted.bits == 32:
            return {**memory, "format": "f" if memory["format"] == "i" else "i"}
    return None


# --- views -----------------------------------------------------------------------------------------------------------


def move(world: World) -> Plan[None]:
    """A view of an array by a move; a wrong one first, now and then."""
    c = world.chooser
    names = world.arrays()
    if not names:
        return
    name = pick(c, names)
    if chance(c, 30):
        yield from make(world, "a", "array.move", array=ref(name), move=shapes.wrong_move(c, world.shape(name)))
    yield from make(world, "a", "array.move", array=ref(name), move=shapes.move(c, world.shape(name)))


def bitcast(world: World) -> Plan[None]:
    """An array's bits at another dtype."""
    names = world.arrays()
    if names:
        name = pick(world.chooser, names)
        yield from make(world, "a", "array.bitcast", array=ref(name), dtype=making.dtype(world).name)


def bitcast_rank(world: World) -> Plan[None]:
    """A narrowing bitcast of 32 axes, and one of 31."""
    for rank in (32, 31):
        name = yield from make(world, "a", "host_array", dtype="uint16", shape=[1] * rank)
        if name is not None:
            yield from make(world, "a", "array.bitcast", array=ref(name), dtype="uint8")


def expect(world: World) -> Plan[None]:
    """An array at the dtype it has, or at another."""
    names = world.arrays()
    if names:
        name = pick(world.chooser, names)
        yield from make(world, "a", "array.expect", array=ref(name), dtype=making.dtype(world).name)
        yield from make(world, "a", "array.expect", array=ref(name), dtype=world.dtype(name).name)


def borrow(world: World) -> Plan[None]:
    """An array under another device, or its buffer by name."""
    c = world.chooser
    names = world.arrays()
    if names:
        name = pick(c, names)
        yield from make(world, "a", "array.borrow", array=ref(name), device=ref(pick(c, world.all("device"))))
        if chance(c, 30):
            yield from make(world, "b", "array.buffer", array=ref(name))


# --- elements --------------------------------------------------------------------------------------------------------


def subject(world: World, written: bool) -> Plan[tuple[str, str | None] | None]:
    """An array to look at and, now and then, one like it with a fault."""
    c = world.chooser
    names = world.arrays(lambda name: world.usable(name) and (not written or making.writable(world, name)))
    waiting = [name for name in names if world.pending(name)]
    name: str | None = pick(c, waiting if waiting and chance(c, 40) else names) if names else None
    if name is None or chance(c, 15):
        name = yield from making.pending(world, making.dtype(world), shapes.shape(c, 12))
    if name is None:
        return None
    faulty = None
    if chance(c, 35):
        faults = (*_FAULTS, making.read_only, making.repeated) if written else _FAULTS
        faulty = yield from pick(c, faults)(world, world.dtype(name), world.shape(name))
    return name, faulty


def index(world: World, shape: list[int]) -> list[int]:
    """An index of a shape; outside it where the shape has none."""
    return [world.chooser.integer(0, max(extent - 1, 0)) for extent in shape]


def wrong_index(world: World, shape: list[int]) -> list[Any]:
    """An index of another rank, or with an entry outside its axis or of a foreign kind."""
    c = world.chooser
    good: list[Any] = list(index(world, shape))
    if not good or chance(c, 25):
        return [*good, 0]
    at = c.integer(0, len(good) - 1)
    good[at] = pick(c, (-1, shape[at], 2**63, {"odd": "true"}, {"odd": "half"}))
    return good


def get(world: World) -> Plan[None]:
    """Read an element: with a wrong index, of a faulty array, and rightly."""
    chosen = yield from subject(world, written=False)
    if chosen is None:
        return
    name, faulty = chosen
    shape = world.shape(name)
    at = index(world, shape)
    if chance(world.chooser, 25):
        yield from do("array.get", array=ref(name), index=wrong_index(world, shape))
    if faulty is not None:
        yield from do("array.get", array=ref(faulty), index=at)
    yield from do("array.get", array=ref(name), index=at)


def set_element(world: World) -> Plan[None]:
    """Write an element: a wrong value, a wrong index, into a faulty array, and rightly."""
    chosen = yield from subject(world, written=True)
    if chosen is None:
        return
    name, faulty = chosen
    shape, drawn = world.shape(name), values.value(world.chooser, world.dtype(name))
    at = index(world, shape)
    if chance(world.chooser, 25):
        wrong = values.wrong_value(world.chooser, world.dtype(name))
        yield from do("array.set", array=ref(name), index=at, value=wrong)
    if chance(world.chooser, 10):
        yield from do("array.set", array=ref(name), index=wrong_index(world, shape), value=drawn)
    if faulty is not None:
        yield from do("array.set", array=ref(faulty), index=at, value=drawn)
    yield from do("array.set", array=ref(name), index=at, value=drawn)


def to_values(world: World) -> Plan[None]:
    """All elements in order, of a faulty array first."""
    chosen = yield from subject(world, written=False)
    for name in reversed(chosen or ()):
        if name is not None:
            yield from do("array.to_values", array=ref(name))


def host_views(world: World) -> Plan[None]:
    """Reading, writing and exporting; mostly of arrays that can be viewed so."""
    c = world.chooser
    chosen = yield from subject(world, written=True)
    if chosen is None:
        return
    name, faulty = chosen
    what = pick(c, ("array.reading", "array.writing", "array.writing", "array.reading", "array.export"))
    if chance(c, 75):
        wanted, shape = pick(c, list(BUFFER_FORMATS)), shapes.shape(c, 12)[:16]
        fitting = yield from making.fresh(world, wanted, shape)
        name = fitting if fitting is not None else name
        faulty = (yield from pick(c, (*_FAULTS, making.read_only))(world, wanted, shape)) if chance(c, 40) else None
    for array in (faulty, name):
        if array is not None:
            yield from _view(world, what, array)


def view_rank(world: World) -> Plan[None]:
    """Host views of 17 axes, and of 16."""
    what = pick(world.chooser, ("array.reading", "array.writing", "array.export"))
    for rank in (17, 16):
        name = yield from make(world, "a", "from_values", dtype="int8", shape=[1] * rank, values=[5])
        if name is not None:
            yield from _view(world, what, name)


def _view(world: World, what: str, array: str) -> Plan[None]:
    nbytes = world.size(array) * world.dtype(array).bits // 8
    if what == "array.writing":
        yield from do(what, array=ref(array), bytes=values.content(world.chooser, nbytes))
    else:
        yield from do(what, array=ref(array))


# --- copies ----------------------------------------------------------------------------------------------------------


def copy(world: World) -> Plan[None]:
    """A copy on the same device or on another, of a faulty array first."""
    c = world.chooser
    names = world.arrays()
    if not names:
        return
    name, where = pick(c, names), pick(c, world.all("device"))
    if chance(c, 25):
        faulty = yield from pick(c, _FAULTS)(world, world.dtype(name), world.shape(name))
        if faulty is not None:
            yield from _copied(world, faulty, where)
    yield from _copied(world, name, where)


def _copied(world: World, name: str, where: str) -> Plan[None]:
    if chance(world.chooser, 60):
        yield from make(world, "a", "array.to_device", array=ref(name), device=ref(where))
    else:
        yield from make(world, "a", "array.copy", array=ref(name))


def transfer(world: World) -> Plan[None]:
    """Elements from one array to another: a faulty pair first, then a good one, sometimes of one memory."""
    c = world.chooser
    chosen = yield from subject(world, written=True)
    if chosen is None:
        return
    dst, faulty = chosen
    wanted, shape = world.dtype(dst), world.shape(dst)
    if chance(c, 20):
        src: str | None = dst
    elif chance(c, 25):
        where = making.device(world)
        src = yield from making.fresh(world, wanted, shape, where)
    else:
        src = yield from making.operand(world, wanted, shape)
    if src is None:
        return
    if faulty is not None:
        yield from do("transfer", src=ref(src), dst=ref(faulty))
    if chance(c, 20):
        other = yield from making.fresh(world, pick(c, (wanted, uint8)), shape if chance(c, 40) else [*shape[:-1], 2])
        if other is not None:
            yield from do("transfer", src=ref(other), dst=ref(dst))
    if chance(c, 25):
        near = yield from making.over(world, dst, wanted, shape)
        if near is not None:
            yield from do("transfer", src=ref(near), dst=ref(dst))
    if chance(c, 15):
        away = yield from making.off_host(world, wanted, shape)
        if away is not None:
            yield from do("transfer", src=ref(src), dst=ref(away))
            yield from do("transfer", src=ref(away), dst=ref(dst))
    yield from do("transfer", src=ref(src), dst=ref(dst))
