"""fill, iota, copy and cast: kernels that compute nothing but a conversion."""

from __future__ import annotations

from counterfoil_reference import door, elements
from counterfoil_reference.arrays import Array
from counterfoil_reference.kernels.operations import cast_core
from counterfoil_reference.kernels.output import never, write
from counterfoil_reference.numbers import code_of_value
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.dtypes import int64
from counterfoil_spec.kernels import KERNELS


def fill(dst: Array, value: object) -> Answer:
    """``value`` stored at every index; the value is checked as by a store (dtypes/value-type, dtypes/value-range)."""
    instance("dst", dst, Array)
    code = code_of_value(dst.dtype, value)
    return door.run([dst], [], True, lambda: True, never, lambda: write(dst, [code] * dst.layout.size))


def iota(dst: Array, axis: int) -> Answer:
    """At every index its coordinate along ``axis``, cast from int64; an axis that is none is Shape_mismatch."""
    instance("dst", dst, Array)
    along = integer("axis", axis)

    def work() -> None:
        convert = cast_core(int64, dst.dtype)
        write(dst, [convert(index[along]) for index in elements.indices(dst.shape)])

    fits = dst.dtype in KERNELS["iota"].domain
    return door.run([dst], [], fits, lambda: 0 <= along < len(dst.shape), never, work)


def copy(dst: Array, x: Array) -> Answer:
    """The bits of every element of ``x``, an array of the same dtype and shape."""
    instance("dst", dst, Array)
    instance("x", x, Array)
    fits = dst.dtype is x.dtype
    return door.run([dst], [x], fits, lambda: dst.shape == x.shape, never, lambda: write(dst, elements.codes(x)))


def cast(dst: Array, x: Array) -> Answer:
    """Every element of ``x`` converted to the destination's dtype, as ``operations.cast_core`` says."""
    instance("dst", dst, Array)
    instance("x", x, Array)

    def work() -> None:
        convert = cast_core(x.dtype, dst.dtype)
        write(dst, [convert(code) for code in elements.codes(x)])

    return door.run([dst], [x], True, lambda: dst.shape == x.shape, never, work)
