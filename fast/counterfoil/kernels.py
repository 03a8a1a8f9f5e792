"""The kernels by name: ``kernels.add(dst, x, y)`` answers an ``Answer`` for each row of the table (K1).

Destinations are written, sources read, all through the door. Each function refuses arguments/wrong-type for what is
no array (fill and map also a value's or an expression's faults), raises memory/lost, and answers everything else.
The functions do no work of their own on the way in: what the core cannot take raises there and is explained here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from counterfoil import handles
from counterfoil._native import ffi, lib
from counterfoil.arrays import Array
from counterfoil.door import ANSWERS, answer_of
from counterfoil.layouts import list_of
from counterfoil.numbers import value_bits
from counterfoil.programs import Program
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integer, integers
from counterfoil_spec.expressions import Node, node
from counterfoil_spec.kernels import ARITIES, KERNELS, Family
from counterfoil_spec.kernels import Kernel as Row
from counterfoil_spec.limits import MAX_RANK

Kernel = Callable[..., Answer]

_ABSENT = object()


def __getattr__(name: str) -> Kernel:
    """The kernels are this module's attributes; any other name is none."""
    raise AttributeError(f"no kernel is called {name}")


def _explain(row: Row, names: str, dst: Any, *sources: Any) -> Answer:
    """What a call without an answer means: a foreign operand, another number of operands, or work that was lost."""
    given = [source for source in sources if source is not _ABSENT]
    for name, operand in zip(f"dst {names}".split(), [dst, *given], strict=False):
        instance(name, operand, Array)
    if len(given) == ARITIES[row.family]:
        return answer_of(lib.CF_LOST, [dst], given)
    return _miscounted(row, dst, *given)


def _miscounted(row: Row, dst: Any, *sources: Any) -> Answer:
    """The door's answer to another number of operands than the kernel has: whatever comes first, else the number.

    Put to the core as a program that reads more inputs than there are.
    """
    destination = instance("dst", dst, Array)
    operands = list_of("sources", sources, Array)
    dtypes = {operand.dtype for operand in operands} - row.condition
    written = row.result or next(iter(dtypes), destination.dtype)
    fits = len(dtypes) <= 1 and dtypes <= row.domain and destination.dtype is written
    nodes = ffi.new("cf_node[]", [(1, 0, destination.dtype.code, 0, 0, 0)])
    program = ffi.new("cf_program *", (1, len(operands) + 1, 1, fits, nodes))
    code = lib.cf_map(destination._c, program, [operand._c for operand in operands], len(operands))
    return answer_of(code, [destination], operands)


def _unary(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, x: Any = _ABSENT, *more: Array) -> Answer:
        if more:
            return _miscounted(row, dst, x, *more)
        try:
            return ANSWERS[call(dst._c, x._c)]
        except (AttributeError, TypeError, IndexError):
            return _explain(row, "x", dst, x)

    return kernel


def _binary(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, x: Any = _ABSENT, y: Any = _ABSENT, *more: Array) -> Answer:
        if more:
            return _miscounted(row, dst, x, y, *more)
        try:
            return ANSWERS[call(dst._c, x._c, y._c)]
        except (AttributeError, TypeError, IndexError):
            return _explain(row, "x y", dst, x, y)

    return kernel


def _ternary(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, x: Any = _ABSENT, y: Any = _ABSENT, z: Any = _ABSENT, *more: Array) -> Answer:
        if more:
            return _miscounted(row, dst, x, y, z, *more)
        try:
            return ANSWERS[call(dst._c, x._c, y._c, z._c)]
        except (AttributeError, TypeError, IndexError):
            return _explain(row, "c x y" if row.condition else "x y z", dst, x, y, z)

    return kernel


def _fill(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, *arguments: Any) -> Answer:
        sources, value = _parted("fill", "value", dst, arguments)
        bits = value_bits(dst.dtype, value)
        return _miscounted(row, dst, *sources) if sources else answer_of(call(dst._c, *bits), [dst], [])

    return kernel


def _iota(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, *arguments: Any) -> Answer:
        sources, axis = _parted("iota", "axis", dst, arguments)
        place = _axis(integer("axis", axis))
        return _miscounted(row, dst, *sources) if sources else answer_of(call(dst._c, place), [dst], [])

    return kernel


def _along(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, *arguments: Any) -> Answer:
        sources, axis = _parted(row.name, "axis", dst, arguments)
        place = _axis(integer("axis", axis))
        if len(sources) != 1:
            return _miscounted(row, dst, *sources)
        return answer_of(call(dst._c, sources[0]._c, place), [dst], sources)

    return kernel


def _reduce(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, *arguments: Any) -> Answer:
        sources, axes = _parted(row.name, "axes", dst, arguments)
        along = [_axis(axis) for axis in integers("axes", axes)]
        if len(sources) != 1:
            return _miscounted(row, dst, *sources)
        return answer_of(call(dst._c, sources[0]._c, along, len(along)), [dst], sources)

    return kernel


def _parted(kernel: str, parameter: str, dst: Any, arguments: tuple[Any, ...]) -> tuple[list[Array], Any]:
    """The sources and the parameter that comes last; refuses arguments/wrong-type for a foreign operand."""
    if not arguments:
        raise TypeError(f"{kernel} needs its {parameter}")
    instance("dst", dst, Array)
    for name, source in zip("xyz", arguments[:-1], strict=False):
        instance(name, source, Array)
    return list(arguments[:-1]), arguments[-1]


def _map(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, expression: Node, inputs: Iterable[Array]) -> Answer:
        instance("dst", dst, Array)
        root = node(expression)
        sources = list_of("inputs", inputs, Array)
        program = Program(root, [source.dtype for source in sources], dst.dtype)
        code = call(dst._c, program.c, [source._c for source in sources], len(sources))
        return answer_of(code, [dst], sources)

    return kernel


def _axis(axis: int) -> int:
    """An axis as the core takes it; what is no axis of any array becomes -1."""
    return axis if 0 <= axis < MAX_RANK else -1


_MAKERS: dict[Family, Callable[[Callable[..., int], Row], Kernel]] = {
    Family.FILL: _fill,
    Family.IOTA: _iota,
    Family.COPY: _unary,
    Family.CAST: _unary,
    Family.UNARY: _unary,
    Family.BINARY: _binary,
    Family.COMPARE: _binary,
    Family.WHERE: _ternary,
    Family.FMA: _ternary,
    Family.MAP: _map,
    Family.REDUCE: _reduce,
    Family.ARG: _reduce,
    Family.SCAN: _along,
    Family.SOFTMAX: _along,
    Family.MATMUL: _binary,
}


def _lost(dst: Array, *sources: Array) -> Answer:
    """What a kernel that waited for lost work raises."""
    return answer_of(lib.CF_LOST, [dst], sources)


def _named(name: str, row: Row) -> Kernel:
    kernel = _MAKERS[row.family](getattr(lib, f"cf_{name}"), row)
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = f"The kernel {name} of the table (K1): answers an Answer, raises memory/lost."
    return handles.kernel(name, Array, ANSWERS, kernel, _lost) or kernel


globals().update({name: _named(name, row) for name, row in KERNELS.items()})
