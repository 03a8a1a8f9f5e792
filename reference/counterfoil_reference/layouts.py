"""Layouts: maps from indices to element positions (A2, A7, A14)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from counterfoil_reference import reach
from counterfoil_reference.arguments import sequence
from counterfoil_reference.moves import Shape, check_extents, check_rank, check_shape, move_shape, source_index
from counterfoil_spec.arguments import integer, integers
from counterfoil_spec.limits import MAX_ELEMENTS, MAX_RANK
from counterfoil_spec.moves import Move, Reshape
from counterfoil_spec.refusals import refuse


@dataclass(frozen=True, slots=True, init=False)
class Layout:
    """Index ``i`` lies at element position ``offset + sum(i[k] * strides[k])``.

    Immutable and canonical (A14): an axis of extent 1 has stride 0; without an element, offset and strides are 0.
    ``size`` is the number of indices; ``span`` the half-open hull of the positions reached, (0, 0) without an element.
    Equal when shape, strides and offset are.
    """

    max_rank: ClassVar[int] = MAX_RANK

    shape: Shape
    strides: Shape
    offset: int
    size: int = field(compare=False, repr=False)
    span: tuple[int, int] = field(compare=False, repr=False)

    def __init__(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> None:
        """Refuses layouts/rank, strides-count, negative-extent, too-many-elements, negative-position, past-limit."""
        shape, strides, offset = integers("shape", shape), integers("strides", strides), integer("offset", offset)
        check_rank(len(shape))
        if len(strides) != len(shape):
            raise refuse("layouts/strides-count", strides=len(strides), rank=len(shape))
        check_extents(shape)
        used_strides, used_offset = canonical(shape, strides, offset)
        low, high = span = hull(shape, used_strides, used_offset)
        if low < 0:
            raise refuse("layouts/negative-position", shape=shape, strides=strides, offset=offset)
        if high > MAX_ELEMENTS:
            raise refuse("layouts/past-limit", shape=shape, strides=strides, offset=offset)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "strides", used_strides)
        object.__setattr__(self, "offset", used_offset)
        object.__setattr__(self, "size", math.prod(shape))
        object.__setattr__(self, "span", span)

    @staticmethod
    def contiguous(shape: Sequence[int]) -> Layout:
        """The C-contiguous layout at offset 0; refuses layouts/rank, negative-extent, too-many-elements."""
        shape = integers("shape", shape)
        check_shape(shape)
        return Layout(shape, c_strides(shape), 0)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether element k in C order lies at ``offset + k``; true without an element."""
        return self.strides == canonical(self.shape, c_strides(self.shape), 0)[0]

    @property
    def is_distinct(self) -> bool:
        """Whether no two indices reach one position (A2)."""
        return reach.is_distinct(self.shape, self.strides)

    def position(self, index: Shape) -> int:
        """The element position of an index."""
        return self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))

    def positions(self) -> list[int]:
        """The element positions of all indices in C order."""
        found = [self.offset] if self.size else []
        for extent, stride in zip(self.shape, self.strides, strict=True):
            steps = [k * stride for k in range(extent)]
            found = [position + step for position in found for step in steps]
        return found

    def move(self, move: Move) -> Layout | None:
        """The layout whose every index reads the element the move's map names; refuses what ``move_shape`` does.

        None only for a reshape that no strides express. The strides are read off the map: an axis' stride is how far
        one step along it moves the position.
        """
        shape = move_shape(move, self.shape)
        if 0 in shape:
            return Layout(shape, (0,) * len(shape), 0)
        origin = self.position(source_index(move, self.shape, (0,) * len(shape)))
        strides = tuple(
            self.position(source_index(move, self.shape, step)) - origin if any(step) else 0 for step in _steps(shape)
        )
        if isinstance(move, Reshape) and not same_walk(self.shape, self.strides, shape, strides):
            return None
        return Layout(shape, strides, origin)


def _steps(shape: Shape) -> Iterator[Shape]:
    """For each axis the index one step along it from the origin; the origin itself for an axis of extent 1."""
    for axis, extent in enumerate(shape):
        yield tuple(int(other == axis and extent > 1) for other in range(len(shape)))


def same_walk(shape: Shape, strides: Shape, other_shape: Shape, other_strides: Shape) -> bool:
    """Whether both visit, from one origin, the same positions in the same C order: merged, they are equal.

    The innermost merged axis ends where the step from one element to the next first changes, and so on outwards; so
    what an order of positions merges to is determined by it.
    """
    return _merged(shape, [strides]) == _merged(other_shape, [other_strides])


def canonical(shape: Shape, strides: Shape, offset: int) -> tuple[Shape, int]:
    """The strides and the offset without those nobody uses (A14), however large they were."""
    if 0 in shape:
        return (0,) * len(shape), 0
    return tuple(0 if extent == 1 else stride for extent, stride in zip(shape, strides, strict=True)), offset


def hull(shape: Shape, strides: Shape, offset: int) -> tuple[int, int]:
    """The least position and one past the greatest; (0, 0) without an element."""
    if 0 in shape:
        return 0, 0
    reaches = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return offset + sum(r for r in reaches if r < 0), offset + sum(r for r in reaches if r > 0) + 1


def c_strides(shape: Shape) -> Shape:
    """Each axis' stride in C order: the product of the extents after it."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def coalesce(layouts: Sequence[Layout]) -> list[Layout]:
    """The layouts with extent-1 axes dropped and neighbours merged that every layout walks as one, in C order.

    At least one axis is left: a scalar's of extent 1, an empty layout's of extent 0. Refuses
    layouts/coalesce-count and layouts/coalesce-shapes.
    """
    given = sequence("layouts", layouts, Layout)
    if not given:
        raise refuse("layouts/coalesce-count", layouts=0)
    shape = given[0].shape
    for other in given:
        if other.shape != shape:
            raise refuse("layouts/coalesce-shapes", first=shape, other=other.shape)
    if 0 in shape:
        return [Layout((0,), (0,), 0) for _ in given]
    merged = _merged(shape, [layout.strides for layout in given])
    extents = tuple(extent for extent, _ in merged)
    return [
        Layout(extents, tuple(strides[k] for _, strides in merged), layout.offset) for k, layout in enumerate(given)
    ]


def _merged(shape: Shape, all_strides: Sequence[Shape]) -> list[tuple[int, Shape]]:
    """The merged axes: each its extent and its stride in every layout."""
    merged: list[tuple[int, Shape]] = []
    for axis, extent in enumerate(shape):
        strides = tuple(layout[axis] for layout in all_strides)
        if extent == 1:
            continue
        if merged and all(outer == inner * extent for outer, inner in zip(merged[-1][1], strides, strict=True)):
            merged[-1] = (merged[-1][0] * extent, strides)
        else:
            merged.append((extent, strides))
    return merged or [(1, (0,) * len(all_strides))]
