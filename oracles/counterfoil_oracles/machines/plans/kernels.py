"""Plans about the door and the kernels: good calls, and the same calls with one or two planted faults before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from counterfoil_oracles.machines import shapes, values
from counterfoil_oracles.machines.choices import chance, pick, some, weighted
from counterfoil_oracles.machines.plans import expressions, making
from counterfoil_oracles.machines.world import Plan, World, do, make, ref, refs
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype, bit, bool_, int64
from counterfoil_spec.kernels import ARITIES, KERNELS, Family, Kernel

_WEIGHTS: Final[dict[Family, int]] = {
    Family.FILL: 4, Family.IOTA: 3, Family.COPY: 5, Family.CAST: 8, Family.UNARY: 14, Family.BINARY: 18,
    Family.COMPARE: 6, Family.WHERE: 5, Family.FMA: 4, Family.MAP: 6, Family.REDUCE: 9, Family.ARG: 4, Family.SCAN: 4,
    Family.SOFTMAX: 2, Family.MATMUL: 6,
}  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """What a kernel wants of an operand."""

    dtype: Dtype
    shape: list[int]


@dataclass(frozen=True)
class Call:
    """A call of a kernel as it is wanted, and the names of its operands: the destination first."""

    kernel: Kernel
    wanted: list[Operand]
    parameters: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)


def call(world: World) -> Plan[None]:
    """A kernel called rightly, and now and then before that with a fault in an operand or a parameter."""
    wanted = draw(world)
    names = yield from _operands(world, wanted)
    if names is None:
        return
    good = replace(wanted, names=names)
    if chance(world.chooser, 62):
        yield from _faulty(world, good)
    yield from run(good)


def run(good: Call) -> Plan[None]:
    """Run a call."""
    dst, *sources = good.names
    yield from do("kernel", name=good.kernel.name, dst=ref(dst), sources=refs(sources), **good.parameters)


# --- good calls ------------------------------------------------------------------------------------------------------


_WIDE: Final = ([33], [64], [257], [17, 19], [3, 5, 20], [130, 2], [2, 131], [16, 16], [1, 100, 1])
"""Shapes long enough for vectors, their tails, and tiles."""


def _shape(world: World) -> list[int]:
    """A small shape, and now and then a wide one."""
    return list(pick(world.chooser, _WIDE)) if chance(world.chooser, 5) else shapes.shape(world.chooser)


def draw(world: World) -> Call:
    """A kernel, the dtypes and shapes of its operands, and its parameters, all within its row."""
    c = world.chooser
    family = weighted(c, [(weight, family) for family, weight in _WEIGHTS.items()])
    kernel = pick(c, [kernel for kernel in KERNELS.values() if kernel.family is family])
    dtype = pick(c, sorted(kernel.domain, key=lambda dtype: dtype.code))
    special = _SPECIAL.get(family)
    if special is not None:
        return special(world, kernel, dtype)
    shape = _shape(world)
    source = Operand(dtype, shape)
    result = Operand(kernel.result or (making.dtype(world) if family is Family.CAST else dtype), shape)
    sources = [source] * ARITIES[family]
    if family is Family.WHERE:
        sources[0] = Operand(pick(c, (bool_, bit)), shape)
    return Call(kernel, [result, *sources])


def _fill(world: World, kernel: Kernel, dtype: Dtype) -> Call:
    return Call(kernel, [Operand(dtype, _shape(world))], {"value": values.value(world.chooser, dtype)})


def _iota(world: World, kernel: Kernel, dtype: Dtype) -> Call:
    shape = _shape(world) or [3]
    return Call(kernel, [Operand(dtype, shape)], {"axis": world.chooser.integer(0, len(shape) - 1)})


def _along_axis(world: World, kernel: Kernel, dtype: Dtype) -> Call:
    shape = _shape(world) or [3]
    operand = Operand(dtype, shape)
    return Call(kernel, [operand, operand], {"axis": world.chooser.integer(0, len(shape) - 1)})


def _reduce(world: World, kernel: Kernel, dtype: Dtype) -> Call:
    shape = _shape(world)
    axes = some(world.chooser, range(len(shape)), 2)
    left = [extent for axis, extent in enumerate(shape) if axis not in axes]
    return Call(kernel, [Operand(kernel.result or dtype, left), Operand(dtype, shape)], {"axes": axes})


def _matmul(world: World, kernel: Kernel, dtype: Dtype) -> Call:
    c = world.chooser
    rows, inner, columns = (weighted(c, [(38, 2), (28, 3), (20, 1), (5, 0), (5, 5), (3, 9), (1, 17)]) for _ in range(3))
    if chance(c, 30):
        rows = inner = columns = 2
    batch = [c.integer(1, 3)] if chance(c, 30) else []
    left = batch if chance(c, 60) else [1] * len(batch)
    right = batch if chance(c, 60) or left != batch else []
    wanted = [Operand(dtype, [*batch, rows, columns])]
    wanted += [Operand(dtype, [*left, rows, inner]), Operand(dtype, [*right, inner, columns])]
    return Call(kernel, wanted)


def _map(world: World, kernel: Kernel, dtype: Dtype) -> Call:
    shape = _shape(world)
    expression, result, inputs = expressions.expression(world.chooser, dtype)
    return Call(kernel, [Operand(found, shape) for found in (result, *inputs)], {"expression": expression})


_SPECIAL: Final[dict[Family, Callable[[World, Kernel, Dtype], Call]]] = {
    Family.FILL: _fill, Family.IOTA: _iota, Family.SCAN: _along_axis, Family.SOFTMAX: _along_axis,
    Family.REDUCE: _reduce, Family.ARG: _reduce, Family.MATMUL: _matmul, Family.MAP: _map,
}  # fmt: skip


def _operands(world: World, wanted: Call) -> Plan[list[str] | None]:
    """Usable operands: apart, or of one memory where some are of one dtype and shape."""
    c = world.chooser
    names: list[str | None] = [(yield from making.operand(world, wanted.wanted[0].dtype, wanted.wanted[0].shape, True))]
    for operand in wanted.wanted[1:]:
        if names[0] is not None and chance(c, 22):
            alias = yield from _alias(world, names[0], operand)
            if alias is not None:
                names.append(alias)
                continue
        if chance(c, 12):
            names.append((yield from making.pending(world, operand.dtype, operand.shape)))
        else:
            names.append((yield from making.operand(world, operand.dtype, operand.shape)))
    found = [name for name in names if name is not None]
    return found if len(found) == len(names) else None


def _alias(world: World, dst: str, operand: Operand) -> Plan[str | None]:
    """A source in the destination's memory: the destination itself, its twin, or elements between its elements."""
    c = world.chooser
    same = world.shape(dst) == operand.shape
    if same and world.dtype(dst) is operand.dtype and chance(c, 50):
        return dst
    if same and world.dtype(dst).bits == operand.dtype.bits and chance(c, 50):
        return (yield from make(world, "a", "array.bitcast", array=ref(dst), dtype=operand.dtype.name))
    return (yield from making.over(world, dst, operand.dtype, operand.shape, distinct=False))


