"""The kernels as functions for people: ``add(x, y, out=None)`` and friends, which raise what the kernel refuses.

Operands are arrays of one dtype and Python scalars, which take it by the value rules; shapes are broadcast through
views. Without ``out`` the result is a fresh host array. Every function refuses as the door does (door/...), and
arguments/wrong-type for what is no array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from counterfoil import arrays, kernels
from counterfoil.devices import host
from counterfoil.door import refused
from counterfoil.layouts import Shape, broadcast_shape, list_of
from counterfoil.numbers import Value, loose_of_values
from counterfoil.placement import store
from counterfoil.programs import result_dtype
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integers
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.expressions import Node, node
from counterfoil_spec.kernels import KERNELS, Family
from counterfoil_spec.moves import Broadcast
from counterfoil_spec.refusals import refuse, shown

Array = arrays.Array

SCALARS = (bool, int, float, complex, np.generic)
"""What counts as a scalar beside an array."""


def __getattr__(name: str) -> Callable[..., Array]:
    """The functions of the table are this module's attributes; any other name is none."""
    raise AttributeError(f"no function is called {name}")


def where(c: Any, x: Any, y: Any, out: Array | None = None) -> Array:
    """``x`` where ``c`` is true, else ``y``; c is of bool or bit."""
    x, y = _operands("x y", x, y)
    (c,) = (instance("c", c, Array),)
    return _pointwise("where", [c, x, y], x.dtype, out)


def fma(x: Any, y: Any, z: Any, out: Array | None = None) -> Array:
    """``x * y + z`` with one rounding."""
    operands = _operands("x y z", x, y, z)
    return _pointwise("fma", operands, operands[0].dtype, out)


def cast(x: Array, dtype: Dtype, out: Array | None = None) -> Array:
    """The elements converted to a dtype."""
    return _pointwise("cast", [instance("x", x, Array)], instance("dtype", dtype, Dtype), out)


def map(expression: Node, inputs: Iterable[Array], out: Array | None = None) -> Array:
    """An expression of the inputs, at every index; each node rounds once to its dtype."""
    root, sources = node(expression), list_of("inputs", inputs, Array)
    dtype = result_dtype(root, [source.dtype for source in sources])
    shape, views = _broadcast(sources)
    target = _target(out, dtype, shape)
    return _checked("map", kernels.map(target, root, views), target, *views)


def fill(x: Array, value: Value) -> Array:
    """Store a value at every index of ``x``, which is the result."""
    return _checked("fill", kernels.fill(instance("x", x, Array), _plain(value)), x)


def iota(x: Array, axis: int) -> Array:
    """Store at every index its entry along an axis; ``x`` is the result."""
    return _checked("iota", kernels.iota(instance("x", x, Array), axis), x)


def matmul(x: Array, y: Array, out: Array | None = None) -> Array:
    """The matrix product over the last two axes, earlier axes broadcast."""
    first, second = instance("x", x, Array).shape, instance("y", y, Array).shape
    batch = broadcast_shape([first[:-2], second[:-2]]) or ()
    target = _target(out, x.dtype, (*batch, *first[-2:-1], *second[-1:]))
    return _checked("matmul", kernels.matmul(target, x, y), target, x, y)


def assign(target: Array, value: object) -> None:
    """Store a scalar everywhere in ``target`` (fill), or an array broadcast to its shape (transfer)."""
    if isinstance(value, SCALARS):
        fill(target, _plain(value))
        return
    if isinstance(value, np.ndarray):
        from counterfoil.interchange import asarray

        value = asarray(value)
    source = instance("value", value, Array)
    if broadcast_shape([source.shape, target.shape]) == target.shape:
        source = _seen(source, target.shape)
    store(source, target, "transfer")


def _unary(name: str) -> Callable[..., Array]:
    def function(x: Array, out: Array | None = None) -> Array:
        return _pointwise(name, [instance("x", x, Array)], x.dtype, out)

    return function


def _binary(name: str) -> Callable[..., Array]:
    result = KERNELS[name].result

    def function(x: Any, y: Any, out: Array | None = None) -> Array:
        operands = _operands("x y", x, y)
        return _pointwise(name, operands, result or operands[0].dtype, out)

    return function


