"""The kernels as functions for people: ``add(x, y, out=None)`` and friends, which raise what the kernel refuses.

Operands are arrays of one dtype and Python scalars, which take it by the value rules; shapes are broadcast through
views. Without ``out`` the result is a fresh array of the device that computes, if an operand is its, else of the host;
scalars are put there too. Every function refuses as the door does (door/...), and arguments/wrong-type for what is no
array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from counterfoil import kernels
from counterfoil._native import lib
from counterfoil.arrays import Array, fresh
from counterfoil.devices import Device, host
from counterfoil.door import refused
from counterfoil.layouts import Shape, broadcast_shape, check_shape, list_of
from counterfoil.moves import encode
from counterfoil.numbers import Value
from counterfoil.placement import store
from counterfoil.programs import result_dtype
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integers
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.expressions import Node, node
from counterfoil_spec.kernels import KERNELS
from counterfoil_spec.refusals import refuse

_HOST = host()
_BROADCAST: int = lib.CF_BROADCAST
_DONE = Answer.DONE

SCALARS = (bool, int, float, complex, np.generic)
"""What counts as a scalar beside an array."""


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
    target = _target(out, dtype, shape, sources)
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
    target = _target(out, x.dtype, (*batch, *first[-2:-1], *second[-1:]), (x, y))
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

    return _named(name, function)


def _binary(name: str) -> Callable[..., Array]:
    result = KERNELS[name].result

    kernel = getattr(kernels, name)

    def function(x: Any, y: Any, out: Array | None = None) -> Array:
        if out is None and type(x) is type(y) is Array and x.shape == y.shape:
            near = x._buffer.device is y._buffer.device is _HOST
            out = fresh(_HOST if near else _place((x, y)), result or x._dtype, x.shape)
            return _checked(name, kernel(out, x, y), out, x, y)
        operands = _operands("x y", x, y)
        return _pointwise(name, operands, result or operands[0].dtype, out)

    return _named(name, function)


def _reduction(name: str) -> Callable[..., Array]:
    kernel, result = getattr(kernels, name), KERNELS[name].result

    def function(x: Array, axis: int | Sequence[int] | None = None, out: Array | None = None) -> Array:
        shape = instance("x", x, Array).shape
        axes = _axes(axis, len(shape))
        kept = tuple(extent for place, extent in enumerate(shape) if place not in axes)
        target = _target(out, result or x.dtype, kept, (x,))
        return _checked(name, kernel(target, x, axes), target, x)

    return _named(name, function)


def _along(name: str) -> Callable[..., Array]:
    kernel = getattr(kernels, name)

    def function(x: Array, axis: int, out: Array | None = None) -> Array:
        target = _target(out, instance("x", x, Array).dtype, x.shape, (x,))
        return _checked(name, kernel(target, x, axis), target, x)

    return _named(name, function)


def _named(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The kernel ``{name}`` into ``out`` or a fresh array; raises what it refuses."
    return function


def _pointwise(name: str, operands: list[Array], dtype: Dtype, out: Array | None) -> Array:
    shape, views = _broadcast(operands)
    target = _target(out, dtype, shape, operands)
    return _checked(name, getattr(kernels, name)(target, *views), target, *views)


def _checked(name: str, answer: Answer, target: Array, *sources: Array) -> Array:
    """``target`` if the kernel is done; raises what it answered."""
    if answer is _DONE:
        return target
    if answer is Answer.DECLINED:
        raise refuse("door/declined", function=name)
    refused(name, answer, [target, *sources])
    raise AssertionError(f"{answer.name} refuses nothing")


def _target(out: Array | None, dtype: Dtype, shape: Shape, operands: Sequence[Array]) -> Array:
    return fresh(_place(operands), dtype, shape) if out is None else instance("out", out, Array)


def _place(operands: Iterable[Array]) -> Device:
    """Where a result of operands lies: on the first one's device that computes, else on the host."""
    return next((operand.device for operand in operands if operand.device.computes), _HOST)


def _operands(names: str, *given: Any) -> list[Array]:
    """The operands as arrays: scalars become arrays of rank 0 at the first array's dtype."""
    arrays = [each for each in given if issubclass(type(each), Array)]
    results = []
    for name, each in zip(names.split(), given, strict=True):
        if isinstance(each, SCALARS) and arrays:
            each = _scalar(_place(arrays), arrays[0].dtype, _plain(each))
        results.append(instance(name, each, Array))
    return results


def _scalar(device: Device, dtype: Dtype, value: Value) -> Array:
    array = fresh(device, dtype, ())
    if device is _HOST:
        array.set((), value)
    else:
        kernels.fill(array, value)
    return array


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
    if array.shape == shape:
        return array
    view = array._view(encode(_BROADCAST, len(shape), shape))
    if not isinstance(view, Array):  # more elements than a layout may have
        check_shape(shape)
    return view  # type: ignore[no-any-return]


def _axes(axis: int | Sequence[int] | None, rank: int) -> Shape:
    if axis is None:
        return tuple(range(rank))
    return integers("axis", axis if isinstance(axis, Iterable) else (axis,))


copy = _unary("copy")
neg = _unary("neg")
recip = _unary("recip")
abs = _unary("abs")
sign = _unary("sign")
sqrt = _unary("sqrt")
floor = _unary("floor")
ceil = _unary("ceil")
round = _unary("round")
trunc = _unary("trunc")
exp = _unary("exp")
exp2 = _unary("exp2")
log = _unary("log")
log2 = _unary("log2")
log1p = _unary("log1p")
expm1 = _unary("expm1")
sin = _unary("sin")
cos = _unary("cos")
tan = _unary("tan")
asin = _unary("asin")
acos = _unary("acos")
atan = _unary("atan")
sinh = _unary("sinh")
cosh = _unary("cosh")
tanh = _unary("tanh")
erf = _unary("erf")
add = _binary("add")
sub = _binary("sub")
mul = _binary("mul")
fdiv = _binary("fdiv")
idiv = _binary("idiv")
mod = _binary("mod")
pow = _binary("pow")
atan2 = _binary("atan2")
maximum = _binary("maximum")
minimum = _binary("minimum")
bitwise_and = _binary("bitwise_and")
bitwise_or = _binary("bitwise_or")
bitwise_xor = _binary("bitwise_xor")
equal = _binary("equal")
not_equal = _binary("not_equal")
less = _binary("less")
less_equal = _binary("less_equal")
sum = _reduction("sum")
prod = _reduction("prod")
max = _reduction("max")
min = _reduction("min")
mean = _reduction("mean")
argmax = _reduction("argmax")
argmin = _reduction("argmin")
cumsum = _along("cumsum")
softmax = _along("softmax")