def interleaved(world: World) -> Plan[None]:
    """A pointwise call whose operands lie between each other's elements in one memory."""
    c = world.chooser
    kernel = pick(c, [KERNELS[name] for name in ("add", "neg", "copy", "mul", "maximum", "equal")])
    dtype = pick(c, sorted(kernel.domain, key=lambda dtype: dtype.code))
    count, arity = c.integer(2, 5), ARITIES[kernel.family]
    step = arity + 1
    base = yield from making.buffer(world, (count * step * max(dtype.bits, 8) + 7) // 8, world.where)
    if base is None:
        return
    names = []
    for place in range(step):
        found = kernel.result or dtype if place == 0 else dtype
        spread = step * max(dtype.bits, 8) // found.bits
        at = place * spread // step
        layout = yield from make(world, "l", "layout", shape=[count], strides=[spread], offset=at)
        if layout is not None:
            names.append((yield from make(world, "a", "array", dtype=found.name, layout=ref(layout), buffer=ref(base))))
    operands = [name for name in names if name is not None]
    if len(operands) == step:
        yield from run(Call(kernel, [], {}, operands))


# --- faulty calls ----------------------------------------------------------------------------------------------------

_MAKERS: Final[dict[Answer, Callable[[World, Dtype, list[int]], Plan[str | None]]]] = {
    Answer.DEAD_BUFFER: making.dead,
    Answer.OFF_HOST: making.off_host,
    Answer.HELD_EXCLUSIVE: making.exclusive,
    Answer.READ_ONLY: making.read_only,
    Answer.REPEATED_ELEMENTS: making.repeated,
}
_WRITTEN_ONLY: Final = (Answer.READ_ONLY, Answer.REPEATED_ELEMENTS)
_FAULTS: Final = (
    *_MAKERS, Answer.WRONG_DTYPE, Answer.WRONG_DTYPE, Answer.OVERLAPPING, Answer.SHAPE_MISMATCH, None
)  # fmt: skip
"""What an operand may be; wrong dtypes twice, since the one drawn is often right after all. None: of a lost device."""


def _faulty(world: World, good: Call) -> Plan[None]:
    """The call with one fault or two; the good operands stay as they are."""
    c = world.chooser
    names, parameters = list(good.names), dict(good.parameters)
    for _ in range(2 if chance(c, 20) else 1):
        if parameters and chance(c, 60 if "expression" in parameters else 20):
            parameters = _wrong_parameters(world, good, parameters)
            continue
        fault = pick(c, _FAULTS)
        at = 0 if fault in _WRITTEN_ONLY else c.integer(0, len(names) - 1)
        planted = yield from _plant(world, fault, good, names, at)
        names[at] = planted or names[at]
    if names != good.names or parameters != good.parameters:
        yield from run(replace(good, names=names, parameters=parameters))


def _plant(world: World, fault: Answer | None, good: Call, names: list[str], at: int) -> Plan[str | None]:
    """An operand with that fault to stand at position ``at``; for None, of a lost device."""
    c = world.chooser
    wanted = good.wanted[at]
    if fault in _MAKERS:
        return (yield from _MAKERS[fault](world, wanted.dtype, wanted.shape))
    if fault is Answer.WRONG_DTYPE:
        return (yield from making.operand(world, making.dtype(world), wanted.shape, at == 0))
    if fault is Answer.SHAPE_MISMATCH:
        larger = [extent + 1 if axis < 3 else extent for axis, extent in enumerate(wanted.shape)]
        shape = pick(c, ([*wanted.shape, 1], wanted.shape[:-1], larger, [2]))
        return (yield from making.operand(world, wanted.dtype, shape[:32], at == 0))
    if fault is Answer.OVERLAPPING:
        return (yield from making.over(world, names[0 if at else -1], wanted.dtype, wanted.shape, True))
    return (yield from making.lost(world, wanted.dtype, wanted.shape))


def _wrong_parameters(world: World, good: Call, parameters: dict[str, Any]) -> dict[str, Any]:
    c, rank = world.chooser, len(good.wanted[-1].shape)
    if "value" in parameters:
        return {"value": values.wrong_value(c, good.wanted[0].dtype)}
    if "axis" in parameters:
        return {"axis": pick(c, (rank, -1, 2**63, {"odd": "true"}, {"odd": "none"}))}
    if "axes" in parameters:
        return {"axes": pick(c, ([rank], [-1], [0, 0], [{"odd": "half"}], {"odd": "none"}, list(range(rank))))}
    return {"expression": expressions.wrong(c, parameters["expression"])}


def declined(world: World) -> Plan[None]:
    """The cases that kernels list as not computed: a destination identical to a source, too long an expression."""
    c = world.chooser
    if chance(c, 30):
        name = yield from making.operand(world, pick(c, Dtype.all[:3]), shapes.shape(c), True)
        if name is not None:
            long = expressions.chain("neg", pick(c, (64, 63, 62)))
            yield from run(Call(KERNELS["map"], [], {"expression": long}, [name, name]))
        return
    kernel = pick(c, [kernel for kernel in KERNELS.values() if kernel.declines_identical])
    domain = kernel.domain & {int64} if kernel.result else kernel.domain
    dtype = pick(c, sorted(domain, key=lambda dtype: dtype.code))
    shape = [2, 2] if kernel.family is Family.MATMUL else shapes.shape(c)
    name = yield from making.operand(world, dtype, shape, True)
    if name is None:
        return
    if kernel.family is Family.MATMUL:
        yield from run(Call(kernel, [], {}, pick(c, ([name, name, name], [name, name, name]))))
    else:
        yield from run(Call(kernel, [], {"axes": []}, [name, name]))


# --- the door --------------------------------------------------------------------------------------------------------


def door(world: World) -> Plan[None]:
    """The door with its own work, over any arrays, mostly good ones."""
    c = world.chooser
    names = world.arrays(world.usable if chance(c, 60) else lambda name: True)
    good = [name for name in names if making.writable(world, name)] if chance(c, 75) else names
    written, read = some(c, good, 2), some(c, names, 3)
    if chance(c, 4):
        read = (read * 12)[:20]
    work = weighted(c, [(70, "nothing"), (15, "submit"), (15, "raise")])
    yield from do("door", written=refs(written), read=refs(read), work=work)


def door_fault(world: World) -> Plan[None]:
    """The door over a faulty array, and over a good one in its place."""
    c = world.chooser
    dtype, shape = making.dtype(world), shapes.shape(c)
    good = yield from making.operand(world, dtype, shape, True)
    if good is None:
        return
    fault = pick(c, [answer for answer in _MAKERS if answer is not Answer.OFF_HOST])
    bad = yield from _MAKERS[fault](world, dtype, shape)
    as_read = fault not in _WRITTEN_ONLY and chance(c, 50)
    for name in (bad, good):
        if name is not None:
            written, read = ([], [name]) if as_read else ([name], [])
            yield from do("door", written=refs(written), read=refs(read), work="nothing")


def refused(world: World) -> Plan[None]:
    """The refusal that an answer stands for, over any arrays."""
    c = world.chooser
    operands = some(c, world.arrays(), 3)
    name, answers = pick(c, ("add", "mul", "f")), [pick(c, list(Answer))]
    if chance(c, 30):
        answers.insert(0, pick(c, (Answer.DONE, Answer.DECLINED)))
    for answer in answers:
        yield from do("refused", name=name, answer=answer.name, operands=refs(operands))
