"""The kernels by name: ``kernels.add(dst, x, y)`` answers an ``Answer`` for each row of the table (K1).

Destinations are written, sources read, all through the door. Each function refuses arguments/wrong-type for what is
no array (fill and map also a value's or an expression's faults), raises memory/lost, and answers everything else.
Most calls of the pointwise ones and matmul never come here: ``handles`` puts them to the core itself, and gives the
others to these functions. Operands that the host does not address are computed on by the CUDA device that has them all.
A wrong number of arguments is Python's TypeError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from counterfoil import handles
from counterfoil._native import lib
from counterfoil.arrays import Array
from counterfoil.door import ANSWERS, answer_of
from counterfoil.layouts import list_of
from counterfoil.numbers import value_bits
from counterfoil.programs import Program
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integer, integers
from counterfoil_spec.expressions import Node, node
from counterfoil_spec.kernels import KERNELS, Family
from counterfoil_spec.kernels import Kernel as Row
from counterfoil_spec.limits import MAX_RANK

Kernel = Callable[..., Answer]

_OFF_HOST: Final = Answer.OFF_HOST


def __getattr__(name: str) -> Callable[..., Answer]:
    """The kernels are this module's attributes; any other name is none."""
    raise AttributeError(f"no kernel is called {name}")


def _called(call: Callable[..., int], row: Row, dst: Array, *arguments: Any, **sources: Array) -> Answer:
    """Put a call to the core: the destination, the sources by name, then plain arguments."""
    given = [instance(name, operand, Array) for name, operand in {"dst": dst, **sources}.items()]
    code = call(*(operand._c for operand in given), *arguments)
    return _answered(code, row, given[0], given[1:], *arguments)


def _answered(code: int, row: Row, dst: Array, sources: list[Array], *parameters: Any) -> Answer:
    """The answer of a code of the core, or of the device that has the operands where the host does not."""
    if code == _OFF_HOST:
        return _elsewhere(row.name, dst, sources, *parameters)
    return answer_of(code, [dst], sources)


def _elsewhere(name: str, dst: Array, sources: Sequence[Array], *parameters: Any) -> Answer:
    """What a CUDA device answers where one computes; nobody can have an array there before its room was imported."""
    if "counterfoil.cuda.device" not in sys.modules:
        return Answer.OFF_HOST
    from counterfoil.cuda.calls import call

    return call(name, dst, sources, *parameters)


def _unary(call: Callable[..., int], row: Row) -> Kernel:
    return lambda dst, x: _called(call, row, dst, x=x)


def _binary(call: Callable[..., int], row: Row) -> Kernel:
    return lambda dst, x, y: _called(call, row, dst, x=x, y=y)


def _where(call: Callable[..., int], row: Row) -> Kernel:
    return lambda dst, c, x, y: _called(call, row, dst, c=c, x=x, y=y)


def _fma(call: Callable[..., int], row: Row) -> Kernel:
    return lambda dst, x, y, z: _called(call, row, dst, x=x, y=y, z=z)


def _fill(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, value: Any) -> Answer:
        bits = value_bits(instance("dst", dst, Array).dtype, value)
        return _called(call, row, dst, *bits)

    return kernel


def _iota(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, axis: int) -> Answer:
        instance("dst", dst, Array)
        return _called(call, row, dst, _axis(integer("axis", axis)))

    return kernel


def _along(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, x: Array, axis: int) -> Answer:
        instance("dst", dst, Array)
        instance("x", x, Array)
        return _called(call, row, dst, _axis(integer("axis", axis)), x=x)

    return kernel


def _reduce(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, x: Array, axes: Iterable[int]) -> Answer:
        instance("dst", dst, Array)
        instance("x", x, Array)
        along = [_axis(axis) for axis in integers("axes", axes)]
        return _answered(call(dst._c, x._c, along, len(along)), row, dst, [x], along)

    return kernel


def _map(call: Callable[..., int], row: Row) -> Kernel:
    def kernel(dst: Array, expression: Node, inputs: Iterable[Array]) -> Answer:
        instance("dst", dst, Array)
        root = node(expression)
        sources = list_of("inputs", inputs, Array)
        program = Program(root, [source.dtype for source in sources], dst.dtype)
        code = call(dst._c, program.c, [source._c for source in sources], len(sources))
        return _answered(code, row, dst, sources, program)

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
    Family.WHERE: _where,
    Family.FMA: _fma,
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


def _moved(name: str) -> Kernel:
    """The kernel on a device, for operands that are arrays and known not to be the host's."""
    return lambda dst, *sources: _elsewhere(name, dst, sources)


def _named(name: str, row: Row) -> Kernel:
    kernel = _MAKERS[row.family](getattr(lib, f"cf_{name}"), row)
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = f"The kernel {name} of the table (K1): answers an Answer, raises memory/lost."
    return handles.kernel(name, Array, ANSWERS, kernel, _lost, _moved(name)) or kernel


globals().update({name: _named(name, row) for name, row in KERNELS.items()})
