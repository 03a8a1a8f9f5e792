"""Lanes: the elements of an array along one axis, one lane per index of the other axes in C order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


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
