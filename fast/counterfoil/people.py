"""For people: operators and basic indexing on arrays (views, never copies behind one's back), printing.

Operands have one dtype; Python scalars take it, by the value rules. Shapes are broadcast through views. Results are
fresh arrays of the operands' device if it computes, else of the host. Indices count from the front: a negative one is
refused, as an array of indices is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import counterfoil
from counterfoil_spec.dtypes import Kind
from counterfoil_spec.refusals import refuse, shown

_SCALARS = (bool, int, float, complex, np.generic)


def _operator(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: counterfoil.Array, other: object) -> Any:
        if not isinstance(other, (counterfoil.Array, *_SCALARS)):
            return NotImplemented
        first, second = (other, self) if swapped else (self, other)
        return getattr(counterfoil.functions, name)(first, second)

    method.__doc__ = f"``{name}`` of the two, element by element."
    return method


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def method(self: counterfoil.Array, other: object) -> Any:
        if not isinstance(other, (counterfoil.Array, *_SCALARS)):
            return NotImplemented
        return getattr(counterfoil.functions, name)(self, other, out=self)

    method.__doc__ = f"``{name}`` of the two into the first."
    return method


class Operators:
    """The operators of an array. Truth, ``len`` and numbers are asked of arrays of one element or of one axis."""

    __slots__ = ()

    # numpy's operators step back: an ndarray beside an array of ours is an error, never a silent conversion.
    __array_ufunc__ = None

    _c: Any

    __add__, __radd__, __iadd__ = _operator("add"), _operator("add", True), _in_place("add")
    __sub__, __rsub__, __isub__ = _operator("sub"), _operator("sub", True), _in_place("sub")
    __mul__, __rmul__, __imul__ = _operator("mul"), _operator("mul", True), _in_place("mul")
    __truediv__, __rtruediv__, __itruediv__ = _operator("fdiv"), _operator("fdiv", True), _in_place("fdiv")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operator("idiv"), _operator("idiv", True), _in_place("idiv")
    __mod__, __rmod__, __imod__ = _operator("mod"), _operator("mod", True), _in_place("mod")
    __pow__, __rpow__, __ipow__ = _operator("pow"), _operator("pow", True), _in_place("pow")
    __and__, __rand__, __iand__ = _operator("bitwise_and"), _operator("bitwise_and", True), _in_place("bitwise_and")
    __or__, __ror__, __ior__ = _operator("bitwise_or"), _operator("bitwise_or", True), _in_place("bitwise_or")
    __xor__, __rxor__, __ixor__ = _operator("bitwise_xor"), _operator("bitwise_xor", True), _in_place("bitwise_xor")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("less", True), _operator("less_equal", True)
    __eq__ = _operator("equal")
    __ne__ = _operator("not_equal")
    __hash__ = object.__hash__

    def __matmul__(self, other: object) -> Any:
        """The matrix product over the last two axes."""
        return (
            counterfoil.functions.matmul(_as_array(self), other)
            if isinstance(other, counterfoil.Array)
            else NotImplemented
        )

    def __neg__(self) -> counterfoil.Array:
        return counterfoil.functions.neg(_as_array(self))

    def __pos__(self) -> counterfoil.Array:
        return _as_array(self)

    def __abs__(self) -> counterfoil.Array:
        return counterfoil.functions.abs(_as_array(self))

    def __setitem__(self, key: object, value: object) -> None:
        """Store a scalar (as ``fill``), or an array of the same dtype broadcast to the view (as ``transfer``)."""
        counterfoil.functions.assign(_as_array(self)[key], value)

    def __len__(self) -> int:
        shape = _as_array(self).shape
        if not shape:
            raise refuse("arguments/wrong-type", argument="len", expected="an array with an axis", value=shown(self))
        return shape[0]

    def __iter__(self) -> Iterator[counterfoil.Array]:
        return (_as_array(self)[place] for place in range(len(self)))

    def item(self) -> Any:
        """The value of an array of one element; refuses arguments/wrong-type for any other number."""
        array = _as_array(self)
        if array.size != 1:
            raise refuse("arguments/wrong-type", argument="item", expected="an array of one element", value=shown(self))
        return array.get((0,) * len(array.shape))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        value = self.item()
        if _as_array(self).dtype.kind not in (Kind.SIGNED, Kind.UNSIGNED):
            raise TypeError(f"an array of {_as_array(self).dtype.name} is no integer")
        return int(value)

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __repr__(self) -> str:
        return counterfoil.showing.text(_as_array(self))


def _as_array(value: object) -> counterfoil.Array:
    assert isinstance(value, counterfoil.Array)
    return value
