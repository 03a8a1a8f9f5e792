"""sum, prod, max, min, mean, argmax and argmin over axes that the destination's shape lacks.

Axes are integers; one out of range or named twice is Shape_mismatch. Over no term, with a result to give, a sum is 0,
a product 1, a mean NaN (as the dtype stores it), and max, min, argmax, argmin are Shape_mismatch. A destination
identical to the source, with an element, is Declined (A5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from counterfoil_reference import door, elements
from counterfoil_reference.arrays import Array
from counterfoil_reference.intervals import Accept, free_nan, parted
from counterfoil_reference.kernels import bounds
from counterfoil_reference.kernels.operations import core, total_order
from counterfoil_reference.kernels.output import write
from counterfoil_reference.numbers import (
    FORMATS,
    decode,
    integer_of_code,
    is_nan_code,
    join_complex,
    split_complex,
)
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integers
from counterfoil_spec.dtypes import Dtype, Kind
from counterfoil_spec.kernels import Kernel

Group = list[int]
Reduction = Callable[[Dtype, Group], int]
Room = Callable[[Dtype, Group, int], Accept | None]


def named(row: Kernel) -> Callable[..., Answer]:
    """The call of a reduction's row: ``(dst, x, axes)``."""
    return lambda dst, x, axes: _call(row, dst, x, axes)


def _call(row: Kernel, dst: Array, x: Array, axes: Sequence[int]) -> Answer:
    instance("dst", dst, Array)
    instance("x", x, Array)
    reduced = integers("axes", axes)
    return door.run(
        [dst],
        [x],
        x.dtype in row.domain and dst.dtype is (row.result or x.dtype),
        lambda: _fits(row.name, dst.shape, x.shape, reduced),
        lambda: row.declines_identical and door.identical(dst, x),
        lambda: _work(row.name, dst, x, reduced),
    )


