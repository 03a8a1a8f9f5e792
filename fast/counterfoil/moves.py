"""Moves put to the core, and the refusals of moves (moves/..., and layouts/... for the shapes they give)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from counterfoil._native import ffi, lib
from counterfoil_spec.limits import MAX_RANK
from counterfoil_spec.moves import Broadcast, Move, Permute, Reshape, Slice, Window
from counterfoil_spec.refusals import Refusal, refuse, shown
from counterfoil_spec.rules import registry

RULES = tuple(registry())
"""Rule ids by their number in the core (enum cf_rule)."""

MOVED: int = lib.CF_MOVED
REFUSED: int = lib.CF_REFUSED

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_LAYOUT = ffi.typeof("cf_layout *")
_LONGS = ffi.typeof("int64_t[]")
_FAULT = ffi.typeof("cf_fault *")


def encoded(move: Move) -> bytes:
    """Kind, count and parameters of a move as int64 words, kept beside its fields after the first time.

    Refuses arguments/wrong-type for anything but a move. Entries outside int64 are saturated: no answer changes.
    """
    if not issubclass(type(move), (Reshape, Broadcast, Permute, Slice, Window)):
        raise refuse("arguments/wrong-type", argument="move", expected="Move", value=shown(move))
    kept = getattr(move, "_encoding", None)
    if isinstance(kept, bytes):
        return kept
    words = _words(move)
    result = struct.pack(f"={len(words)}q", *words)
    object.__setattr__(move, "_encoding", result)
    return result


def encode(kind: int, count: int, params: Sequence[int]) -> bytes:
    """The encoding of a move given by its kind and parameters."""
    return struct.pack(f"={len(params) + 2}q", kind, count, *params)


def moved(result: Any, layout: Any, move: Move, fault: Any) -> int:
    """Put a move of a layout to the core: its answer, the layout moved in ``result``, what was wrong in ``fault``."""
    words = ffi.from_buffer(_LONGS, encoded(move))
    return int(lib.cf_layout_move(result, layout, words[0], words[1], words + 2, fault))


def move_refusal(move: Move, shape: tuple[int, ...], layout: Any) -> Refusal:
    """Why the core refuses to move a layout of that shape: the rule and its subjects, in the caller's own numbers."""
    fault = ffi.new(_FAULT)
    moved(ffi.new(_LAYOUT), layout, move, fault)
    rule, where = RULES[fault.rule], fault.where
    if rule.startswith("layouts/"):
        return shape_refusal(rule, _result(move, shape) if fault.of == lib.CF_OF_TARGET else shape, where)
    return refuse(rule, **_SUBJECTS[type(move)](rule, move, shape, where))


def shape_refusal(rule: str, shape: Sequence[int], axis: int) -> Refusal:
    """The refusal of a shape's rank, extent or product."""
    if rule == "layouts/rank":
        return refuse(rule, rank=len(shape), limit=MAX_RANK)
    if rule == "layouts/negative-extent":
        return refuse(rule, axis=axis, extent=shape[axis], shape=shape)
    return refuse(rule, shape=shape)


def saturated(values: Sequence[int]) -> tuple[int, ...]:
    """The values, each moved to the nearest int64."""
    return tuple(min(max(value, _LEAST), _GREATEST) for value in values)


def _words(move: Move) -> tuple[int, ...]:
    match move:
        case Reshape():
            return lib.CF_RESHAPE, len(move.shape), *saturated(move.shape)
        case Broadcast():
            return lib.CF_BROADCAST, len(move.shape), *saturated(move.shape)
        case Permute():
            return lib.CF_PERMUTE, len(move.axes), *saturated(move.axes)
        case Slice():
            flat = [value for each in move.ranges for value in (each.start, each.count, each.step)]
            return lib.CF_SLICE, len(move.ranges), *saturated(flat)
        case Window():
            flat = [value for each in move.axes for value in (each.axis, each.size, each.step, each.dilation)]
            return lib.CF_WINDOW, len(move.axes), *saturated(flat)


def _result(move: Move, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape a move asks for, whether or not a layout may have it."""
    if isinstance(move, Window):
        result = list(shape)
        for each in move.axes:
            result[each.axis] = (shape[each.axis] - 1 - each.dilation * (each.size - 1)) // each.step + 1
        return (*result, *(each.size for each in move.axes))
    return move.shape if isinstance(move, (Reshape, Broadcast)) else shape


def _target_subjects(rule: str, move: Any, shape: tuple[int, ...], where: int) -> dict[str, object]:
    if rule == "moves/broadcast-extent":
        return {"axis": where, "extent": shape[where], "target": move.shape}
    return {"shape": shape, "target": move.shape}


def _permute_subjects(rule: str, move: Any, shape: tuple[int, ...], where: int) -> dict[str, object]:
    if rule == "moves/permute-length":
        return {"axes": len(move.axes), "rank": len(shape)}
    subjects: dict[str, object] = {"entry": where, "axis": move.axes[where]}
    return subjects | ({"rank": len(shape)} if rule == "moves/permute-axis" else {})


def _slice_subjects(rule: str, move: Any, shape: tuple[int, ...], where: int) -> dict[str, object]:
    if rule == "moves/slice-ranges":
        return {"ranges": len(move.ranges), "rank": len(shape)}
    entry = move.ranges[where]
    subjects: dict[str, object] = {"axis": where}
    if rule == "moves/slice-count":
        return subjects | {"count": entry.count}
    if rule == "moves/slice-start":
        return subjects | {"start": entry.start, "extent": shape[where]}
    if rule == "moves/slice-last":
        return subjects | {"start": entry.start, "count": entry.count, "step": entry.step, "extent": shape[where]}
    return subjects


def _window_subjects(rule: str, move: Any, shape: tuple[int, ...], where: int) -> dict[str, object]:
    entry = move.axes[where]
    match rule:
        case "moves/window-axis":
            return {"entry": where, "axis": entry.axis, "rank": len(shape)}
        case "moves/window-order":
            return {"entry": where, "axis": entry.axis, "previous": move.axes[where - 1].axis}
        case "moves/window-fit":
            extent = shape[entry.axis]
            return {"axis": entry.axis, "size": entry.size, "dilation": entry.dilation, "extent": extent}
    name = rule.removeprefix("moves/window-")
    return {"axis": entry.axis, name: getattr(entry, name)}


_SUBJECTS: dict[type, Any] = {
    Reshape: _target_subjects,
    Broadcast: _target_subjects,
    Permute: _permute_subjects,
    Slice: _slice_subjects,
    Window: _window_subjects,
}
