"""Lanes: the elements of an array along one axis, one lane per index of the other axes in C order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from counterfoil_reference import door
from counterfoil_reference.arrays import Array
from counterfoil_reference.kernels.output import never
from counterfoil_spec.answers import Answer
from counterfoil_spec.arguments import instance, integer
from counterfoil_spec.kernels import KERNELS

_T = TypeVar("_T")


def call(name: str, dst: Array, x: Array, axis: int, work: Callable[[Array, Array, int], None]) -> Answer:
    """The call of a kernel along one axis, of one dtype and one shape; an axis that is none is Shape_mismatch."""
    instance("dst", dst, Array)
    instance("x", x, Array)
    axis = integer("axis", axis)
    dtypes_fit = x.dtype in KERNELS[name].domain and dst.dtype is x.dtype
    return door.run(
        [dst],
        [x],
        dtypes_fit,
        lambda: dst.shape == x.shape and 0 <= axis < len(x.shape),
        never,
        lambda: work(dst, x, axis),
    )


def along(values: Sequence[_T], shape: tuple[int, ...], axis: int) -> list[list[_T]]:
    """The lanes of values given in C order."""
    return [[values[position] for position in lane] for lane in _positions(shape, axis)]


def scattered(lanes: Sequence[Sequence[_T]], shape: tuple[int, ...], axis: int) -> list[_T]:
    """The values of lanes back in C order: the inverse of ``along``."""
    found: dict[int, _T] = {}
    for lane, positions in zip(lanes, _positions(shape, axis), strict=True):
        found.update(zip(positions, lane, strict=True))
    return [found[position] for position in range(len(found))]


def _positions(shape: tuple[int, ...], axis: int) -> list[range]:
    """The C-order positions of each lane."""
    extent, step = shape[axis], math.prod(shape[axis + 1 :])
    blocks = range(0, math.prod(shape), extent * step) if extent * step else range(0)
    return [
        range(block + inner, block + inner + extent * step, step) for block in blocks for inner in range(step)
    ]