def _fits(name: str, result: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    if len(set(axes)) != len(axes) or not all(0 <= axis < len(shape) for axis in axes):
        return False
    if result != tuple(extent for axis, extent in enumerate(shape) if axis not in axes):
        return False
    termless = any(shape[axis] == 0 for axis in axes)
    return not (termless and 0 not in result and name in ("max", "min", "argmax", "argmin"))


def _work(name: str, dst: Array, x: Array, axes: tuple[int, ...]) -> None:
    reduce, room = _REDUCTIONS[name]
    groups = gathered(elements.codes(x), x.shape, axes)
    results = [reduce(x.dtype, group) for group in groups]

    def rooms() -> list[Accept | None]:
        return [room(x.dtype, group, stored) for group, stored in zip(groups, results, strict=True)]

    write(dst, results, rooms)


def gathered(codes: Sequence[int], shape: tuple[int, ...], axes: Sequence[int]) -> list[Group]:
    """For each index of the axes kept, in C order, the codes over the axes named, in C order."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    groups: dict[tuple[int, ...], Group] = {
        index: [] for index in elements.indices(tuple(shape[axis] for axis in kept))
    }
    for code, index in zip(codes, elements.indices(shape), strict=True):
        groups[tuple(index[axis] for axis in kept)].append(code)
    return list(groups.values())


# --- sums, products, means -------------------------------------------------------------------------------------------


def parts_of(dtype: Dtype, group: Group) -> list[Group]:
    """The codes of a group's real parts and, of a complex dtype, of its imaginary parts."""
    if dtype.kind is not Kind.COMPLEX:
        return [group]
    pairs = [split_complex(dtype, code) for code in group]
    return [[real for real, _ in pairs], [imaginary for _, imaginary in pairs]]


def _terms(dtype: Dtype, group: Group) -> list[bounds.Terms]:
    form = FORMATS[dtype]
    return [bounds.summed([decode(form, code) for code in part]) for part in parts_of(dtype, group)]


def whole(dtype: Dtype, parts: Sequence[int]) -> int:
    """An element from the codes of its parts."""
    return join_complex(dtype, *parts) if dtype.kind is Kind.COMPLEX else parts[0]


def whole_room(dtype: Dtype, stored: int, rooms: Callable[[int, int], Accept | None]) -> Accept | None:
    """The room of an element stored as ``stored``, from ``rooms(part, its code)``."""
    if dtype.kind is not Kind.COMPLEX:
        return rooms(0, stored)
    codes = split_complex(dtype, stored)
    return parted(codes, [rooms(0, codes[0]), rooms(1, codes[1])])


def _sum(dtype: Dtype, group: Group) -> int:
    if dtype.float_format is None:
        return sum(group) & ((1 << dtype.bits) - 1)
    return whole(dtype, [bounds.sum_code(FORMATS[dtype], terms) for terms in _terms(dtype, group)])


def _sum_room(dtype: Dtype, group: Group, stored: int) -> Accept | None:
    if dtype.float_format is None:
        return None
    terms = _terms(dtype, group)
    return whole_room(dtype, stored, lambda part, code: bounds.sum_room(dtype, terms[part], code))


def _mean(dtype: Dtype, group: Group) -> int:
    return whole(dtype, [bounds.sum_code(FORMATS[dtype], terms, len(group)) for terms in _terms(dtype, group)])


def _mean_room(dtype: Dtype, group: Group, stored: int) -> Accept | None:
    terms, count = _terms(dtype, group), len(group)
    return whole_room(dtype, stored, lambda part, code: bounds.sum_room(dtype, terms[part], code, count, underflows=1))


def _product(dtype: Dtype, group: Group) -> int:
    if dtype.float_format is None:
        return math.prod(group) & ((1 << dtype.bits) - 1)
    form = FORMATS[dtype]
    return bounds.product_code(form, bounds.multiplied(decode(form, code) for code in group))


def _product_room(dtype: Dtype, group: Group, stored: int) -> Accept | None:
    if dtype.float_format is None:
        return None
    form = FORMATS[dtype]
    return bounds.product_room(dtype, bounds.multiplied(decode(form, code) for code in group), stored)


# --- extremes --------------------------------------------------------------------------------------------------------


def _extreme(name: str) -> Reduction:
    def reduce(dtype: Dtype, group: Group) -> int:
        pick = core(name, dtype)
        found = group[0] if dtype.kind is not Kind.BOOLEAN else int(group[0] != 0)
        for code in group:  # the first too: one NaN alone gives what a NaN gives
            found = pick(found, code)
        return found

    return reduce


def _free(dtype: Dtype, group: Group, stored: int) -> Accept | None:
    return free_nan(dtype, stored)


def _key(dtype: Dtype, code: int) -> int:
    """What max and min order by: values, -0 before +0, booleans as truth values."""
    if dtype.kind is Kind.FLOAT:
        return total_order(FORMATS[dtype], code)
    return int(code != 0) if dtype.kind is Kind.BOOLEAN else integer_of_code(dtype, code)


def _position(greatest: bool) -> Reduction:
    """The position of the first NaN, else of the first element that max (or min) gives."""

    def reduce(dtype: Dtype, group: Group) -> int:
        if dtype.kind is Kind.FLOAT:
            for position, code in enumerate(group):
                if is_nan_code(FORMATS[dtype], code):
                    return position
        keys = [_key(dtype, code) for code in group]
        return keys.index(max(keys) if greatest else min(keys))

    return reduce


def _none(dtype: Dtype, group: Group, stored: int) -> Accept | None:
    return None


_REDUCTIONS: dict[str, tuple[Reduction, Room]] = {
    "sum": (_sum, _sum_room),
    "prod": (_product, _product_room),
    "mean": (_mean, _mean_room),
    "max": (_extreme("maximum"), _free),
    "min": (_extreme("minimum"), _free),
    "argmax": (_position(True), _none),
    "argmin": (_position(False), _none),
}
