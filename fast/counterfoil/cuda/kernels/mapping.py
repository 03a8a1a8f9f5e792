"""map: a program of pointwise nodes as one expression of ``fast/cuda/pointwise.cu``, each node rounding once.

Constants are parameters, so that programs that differ in them alone are one cubin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from counterfoil.arrays import Array
from counterfoil.cuda import calls
from counterfoil.cuda.kernels import pointwise
from counterfoil.programs import Program
from counterfoil_spec.answers import Answer
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.kernels import KERNELS, Family
from counterfoil_spec.kernels import Kernel as Row
from counterfoil_spec.limits import MAX_MAP_INPUTS, MAX_MAP_NODES

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_INPUT, _CONSTANT, _APPLY, _CAST = range(4)
_NAMES: Final = tuple(KERNELS)


def plan(device: Cuda, row: Row, dst: Array, sources: Sequence[Array], program: Program) -> calls.Launch | Answer:
    """The launch of a program over its inputs, or SHAPE_MISMATCH, or DECLINED for more than a map takes."""
    if program.c.inputs > len(sources) or any(operand.shape != dst.shape for operand in sources):
        return Answer.SHAPE_MISMATCH
    if program.c.count > MAX_MAP_NODES or len(sources) > MAX_MAP_INPUTS:
        return Answer.DECLINED
    dtypes = (dst.dtype, *(operand.dtype for operand in sources))
    return pointwise.evaluation(device, expression(program, dtypes), [dst, *sources])


def expression(program: Program, dtypes: tuple[Dtype, ...]) -> pointwise.Expression:
    """A program within the limits; ``dtypes``: the destination's, then the inputs'."""
    stack: list[str] = []
    constants: list[tuple[int, int]] = []
    for place in range(program.c.count):
        each = program.nodes[place]
        arguments = stack[len(stack) - each.arity :]
        del stack[len(stack) - each.arity :]
        if each.kind == _CONSTANT:
            constants.append((each.low, each.high))
        stack.append(_written(each, arguments, len(constants)))
    return pointwise.Expression(stack[0], dtypes, tuple(constants))


def _written(each: Any, arguments: list[str], constants: int) -> str:
    """A node in CUDA C."""
    if each.kind == _INPUT:
        return f"CF_X({each.operand})"
    if each.kind == _CONSTANT:
        return f"CF_VALUE({each.dtype}, {constants - 1})"
    if each.kind == _CAST:
        return f"cf_convert<{each.low}, {each.dtype}>({arguments[0]})"
    return f"cf_{_NAMES[each.operand]}<{each.low}>({', '.join(arguments)})"


PLANNERS = {Family.MAP: plan}
