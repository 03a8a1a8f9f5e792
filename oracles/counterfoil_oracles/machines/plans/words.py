"""Plans about dtypes, layouts and moves: questions whose answers depend on nothing else."""

from __future__ import annotations

import math
from typing import Any, Final

from counterfoil_oracles.machines import shapes, values
from counterfoil_oracles.machines.choices import chance, pick
from counterfoil_oracles.machines.plans import making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs
from counterfoil_spec.commands import encode_number
from counterfoil_spec.dtypes import Dtype


def dtypes(world: World) -> Plan[None]:
    """Stores, texts, ranges, sizes and names of a dtype."""
    c = world.chooser
    wanted = making.dtype(world)
    match c.integer(0, 5):
        case 0 | 1:
            yield from do("of_float", dtype=wanted.name, value=encode_number(values.float_value(c)))
        case 2 | 3:
            if chance(c, 30):
                yield from do("format_value", dtype=wanted.name, value=values.wrong_value(c, wanted))
            yield from do("format_value", dtype=wanted.name, value=values.value(c, wanted))
        case 4:
            for name in (wanted.name, "complex64", "int8"):
                yield from do("dtype.range", dtype=name)
        case _:
            for count in (pick(c, (-1, 2**66, 2**70, 2**59, 2**60, 2**63 - 1)), pick(c, (0, 1, 7))):
                yield from do("dtype.nbytes", dtype=wanted.name, count=count)
            for name in (pick(c, ("float", "Float32", "float8_e4m3", "", "uint1")), wanted.name):
                yield from do("dtype", name=name)


def layout(world: World) -> Plan[None]:
    """A layout that reaches where it likes, and one in range."""
    c = world.chooser
    shape = shapes.shape(c)
    place = shapes.layout(c, shape, pick(c, (8, 64, 2**20)), distinct=False)
    if shape and chance(c, 50):
        wrong = {key: list(entries) if isinstance(entries, list) else entries for key, entries in place.items()}
        key = pick(c, ("shape", "strides", "offset"))
        entry = pick(c, (-1, 2**53, -(2**53), 2**62, -shapes.HUGE, 2**64, 33))
        if key == "offset":
            wrong[key] = entry
        elif chance(c, 20):
            wrong[key].append(1)
        else:
            wrong[key][c.integer(0, len(shape) - 1)] = entry
        yield from make(world, "l", "layout", **wrong)
    name = yield from make(world, "l", "layout", **place)
    if name is not None:
        yield from do("layout.facts", layout=ref(name))
        yield from make(world, "l", "layout.move", layout=ref(name), move=shapes.move(c, shape))


def big_layout(world: World) -> Plan[None]:
    """Layouts at the edge of the limits: huge extents and strides, 32 and 33 axes."""
    c = world.chooser
    rank = pick(c, (1, 2, 3, 32, 33))
    extents = [pick(c, (1, 2, 3, 2**20, 2**26, 2**27, 2**52, 2**53, 0)) for _ in range(min(rank, 3))] + [1] * (rank - 3)
    strides = [pick(c, (0, 1, -1, 2**26, 2**27, 2**52, -(2**26), 2**62, -(2**63), 2**64)) for _ in extents]
    offset = pick(c, (0, 1, 2**52, 2**53 - 1, 2**53, 2**27 * (2**26 - 1), -1))
    # Distinctness of more than 2^32 positions is the nesting test; smaller spans are swept, and kept small here.
    if math.prod(extent for extent in extents if extent) <= 2**12 or all(abs(stride) > 2**20 for stride in strides):
        yield from make(world, "l", "layout", shape=extents, strides=strides, offset=offset)
    yield from make(world, "l", "layout.contiguous", shape=extents)


def moves(world: World) -> Plan[None]:
    """The shape a move gives, of a wrong one first, and a layout moved."""
    c = world.chooser
    shape = shapes.shape(c)
    for _ in range(c.integer(0, 5)):
        yield from do("move_shape", move=shapes.wrong_move(c, shape), shape=shape)
    if chance(c, 10):
        wrong = pick(c, ([-1], [2**53, 2], [0, 2**27, 2**27], [1] * 33))
        yield from do("move_shape", move=shapes.move(c, shape), shape=wrong)
    yield from do("move_shape", move=shapes.move(c, shape), shape=shape)
    names = world.all("layout")
    if names:
        name = pick(c, names)
        extents = list(world.named(name).shape)
        if math.prod(extents) <= 64:
            yield from make(world, "l", "layout.move", layout=ref(name), move=shapes.move(c, extents))


_MOVE_FAULTS: Final[tuple[tuple[list[int], dict[str, Any], tuple[dict[str, Any], ...]], ...]] = (
    ([2, 3], {"reshape": [6]}, ({"reshape": [5]}, {"reshape": [-6]}, {"reshape": [1] * 33})),
    ([1, 3], {"broadcast": [2, 3]}, ({"broadcast": [3]}, {"broadcast": [2, 4]}, {"broadcast": [2**27, 2**27, 3]})),
    ([2, 3], {"permute": [1, 0]}, ({"permute": [0]}, {"permute": [2, 0]}, {"permute": [1, 1]})),
    (
        [5],
        {"slice": [[1, 2, 2]]},
        (
            {"slice": []},
            {"slice": [[1, 2, 0]]},
            {"slice": [[1, -1, 2]]},
            {"slice": [[5, 2, 2]]},
            {"slice": [[1, 3, 2]]},
        ),
    ),
    (
        [5],
        {"window": [[0, 2, 1, 1]]},
        (
            {"window": [[1, 2, 1, 1]]},
            {"window": [[0, 2, 1, 1], [0, 2, 1, 1]]},
            {"window": [[0, 0, 1, 1]]},
            {"window": [[0, 2, 0, 1]]},
            {"window": [[0, 2, 1, 0]]},
            {"window": [[0, 2, 1, 5]]},
        ),
    ),
)
"""A shape, a move it admits, and moves it does not admit, one for each way to be wrong."""


def move_faults(world: World) -> Plan[None]:
    """One of the five moves with each of its faults, and without."""
    shape, good, wrong = pick(world.chooser, _MOVE_FAULTS)
    for move in (*wrong, good):
        yield from do("move_shape", move=move, shape=shape)


def coalesce(world: World) -> Plan[None]:
    """Layouts of one shape, mostly, merged axis by axis."""
    c = world.chooser
    shape = shapes.shape(c)
    made = []
    for _ in range(c.integer(1, 4)):
        made.append((yield from make(world, "l", "layout", **shapes.layout(c, shape, 256, distinct=False))))
    names = [name for name in made if name is not None]
    if chance(c, 15):
        yield from do("coalesce", layouts=refs((names + world.all("layout"))[:: 1 if chance(c, 50) else -1][:3]))
        yield from do("coalesce", layouts=[])
    yield from do("coalesce", layouts=refs(names))


def every_dtype(world: World) -> Plan[None]:
    """One store into each dtype."""
    drawn = encode_number(values.float_value(world.chooser))
    for wanted in Dtype.all:
        yield from do("of_float", dtype=wanted.name, value=drawn)
