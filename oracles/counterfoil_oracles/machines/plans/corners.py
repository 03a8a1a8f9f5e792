"""Plans about cases that drawn arrays seldom meet: axes far apart, bytes shared by neighbours, values at the edges."""

from __future__ import annotations

import math
from typing import Any, Final

from counterfoil_oracles.machines import codes, shapes, values
from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.plans import making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import BUFFER_FORMATS, Dtype, Kind, float32, float64, int8, int16, int64, uint8, uint16
from counterfoil_spec.kernels import ARITIES, KERNELS, Family
from counterfoil_spec.limits import MAX_ELEMENTS

_NARROW: Final = tuple(dtype for dtype in Dtype.all if dtype.bits < 8)
_FLOATS: Final = tuple(dtype for dtype in Dtype.all if dtype.kind in (Kind.FLOAT, Kind.COMPLEX))
_TAKES: Final = {
    Family.UNARY: (1, True), Family.BINARY: (2, True), Family.COMPARE: (2, True), Family.FMA: (3, True),
    Family.REDUCE: (1, False), Family.ARG: (1, False),
}  # fmt: skip
"""How many sources the kernels of a family take, and whether they give an element for each of theirs."""

_QUICK: Final = ("neg", "add", "equal", "bitwise_xor", "maximum")
"""Kernels of which the reference computes many elements soon."""

_LINE: Final = 12
"""Bytes of a buffer that two runs of sub-byte elements share."""


def conversions(world: World) -> Plan[None]:
    """Values at the edges of a dtype, cast to some others."""
    c = world.chooser
    source = making.dtype(world)
    drawn = [values.value(c, source) for _ in range(6)]
    name = yield from make(world, "a", "from_values", dtype=source.name, shape=[6], values=drawn)
    for _ in range(3):
        dst = yield from make(world, "a", "host_array", dtype=making.dtype(world).name, shape=[6])
        if name is not None and dst is not None:
            yield from do("kernel", name="cast", dst=ref(dst), sources=[ref(name)])


def through(world: World) -> Plan[None]:
    """The edges of a dtype through several kernels, from an array in C order and from a transposed one."""
    c = world.chooser
    wanted = making.dtype(world)
    kernels = [row for row in KERNELS.values() if row.family in _TAKES and wanted in row.domain]
    plain = yield from _edges(world, wanted)
    turned = yield from _edges(world, wanted)
    if plain is None or turned is None or not kernels:
        return
    turned = (yield from make(world, "a", "array.move", array=ref(turned), move={"permute": [1, 0]})) or plain
    for _ in range(6):
        row = pick(c, kernels)
        count, whole = _TAKES[row.family]
        axes = pick(c, ([0, 1], [0, 1], [1]))
        shape, parameters = ([3, 3], {}) if whole else ([3] * (2 - len(axes)), {"axes": axes})
        dst = yield from make(world, "a", "host_array", dtype=(row.result or wanted).name, shape=shape)
        if dst is not None:
            order = [plain, turned, plain] if chance(c, 50) else [turned, plain, turned]
            yield from do("kernel", name=row.name, dst=ref(dst), sources=refs(order[:count]), **parameters)


def _edges(world: World, wanted: Dtype) -> Plan[str | None]:
    """A small square of a dtype's edges."""
    name = yield from make(world, "a", "host_array", dtype=wanted.name, shape=[3, 3])
    if name is not None:
        content = codes.elements(world.chooser, wanted, world.buffer(name).nbytes)
        yield from do("buffer.poke", buffer=ref(name), bytes=content)
    return name


def long_runs(world: World) -> Plan[None]:
    """More elements than a kernel takes at a time, in a line, every other one of a line, or across a plane."""
    c = world.chooser
    wanted, count = making.dtype(world), pick(c, (513, 1030, 2050))
    side = 64 // max(wanted.bits // 8, 1) + c.integer(1, 3)
    shapes_and_moves: tuple[tuple[list[int], dict[str, Any], list[int]], ...] = (
        ([count], {"reshape": [count]}, [count]),
        ([2 * count], {"slice": [[1, count, 2]]}, [count]),
        ([side, side + 1], {"permute": [1, 0]}, [side + 1, side]),
    )
    shape, move, moved = pick(c, shapes_and_moves)
    whole = yield from make(world, "a", "host_array", dtype=wanted.name, shape=shape)
    if whole is None:
        return
    yield from do("buffer.poke", buffer=ref(whole), bytes=values.content(c, world.buffer(whole).nbytes))
    source = (yield from make(world, "a", "array.move", array=ref(whole), move=move)) or whole
    names = [whole, source]
    quick = [row for row in KERNELS.values() if row.name in _QUICK and wanted in row.domain]
    for row in (KERNELS["copy"], KERNELS["cast"], pick(c, quick)):
        target = making.dtype(world) if row.family is Family.CAST else row.result or wanted
        dst = yield from make(world, "a", "host_array", dtype=target.name, shape=moved)
        if dst is not None:
            names.append(dst)
            sources = refs([source] * ARITIES[row.family])
            yield from do("kernel", name=row.name, dst=ref(dst), sources=sources)
    yield from do("drop", names=refs(names))