def _reduction(name: str) -> Callable[..., Array]:
    kernel, result = getattr(kernels, name), KERNELS[name].result

    def function(x: Array, axis: int | Sequence[int] | None = None, out: Array | None = None) -> Array:
        shape = instance("x", x, Array).shape
        axes = _axes(axis, len(shape))
        kept = tuple(extent for place, extent in enumerate(shape) if place not in axes)
        target = _target(out, result or x.dtype, kept)
        return _checked(name, kernel(target, x, axes), target, x)

    return function


def _along(name: str) -> Callable[..., Array]:
    kernel = getattr(kernels, name)

    def function(x: Array, axis: int, out: Array | None = None) -> Array:
        target = _target(out, instance("x", x, Array).dtype, x.shape)
        return _checked(name, kernel(target, x, axis), target, x)

    return function


_MAKERS: dict[Family, Callable[[str], Callable[..., Array]]] = {
    Family.COPY: _unary,
    Family.UNARY: _unary,
    Family.BINARY: _binary,
    Family.COMPARE: _binary,
    Family.REDUCE: _reduction,
    Family.ARG: _reduction,
    Family.SCAN: _along,
    Family.SOFTMAX: _along,
}


def _named(name: str, family: Family) -> Callable[..., Array]:
    function = _MAKERS[family](name)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The kernel ``{name}`` into ``out`` or a fresh host array; raises what it refuses."
    return function


def _pointwise(name: str, operands: list[Array], dtype: Dtype, out: Array | None) -> Array:
    shape, views = _broadcast(operands)
    target = _target(out, dtype, shape)
    return _checked(name, getattr(kernels, name)(target, *views), target, *views)


def _checked(name: str, answer: Answer, target: Array, *sources: Array) -> Array:
    """``target`` if the kernel is done; raises what it answered."""
    if answer is Answer.DECLINED:
        raise refuse("door/declined", function=name)
    if answer:
        refused(name, answer, [target, *sources])
    return target


def _target(out: Array | None, dtype: Dtype, shape: Shape) -> Array:
    return arrays.fresh(host(), dtype, shape) if out is None else instance("out", out, Array)


def _operands(names: str, *given: Any) -> list[Array]:
    """The operands as arrays: scalars become arrays of rank 0 at the first array's dtype."""
    dtype = next((each.dtype for each in given if isinstance(each, Array)), None)
    results = []
    for name, each in zip(names.split(), given, strict=True):
        if isinstance(each, SCALARS) and dtype is not None:
            each = _scalar(dtype, _plain(each))
        elif not isinstance(each, Array):
            raise refuse("arguments/wrong-type", argument=name, expected="Array", value=shown(each))
        results.append(each)
    return results


def _scalar(dtype: Dtype, value: Value) -> Array:
    return arrays.filled(arrays.fresh(host(), dtype, ()), loose_of_values(dtype, [value]))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _broadcast(operands: list[Array]) -> tuple[Shape, list[Array]]:
    """The common shape and the operands seen at it; without one, the first's shape and the operands as they are.

    The kernel then refuses them, in the door's order: a dead operand is dead whatever else is wrong with it.
    """
    shapes = [operand.shape for operand in operands]
    if not shapes or all(shape == shapes[0] for shape in shapes):
        return (shapes[0] if shapes else ()), operands
    shape = broadcast_shape(shapes)
    if shape is None:
        return shapes[0], operands
    return shape, [_seen(operand, shape) for operand in operands]


def _seen(array: Array, shape: Shape) -> Array:
    view = array if array.shape == shape else array.move(Broadcast(shape))
    assert view is not None
    return view


def _axes(axis: int | Sequence[int] | None, rank: int) -> Shape:
    if axis is None:
        return tuple(range(rank))
    return integers("axis", axis if isinstance(axis, Iterable) else (axis,))


globals().update({name: _named(name, row.family) for name, row in KERNELS.items() if row.family in _MAKERS})

__all__ = [name for name in KERNELS if name in globals()]
