"""Drawing shapes, layouts that fit a buffer, and moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from counterfoil_oracles.machines.choices import Chooser, chance, permutation, pick, weighted

HUGE = 2**62 + 1


def shape(chooser: Chooser, most: int = 24) -> list[int]:
    """A shape of at most ``most`` elements: rank 0 to 32, extents 0 to 6 or so, mostly small."""
    rank = weighted(chooser, [(34, 1), (30, 2), (14, 3), (10, 0), (6, 4), (3, 5), (2, 31), (1, 32)])
    extents = [weighted(chooser, [(30, 2), (22, 3), (20, 1), (12, 4), (6, 5), (4, 7)]) for _ in range(rank)]
    if rank and chance(chooser, 6):
        extents[chooser.integer(0, rank - 1)] = 0
    for axis in range(rank):
        if extents[axis] and math.prod(filter(None, extents)) > most:  # so that part of an empty shape is small too
            extents[axis] = 1
    return extents


def contiguous(extents: Sequence[int]) -> list[int]:
    """The strides of C order."""
    strides, step = [], 1
    for extent in reversed(extents):
        strides.append(step)
        step *= extent
    return strides[::-1]


def layout(chooser: Chooser, extents: Sequence[int], room: int, distinct: bool = True) -> dict[str, Any]:
    """A layout of that shape within positions [0, room), as the arguments of the command ``layout``.

    Axes are permuted, turned round and spread; ``distinct`` False also repeats and overlaps positions. Strides that
    no index uses are sometimes huge (A14). Where nothing else fits, the contiguous layout, which may not fit either.
    """
    used = [0 if extent == 1 else 1 for extent in extents]
    if not math.prod(extents):
        unused = [pick(chooser, (0, 1, -HUGE)) for _ in extents]
        return {"shape": list(extents), "strides": unused, "offset": chooser.integer(-3, 3)}
    strides = _strides(chooser, extents, distinct)
    low = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True) if stride < 0)
    high = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True) if stride > 0)
    if high - low >= room:
        strides, low, high = contiguous(extents), 0, math.prod(extents) - 1
    slack = room - 1 - (high - low)
    offset = -low + (chooser.integer(0, slack) if slack > 0 and chance(chooser, 60) else 0)
    odd = HUGE if chance(chooser, 5) else 7
    return {
        "shape": list(extents),
        "strides": [stride if use else odd for use, stride in zip(used, strides, strict=True)],
        "offset": offset,
    }


def _strides(chooser: Chooser, extents: Sequence[int], distinct: bool) -> list[int]:
    if not distinct and chance(chooser, 60):
        return [chooser.integer(-3, 3) if chance(chooser, 50) else 0 for _ in extents]
    order = permutation(chooser, len(extents)) if chance(chooser, 40) else list(range(len(extents)))
    step = weighted(chooser, [(60, 1), (30, 2), (10, 3)])
    strides = [0] * len(extents)
    for axis in reversed(order):
        if extents[axis] > 1:
            strides[axis] = -step if chance(chooser, 20) else step
            step *= extents[axis]
            step += chooser.integer(0, 1) if chance(chooser, 15) else 0
    return strides


# --- moves -----------------------------------------------------------------------------------------------------------


def move(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    """A move that the shape admits."""
    draw = pick(chooser, (_slice, _permute, _reshape, _broadcast, _window))
    return draw(chooser, extents)


def _slice(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    return {"slice": [_range(chooser, extent) for extent in extents]}


def _range(chooser: Chooser, extent: int) -> list[int]:
    if extent == 0 or chance(chooser, 4):
        return [chooser.integer(-2, 100), 0, pick(chooser, (1, -1, 7, -HUGE))]
    start = chooser.integer(0, extent - 1)
    step = weighted(chooser, [(50, 1), (20, -1), (15, 2), (10, -2), (5, 3)])
    room = (extent - 1 - start) // step if step > 0 else start // -step
    return [start, chooser.integer(1, room + 1), step]


def _permute(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    return {"permute": permutation(chooser, len(extents))}


def _reshape(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    left, target = math.prod(extents), []
    if left == 0:
        target = [0, chooser.integer(0, 3)]
    while left > 1 and len(target) < 5:
        factor = pick(chooser, [factor for factor in range(2, left + 1) if left % factor == 0])
        target.append(factor)
        left //= factor
    target += [left] if left > 1 else []
    for _ in range(chooser.integer(0, 2) if chance(chooser, 30) else 0):
        target.insert(chooser.integer(0, len(target)), 1)
    return {"reshape": target}


def _broadcast(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    kept = list(extents)
    for axis, extent in enumerate(extents):
        if extent == 1 and math.prod(kept) <= 24 and chance(chooser, 60):
            kept[axis] = chooser.integer(0, 3)
    more = chooser.integer(0, 2) if math.prod(kept) <= 8 and len(kept) <= 30 else 0
    return {"broadcast": [chooser.integer(1, 3) for _ in range(more)] + kept}


def _window(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    axes: list[list[int]] = []
    for axis, extent in enumerate(extents):
        if extent and len(axes) < 2 and len(extents) <= 29 and math.prod(extents) <= 40 and chance(chooser, 50):
            size = chooser.integer(1, extent)
            dilation = chooser.integer(1, (extent - 1) // (size - 1)) if size > 1 else pick(chooser, (1, 2, HUGE))
            axes.append([axis, size, weighted(chooser, [(70, 1), (25, 2), (5, HUGE)]), dilation])
    return {"window": axes}


def wrong_move(chooser: Chooser, extents: Sequence[int]) -> dict[str, Any]:
    """A move that most shapes do not admit: one entry of an admitted move changed, added or taken away."""
    ((name, entries),) = move(chooser, extents).items()
    entries = [list(entry) if isinstance(entry, list) else entry for entry in entries]
    if not entries or chance(chooser, 20):
        extra: Any = {"slice": [0, 1, 1], "window": [chooser.integer(-1, 3), 2, 1, 1]}.get(name, chooser.integer(-1, 3))
        return {name: [*entries, extra]}
    at = chooser.integer(0, len(entries) - 1)
    if chance(chooser, 15):
        return {name: entries[:at] + entries[at + 1 :]}
    if isinstance(entries[at], list):
        entries[at][chooser.integer(0, len(entries[at]) - 1)] = _wrong_entry(chooser)
    else:
        entries[at] = _wrong_entry(chooser)
    return {name: entries}


def _wrong_entry(chooser: Chooser) -> Any:
    if chance(chooser, 50):
        return pick(chooser, (0, -1))
    return pick(chooser, (2, 5, 33, HUGE, -HUGE, 2**53, 2**27, {"odd": "half"}, {"odd": "true"}))