def byte_edges(world: World) -> Plan[None]:
    """Runs of sub-byte elements that end and begin inside a byte: copied within a buffer and between two."""
    c = world.chooser
    wanted = pick(c, _NARROW)
    count, first = c.integer(1, _LINE * 4 // wanted.bits - 2), c.integer(0, 2)
    names = []
    own = yield from making.buffer(world, _LINE, world.where)
    other = yield from making.buffer(world, _LINE, world.where)
    for base, offset in ((own, first), (own, first + count + c.integer(0, 1)), (other, first)):
        if base is not None:
            names.append((yield from _run(world, base, wanted, [count], [1], offset)))
    arrays = [name for name in names if name is not None]
    if len(arrays) == 3:
        near, beside, far = arrays
        yield from do("kernel", name="copy", dst=ref(far), sources=[ref(near)])
        yield from do("transfer", src=ref(far), dst=ref(beside))
        yield from do("door", written=refs([near, beside][: c.integer(1, 2)]), read=[ref(beside)], work="nothing")


def comb(world: World) -> Plan[None]:
    """Sub-byte elements two bytes apart, and two neighbours among them, which share a byte with one or with none."""
    c = world.chooser
    wanted = pick(c, _NARROW)
    per_byte = 8 // wanted.bits
    base = yield from making.buffer(world, _LINE, world.where)
    if base is None:
        return
    teeth = yield from _run(world, base, wanted, [3], [2 * per_byte], c.integer(0, per_byte - 1))
    pair = yield from _run(world, base, wanted, [2], [1], c.integer(0, 6 * per_byte - 2))
    if teeth is not None and pair is not None:
        yield from do("door", written=[ref(teeth)], read=[ref(pair)], work="nothing")


def combs(world: World) -> Plan[None]:
    """Two arrays of one buffer with gaps between their elements, in which the other's lie or do not."""
    c = world.chooser
    base = yield from making.buffer(world, 128, world.where)
    if base is None:
        return
    names = []
    for wanted in (pick(c, (int8, int16)), pick(c, (uint8, uint16, making.dtype(world)))):
        shape = [c.integer(2, 4) for _ in range(c.integer(1, 2))]
        strides = [c.integer(1, 6) for _ in shape]
        names.append((yield from _run(world, base, wanted, shape, strides, c.integer(0, 12))))
    one, other = names
    if one is not None and other is not None:
        written, read = ([one, other], []) if chance(c, 40) else ([one], [other])
        yield from do("door", written=refs(written), read=refs(read), work="nothing")


def shifted(world: World) -> Plan[None]:
    """An array and the same one an element further on, in one buffer, and the kernel that copies one to the other."""
    c = world.chooser
    wanted, count, stride = making.dtype(world), c.integer(1, 3), c.integer(1, 3)
    base = yield from making.buffer(world, 12 * max(wanted.bits // 8, 1), world.where)
    if base is not None:
        one = yield from _run(world, base, wanted, [count], [stride], 0)
        other = yield from _run(world, base, wanted, [count], [stride], c.integer(0, 2))
        if one is not None and other is not None:
            order = [one, other] if chance(c, 50) else [other, one]
            yield from do("kernel", name="copy", dst=ref(order[0]), sources=[ref(order[1])])


def limits(world: World) -> Plan[None]:
    """Layouts whose last position is just below, at and above the limit."""
    c = world.chooser
    shape = [pick(c, (1, 2, 3, 2**20)) for _ in range(c.integer(0, 2))]
    strides = [pick(c, (0, 1, 2**20, -(2**20))) for _ in shape]
    above = sum((extent - 1) * max(stride, 0) for extent, stride in zip(shape, strides, strict=True))
    for past in pick(c, ((-1, 0, 1), (1, 0), (0,))):
        offset = MAX_ELEMENTS - 1 - above + past
        if math.prod(shape) <= 2**12 or 1 not in strides:  # a sweep of many positions is another subject
            yield from make(world, "l", "layout", shape=shape, strides=strides, offset=offset)


def spread(world: World) -> Plan[None]:
    """An array whose axes lie apart, in any order and direction, copied to a device, which draws them together."""
    c = world.chooser
    wanted = making.dtype(world)
    shape = [c.integer(1, 3) for _ in range(c.integer(1, 4))]
    apart = pick(c, (1, 2, 3))
    strides = [apart * c.integer(-3, 3) for _ in shape]
    reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    low, high = (sum(reach for reach in reaches if (reach < 0) == below) for below in (True, False))
    base = yield from making.buffer(world, ((high - low + 1) * wanted.bits + 7) // 8, world.where)
    if base is not None:
        name = yield from _run(world, base, wanted, shape, strides, -low)
        if name is not None:
            yield from make(world, "a", "array.to_device", array=ref(name), device=ref(making.device(world)))


def narrowed(world: World) -> Plan[None]:
    """A broadcast array, and what is taken from it, which repeats elements or does not."""
    c = world.chooser
    extents = [c.integer(2, 4) for _ in range(c.integer(1, 2))]
    name = yield from making.fresh(world, making.dtype(world), extents)
    if name is None:
        return
    wide = yield from make(world, "a", "array.move", array=ref(name), move={"broadcast": [3, *extents]})
    if wide is not None:
        ranges = [[0, pick(c, (1, 1, 2)), 1]]
        ranges += [pick(c, ([0, extent, 1], [extent - 1, extent, -1], [0, 1, 1])) for extent in extents]
        yield from make(world, "a", "array.move", array=ref(wide), move={"slice": ranges})


def own_source(world: World) -> Plan[None]:
    """A reduction into its own source: over no axis, over one, and over one that is not there."""
    c = world.chooser
    kernel = pick(c, [row for row in KERNELS.values() if row.family in (Family.REDUCE, Family.ARG)])
    domain = sorted(kernel.domain, key=lambda dtype: dtype.code)
    wanted = int64 if kernel.result else pick(c, domain)
    name = yield from making.operand(world, wanted, shapes.shape(c, 8), True)
    if name is not None:
        for axes in ([0], [], [len(world.shape(name))]):
            yield from do("kernel", name=kernel.name, dst=ref(name), sources=[ref(name)], axes=axes)


def interrupted(world: World) -> Plan[None]:
    """A block over an array's bytes that an exception leaves, and the array donated after it."""
    c = world.chooser
    name = yield from making.fresh(world, pick(c, list(BUFFER_FORMATS)), [c.integer(0, 3)])
    if name is not None:
        what = pick(c, ("array.reading", "array.writing"))
        yield from do(what, array=ref(name), bytes="", **{"raise": True})
        yield from making.consumed(world, name)


def texts(world: World) -> Plan[None]:
    """Values of some float dtypes as text."""
    c = world.chooser
    for wanted in (float32, float64, pick(c, _FLOATS), pick(c, _FLOATS)):
        yield from do("format_value", dtype=wanted.name, value=values.value(c, wanted))


def obituary(world: World) -> Plan[None]:
    """A refusal over operands of which some are dead, each for a reason of its own."""
    c = world.chooser
    names = []
    for extent in (2, 3):
        names.append((yield from making.dead(world, making.dtype(world), [extent])))
    names += world.arrays()[:1]
    answer = pick(c, (Answer.DEAD_BUFFER, Answer.DEAD_BUFFER, Answer.HELD_EXCLUSIVE))
    operands = refs([name for name in names if name is not None])
    yield from do("refused", name="add", answer=answer.name, operands=operands)


def _run(world: World, base: str, wanted: Dtype, shape: list[int], strides: list[int], offset: int) -> Plan[str | None]:
    """An array over a buffer at given positions."""
    place: dict[str, Any] = {"shape": shape, "strides": strides, "offset": offset}
    layout = yield from make(world, "l", "layout", **place)
    if layout is None:
        return None
    return (yield from make(world, "a", "array", dtype=wanted.name, layout=ref(layout), buffer=ref(base)))
