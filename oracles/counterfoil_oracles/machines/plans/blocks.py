"""Plans about CUDA devices whose arrays take several blocks of a launch: tiles turned, tiles multiplied, flat calls.

The other plans' arrays fit one block, so that a grid of one block too few would never show.
"""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.machines.choices import pick
from counterfoil_oracles.machines.plans import cuda
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs
from counterfoil_spec.dtypes import float32, float64, int8, int16, int32, int64

_TURNED: Final = (([40, 70], int32), ([70, 40], float32), ([33, 32], int64), ([9, 65], int16), ([66, 9], int8))
"""Shapes of which one side or both are longer than a tile's, by the dtype: 64 neighbours of up to 2 bytes, else 32."""

_FLAT: Final = ((2085, float32), (1041, int64), (4133, int8), (300, int32))
"""Elements of more vectors than a block has threads, with a tail, by the dtype; the last are for strided calls."""


def several(world: World) -> Plan[None]:
    """One of the plans below."""
    if world.cuda_devices():
        yield from pick(world.chooser, (turned, multiplied, flat))(world)


def turned(world: World) -> Plan[None]:
    """A copy into the turned layout, by a kernel or on the way to a fresh array."""
    c, where = world.chooser, cuda.device(world)
    shape, wanted = pick(c, _TURNED)
    source = yield from cuda.empty(world, where, wanted, shape)
    target = yield from cuda.empty(world, where, wanted, shape[::-1])
    if source is None or target is None:
        return
    yield from do("kernel", name="iota", dst=ref(source), sources=[], axis=c.integer(0, 1))
    yield from do("kernel", name="fill", dst=ref(target), sources=[], value=101)
    seen = yield from make(world, "a", "array.move", array=ref(source), move={"permute": [1, 0]})
    if seen is not None:
        yield from do("kernel", name="copy", dst=ref(target), sources=[ref(seen)])
        yield from cuda.read(world, target)


def multiplied(world: World) -> Plan[None]:
    """A product of several tiles down, across or both, its terms in one panel or several."""
    c, where = world.chooser, cuda.device(world)
    rows, terms, columns = pick(c, ((40, 5, 3), (2, 5, 40), (33, 3, 34), (36, 19, 2)))
    wanted, names = pick(c, (float32, float64, int32)), []
    for shape, axis in (([rows, terms], 0), ([terms, columns], 1), ([rows, columns], 0)):
        name = yield from cuda.empty(world, where, wanted, shape)
        if name is not None:
            yield from do("kernel", name="iota", dst=ref(name), sources=[], axis=axis)
            names.append(name)
    if len(names) == 3:
        yield from do("kernel", name="matmul", dst=ref(names[2]), sources=refs(names[:2]))
        yield from cuda.read(world, names[2])


def flat(world: World) -> Plan[None]:
    """A map over several blocks, contiguous or every other element, and the sum of all it gave."""
    c, where = world.chooser, cuda.device(world)
    count, wanted = pick(c, _FLAT)
    step = 2 if count < 1000 else 1
    source = yield from cuda.empty(world, where, wanted, [count * step])
    total = yield from cuda.empty(world, where, wanted, [])
    if source is None or total is None:
        return
    yield from do("kernel", name="fill", dst=ref(source), sources=[], value=1)
    seen = yield from make(world, "a", "array.move", array=ref(source), move={"slice": [[0, count, step]]})
    if seen is not None:
        yield from do("kernel", name="add", dst=ref(seen), sources=refs([seen, seen]))
        yield from do("kernel", name="sum", dst=ref(total), sources=[ref(seen)], axes=[0])
        yield from cuda.read(world, total)
        yield from cuda.read(world, source)
