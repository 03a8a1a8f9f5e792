"""Layouts: maps from indices to element positions, kept as the core's structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from counterfoil._native import ffi, lib
from counterfoil.moves import MOVED, REFUSED, RULES, encoded, move_refusal, moved, saturated, shape_refusal
from counterfoil_spec.arguments import instance, integer, integers, read
from counterfoil_spec.limits import MAX_RANK
from counterfoil_spec.moves import Move
from counterfoil_spec.refusals import refuse, shown

Shape = tuple[int, ...]

_LAYOUT = ffi.typeof("cf_layout *")
_NULL = ffi.NULL


class Layout:
    """``Layout(shape, strides, offset=0)``: index i lies at ``offset + sum(i[k] * strides[k])``, in elements.

    Immutable and canonical (A14). Refuses layouts/rank, strides-count, negative-extent, too-many-elements,
    negative-position and past-limit, in that order.
    """

    __slots__ = ("__weakref__", "_c")

    max_rank: ClassVar[int] = MAX_RANK

    def __init__(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> None:
        extents = integers("shape", shape)
        steps = integers("strides", strides)
        start = integer("offset", offset)
        if len(extents) > MAX_RANK:
            raise refuse("layouts/rank", rank=len(extents), limit=MAX_RANK)
        if len(steps) != len(extents):
            raise refuse("layouts/strides-count", strides=len(steps), rank=len(extents))
        self._c = ffi.new(_LAYOUT)
        try:
            rule = lib.cf_layout_make(self._c, len(extents), extents, steps, start, _NULL)
        except OverflowError:
            rule = _make_wide(self._c, extents, steps, start)
        if rule:
            name = RULES[rule]
            if name in ("layouts/negative-position", "layouts/past-limit"):
                raise refuse(name, shape=extents, strides=steps, offset=start)
            check_shape(extents)

    @staticmethod
    def contiguous(shape: Sequence[int]) -> Layout:
        """The C-contiguous layout of a shape, offset 0.

        Refuses layouts/rank, layouts/negative-extent and layouts/too-many-elements.
        """
        extents = integers("shape", shape)
        check_shape(extents)
        c = ffi.new(_LAYOUT)
        lib.cf_layout_contiguous(c, len(extents), extents, _NULL)
        return layout_of(c)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return int(self._c.rank)

    @property
    def shape(self) -> Shape:
        """The extents."""
        return tuple(ffi.unpack(self._c.shape, self._c.rank))

    @property
    def strides(self) -> Shape:
        """The strides, in elements: 0 for an axis of extent 1, and all 0 without an element."""
        return tuple(ffi.unpack(self._c.strides, self._c.rank))

    @property
    def offset(self) -> int:
        """The position of the first index, in elements."""
        return int(self._c.offset)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._c.size)

    @property
    def span(self) -> tuple[int, int]:
        """The half-open hull of the positions reached; (0, 0) without an element."""
        return int(self._c.low), int(self._c.high)

    @property
    def is_contiguous(self) -> bool:
        """Whether element k in C order lies at ``offset + k``."""
        return bool(self._c.flags & lib.CF_LAYOUT_CONTIGUOUS)

    @property
    def is_distinct(self) -> bool:
        """Whether no two indices reach one position (A2)."""
        return bool(lib.cf_layout_is_distinct(self._c))

    def move(self, move: Move) -> Layout | None:
        """The layout moved; None for a reshape that no strides express. Refuses what ``move_shape`` does."""
        c = ffi.new(_LAYOUT)
        answer = moved(c, self._c, move, ffi.new("cf_fault *"))
        if answer == REFUSED:
            raise move_refusal(move, self.shape, self._c)
        return layout_of(c) if answer == MOVED else None

    def __eq__(self, other: object) -> bool:
        return bool(lib.cf_layout_equal(self._c, other._c)) if isinstance(other, Layout) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.shape, self.strides, self.offset))

    def __repr__(self) -> str:
        return f"Layout({list(self.shape)}, {list(self.strides)}, {self.offset})"

    def __reduce__(self) -> tuple[type[Layout], tuple[Shape, Shape, int]]:
        return Layout, (self.shape, self.strides, self.offset)


def layout_of(c: Any) -> Layout:
    """A Layout around a structure of the core that nobody else will change."""
    layout = object.__new__(Layout)
    layout._c = c
    return layout


def check_shape(extents: Sequence[int]) -> None:
    """Refuse layouts/rank, layouts/negative-extent or layouts/too-many-elements, in that order."""
    if len(extents) > MAX_RANK:
        raise refuse("layouts/rank", rank=len(extents), limit=MAX_RANK)
    axis = ffi.new("int *")
    rule = lib.cf_shape_check(len(extents), saturated(extents), axis)
    if rule:
        raise shape_refusal(RULES[rule], extents, axis[0])


def move_shape(move: Move, shape: Sequence[int]) -> Shape:
    """The shape that a move gives an array of this shape.

    Refuses the shape's own faults, then the move's, entry by entry, then the result's rank, extents and product.
    """
    encoded(move)
    extents = integers("shape", shape)
    check_shape(extents)
    argument, result = ffi.new(_LAYOUT), ffi.new(_LAYOUT)
    lib.cf_layout_contiguous(argument, len(extents), extents, _NULL)
    if moved(result, argument, move, ffi.new("cf_fault *")) == REFUSED:
        raise move_refusal(move, extents, argument)
    return tuple(ffi.unpack(result.shape, result.rank))


def coalesce(layouts: Sequence[Layout]) -> list[Layout]:
    """The layouts with axes of extent 1 dropped and neighbours merged where all of them walk them as one.

    C order is kept and at least one axis is left. Refuses layouts/coalesce-count and layouts/coalesce-shapes.
    """
    given = list_of("layouts", layouts, Layout)
    if not given:
        raise refuse("layouts/coalesce-count", layouts=0)
    results = [ffi.new(_LAYOUT) for _ in given]
    if not lib.cf_layout_coalesce(len(given), [layout._c for layout in given], results):
        first = given[0].shape
        other = next(layout.shape for layout in given if layout.shape != first)
        raise refuse("layouts/coalesce-shapes", first=first, other=other)
    return [layout_of(c) for c in results]


def broadcast_shape(shapes: Sequence[Shape]) -> Shape | None:
    """The shape that the shapes broadcast to, aligned from the right, or None."""
    rank = max(len(shape) for shape in shapes)
    result = []
    for extents in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        others = set(extents) - {1}
        if len(others) > 1:
            return None
        result.append(others.pop() if others else 1)
    return tuple(result)


def list_of(argument: str, values: Any, cls: type[Any]) -> list[Any]:
    """The values read once into a list; refuses arguments/wrong-type for what is no iterable or no instance."""
    entries = read(values)
    if entries is None:
        expected = f"a sequence of {cls.__name__}"
        raise refuse("arguments/wrong-type", argument=argument, expected=expected, value=shown(values))
    return [instance(argument, entry, cls) for entry in entries]


def _make_wide(c: Any, extents: Shape, steps: Shape, start: int) -> int:
    """Layouts with entries outside int64, judged exactly: entries that A14 drops go first; the answer of the core."""
    check_shape(extents)
    if 0 in extents:
        steps, start = (0,) * len(extents), 0
    steps = tuple(0 if extent == 1 else step for extent, step in zip(extents, steps, strict=True))
    if saturated((*steps, start)) == (*steps, start):
        return int(lib.cf_layout_make(c, len(extents), extents, steps, start, _NULL))
    least = start + sum(min(0, (extent - 1) * step) for extent, step in zip(extents, steps, strict=True))
    return RULES.index("layouts/negative-position" if least < 0 else "layouts/past-limit")
