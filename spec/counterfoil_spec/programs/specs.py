"""Projections from text (``"b i, i o -> b o"``) and from broadcasting.

A spec is operands separated by ``,``, then ``->`` and the target. Axes are separated by blanks; an operand of letters
alone has one axis per letter. An axis is a sum of ``[int*]iterator``, ``[int*]$symbol`` and integers. Extents come from
axes where an iterator stands alone; the others are declared after ``;``: ``"i+k, k -> i; i=8"``, ``"n=$s"`` symbolic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from counterfoil_spec.arguments import instance, sequence, text
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.programs.projections import Affine, Extent, Index, Projections, affine, at, fixed, greatest_extent
from counterfoil_spec.programs.symbols import Iterator, Symbol
from counterfoil_spec.refusals import Refusal, refuse, shown

_TERM: Final = re.compile(r"([+-]?)(?:(?:(\d{1,18})\*)?(\$?)([A-Za-z_]\w*)|(\d{1,18}))", re.ASCII)
_DECLARATION: Final = re.compile(r"([A-Za-z_]\w*)=(?:(\d{1,18})|\$([A-Za-z_]\w*))", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Axis:
    """A parsed axis: iterators by name with their factors, static symbols with theirs, and a number."""

    iterators: tuple[tuple[int, str], ...]
    statics: tuple[tuple[int, Symbol], ...]
    offset: int

    @property
    def alone(self) -> str | None:
        """The iterator's name where it stands alone."""
        bare = len(self.iterators) == 1 and not self.statics and self.offset == 0
        return self.iterators[0][1] if bare and self.iterators[0][0] == 1 else None

    def over(self, loops: Mapping[str, Iterator]) -> Affine:
        terms: list[tuple[int, Iterator | Symbol]] = [(factor, loops[name]) for factor, name in self.iterators]
        return affine([*terms, *self.statics], self.offset)


def parse(
    spec: str, target: Node, operands: Sequence[Node], symbols: Mapping[str, Symbol] | None = None
) -> Projections:
    """The projections a spec says, with fresh iterators; loops in the order of the target, then of appearance.

    Refuses programs/spec (its text, an unknown or conflicting extent, the number of operands) and
    compile/shape-mismatch (the number of axes of a node).
    """
    operands = sequence("operands", operands, Node)
    read = _read(spec, operands, symbols or {})
    goal = _axes(read, read.target, instance("target", target, Node))
    sides = [(goal, target), *zip(read.operands, operands, strict=True)]
    extents = _loops(read, sides)
    loops = {name: Iterator(name) for name in extents}
    product = tuple((loops[name], extent) for name, extent in extents.items())
    over = [tuple(axis.over(loops) for axis in axes) for axes, _ in sides]
    return Projections(product, over[0], tuple(over[1:]))


def target_shape(spec: str, operands: Sequence[Node], symbols: Mapping[str, Symbol] | None = None) -> tuple[int, ...]:
    """The shape of a target whose axes are iterators alone, or 0: what ``parse`` then takes as its extents.

    An iterator that stands alone nowhere else, and is not declared, runs as far as the axes of the operands that it
    alone leaves open (margins included). Refuses programs/spec, compile/shape-mismatch of operands.
    """
    read = _read(spec, operands, symbols or {})
    known = _extents(read, list(zip(read.operands, operands, strict=True)))
    goal = [_axis(read, word) for word in _words(read.target)]
    return tuple(_goal_extent(read, axis, known, operands) for axis in goal)


def pointwise(target: Node, operands: Sequence[Node]) -> Projections:
    """One loop per target axis longer than 1; operands broadcast to the target's unpadded shape, as in numpy.

    Axes of extent 1 are indexed at 0, missing leading axes not at all. Refuses frontend/shapes.
    """
    instance("target", target, Node)
    operands = sequence("operands", operands, Node)
    shapes = [target.shape, *(node.shape for node in operands)]
    if any(not _broadcasts(node.shape, target.shape) for node in operands):
        raise refuse("frontend/shapes", operation="pointwise", shapes=shapes)
    loops = [None if extent == 1 else Iterator(f"i{axis}") for axis, extent in enumerate(target.shape)]
    product = tuple((loop, extent) for loop, extent in zip(loops, target.shape, strict=True) if loop is not None)
    indices = tuple(_broadcast_index(shape, loops) for shape in shapes)
    return Projections(product, indices[0], indices[1:])


def _broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    missing = len(to) - len(shape)
    return missing >= 0 and all(extent in (1, long) for extent, long in zip(shape, to[missing:], strict=True))


def _broadcast_index(shape: Sequence[int], loops: Sequence[Iterator | None]) -> Index:
    own = loops[len(loops) - len(shape) :]
    return tuple(fixed(0) if loop is None or extent == 1 else at(loop) for extent, loop in zip(shape, own, strict=True))


@dataclass(frozen=True, slots=True)
class _Spec:
    """A spec taken apart: the target's text, the operands' axes, declared extents, the symbols it may name."""

    text: str
    target: str
    operands: tuple[tuple[_Axis, ...], ...]
    declared: Mapping[str, Extent]
    symbols: Mapping[str, Symbol]


def _read(spec: str, operands: Sequence[Node], symbols: Mapping[str, Symbol]) -> _Spec:
    body, _, declared = text("spec", spec).partition(";")
    sides = body.split("->")
    if len(sides) != 2:
        raise _wrong(spec, "it has no one ->")
    parts = sides[0].split(",")
    if len(parts) != len(operands):
        raise _wrong(spec, f"{len(parts)} operands for {len(operands)}")
    bare = _Spec(spec, sides[1], (), _declarations(spec, declared, symbols), symbols)
    axes = tuple(_axes(bare, part, node) for part, node in zip(parts, operands, strict=True))
    return replace(bare, operands=axes)


def _words(part: str) -> list[str]:
    words = part.split()
    return list(words[0]) if len(words) == 1 and words[0].isascii() and words[0].isalpha() else words


def _axes(spec: _Spec, part: str, node: Node) -> tuple[_Axis, ...]:
    words = _words(part)
    if len(words) != node.rank:
        raise refuse("compile/shape-mismatch", node=node.label, rank=node.rank, indices=len(words))
    return tuple(_axis(spec, word) for word in words)


def _axis(spec: _Spec, word: str) -> _Axis:
    iterators: list[tuple[int, str]] = []
    statics: list[tuple[int, Symbol]] = []
    offset, place = 0, 0
    while place < len(word):
        term = _TERM.match(word, place)
        if term is None or (place > 0 and not term[1]):
            raise _wrong(spec.text, f"{shown(word)} is no sum of iterators, $symbols and integers")
        sign = -1 if term[1] == "-" else 1
        if term[5] is not None:
            offset += sign * int(term[5])
        elif term[3]:
            statics.append((sign * int(term[2] or 1), _symbol(spec.text, term[4], spec.symbols)))
        else:
            iterators.append((sign * int(term[2] or 1), term[4]))
        place = term.end()
    return _Axis(tuple(iterators), tuple(statics), offset)


def _symbol(spec: str, name: str, symbols: Mapping[str, Symbol]) -> Symbol:
    if name not in symbols:
        raise _wrong(spec, f"${name} is no symbol given")
    return symbols[name]


def _declarations(spec: str, declared: str, symbols: Mapping[str, Symbol]) -> dict[str, Extent]:
    extents: dict[str, Extent] = {}
    for word in declared.replace(",", " ").split():
        found = _DECLARATION.fullmatch(word)
        if found is None or found[1] in extents:
            raise _wrong(spec, f"{shown(word)} declares no extent")
        extent = _symbol(spec, found[3], symbols) if found[2] is None else int(found[2])
        if isinstance(extent, Symbol) and not extent.extent:
            raise _wrong(spec, f"${found[3]} is no extent")
        extents[found[1]] = extent
    return extents


_Side = tuple[tuple[_Axis, ...], Node]
"""A node and its axes."""


def _loops(spec: _Spec, sides: Sequence[_Side]) -> dict[str, Extent]:
    """Each iterator's extent, in loop order: that of their appearance, the target first."""
    names = dict.fromkeys(name for axes, _ in sides for axis in axes for _, name in axis.iterators)
    found = _extents(spec, sides)
    for name in [*names, *spec.declared]:
        if name not in names or name not in found:
            raise _wrong(spec.text, f"{name} {'has no extent' if name in names else 'is no iterator of it'}")
    return {name: found[name] for name in names}


def _extents(spec: _Spec, sides: Sequence[_Side]) -> dict[str, Extent]:
    """The extents declared, and those of the axes where an iterator stands alone."""
    found = dict(spec.declared)
    for axes, node in sides:
        for axis, extent in zip(axes, node.shape, strict=True):
            if axis.alone is not None and not _agrees(found.setdefault(axis.alone, extent), extent):
                raise _wrong(spec.text, f"{axis.alone} runs over {found[axis.alone]} and {extent}")
    return found


def _agrees(extent: Extent, axis: int) -> bool:
    """Whether a loop fits an axis it stands alone on: the same number, or symbolic and never past it."""
    return extent == axis if isinstance(extent, int) else greatest_extent(extent) <= axis


def _goal_extent(spec: _Spec, axis: _Axis, known: Mapping[str, Extent], operands: Sequence[Node]) -> int:
    if axis == _Axis((), (), 0):
        return 1
    if axis.alone is None:
        raise _wrong(spec.text, "a result's axis is an iterator, or 0")
    if axis.alone in known:
        return greatest_extent(known[axis.alone])
    sides = zip(spec.operands, operands, strict=True)
    open_axes = [each for axes, node in sides for each in zip(axes, node.shape, node.padding, strict=True)]
    reaches = [_reach(axis.alone, *each, known) for each in open_axes]
    fits = [reach for reach in reaches if reach is not None]
    if not fits:
        raise _wrong(spec.text, f"{axis.alone} has no extent")
    return min(fits)


def _reach(name: str, axis: _Axis, extent: int, padding: tuple[int, int], known: Mapping[str, Extent]) -> int | None:
    """How far an iterator may run that is the only open one of an operand's axis, with a factor above 0."""
    factor = sum(factor for factor, other in axis.iterators if other == name)
    others = [(factor, known.get(other)) for factor, other in axis.iterators if other != name]
    if factor <= 0 or axis.statics:
        return None
    most = axis.offset
    for times, other in others:
        if other is None:
            return None
        most += max(0, times * (greatest_extent(other) - 1))
    return max(0, (extent + padding[1] - 1 - most) // factor + 1)


def _wrong(spec: str, why: str) -> Refusal:
    return refuse("programs/spec", spec=shown(spec), why=why)
