"""The refused command with another object, or another value, in one place."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from typing import Any, Final

from counterfoil_oracles.environment import OpenClaims
from counterfoil_oracles.explaining.situation import Situation, at, places, put, ref
from counterfoil_oracles.observe import role
from counterfoil_spec.commands import Command
from counterfoil_spec.dtypes import Dtype

_MOST_OBJECTS: Final = 8
_DTYPES: Final = (
    "float32", "int32", "uint8", "int8", "float64", "int64", "uint16", "int16", "uint32", "uint64", "bool",
)  # fmt: skip
_WORDS: Final = {
    "backend": ("cpu",), "access": ("read",), "kind": ("device", "pinned"), "name": ("named",), "label": ("named",),
    "op": ("neg", "add", "where"), "accumulate": ("add",), "why": ("no longer needed",), "path": ("another.bin",),
    "intent": ("on_device", "virtual", "never_virtual", "local"),
}  # fmt: skip
"""Words that an argument of a name may be."""
_OPTIONAL: Final = frozenset(
    {"prelowered", "reuse", "transform", "name", "bindings", "label", "slice_of", "intent", "literal", "padding",
     "kind", "ordinal", "threads", "params", "accum_steps", "requires", "owned", "accumulates", "zeroes", "skip",
     "reversed", "observable", "zero_valid", "raise", "by"}
)  # fmt: skip
"""Arguments that may be left out."""

Change = tuple[tuple[Any, ...], Any]
"""A path in the arguments, and what stands there instead."""


def changed(command: Command, change: Change) -> Command:
    """The command with a change; ``None`` leaves an argument out."""
    path, value = change
    if value is None and len(path) == 1:
        args: Any = {key: kept for key, kept in command.args.items() if key != path[0]}
    else:
        args = put(command.args, path, value)
    return Command(do=command.do, args=args, bind=command.bind)


# --- objects ---------------------------------------------------------------------------------------------------------


def objects(situation: Situation) -> Iterator[Change]:
    """Each operand in turn replaced by another object of its role; those most like it first, then the latest."""
    for path, name in places(situation.command.args):
        thing = situation.named(name)
        if thing is None:
            continue
        wanted, names = _kind(thing), list(situation.driver.names)
        there = {id(situation.named(other)) for _, other in places(situation.command.args)}
        alike = [other for other in situation.all(lambda each, wanted=wanted: _kind(each) == wanted)  # type: ignore[misc]
                 if id(situation.named(other)) not in there]  # fmt: skip
        alike.sort(key=lambda other: (_unlike(thing, situation.named(other)), -names.index(other)))
        for other in alike[:_MOST_OBJECTS]:
            yield path, ref(other)


def _kind(thing: Any) -> str:
    if hasattr(thing, "execution_deps"):
        return "routine"
    if isinstance(thing, OpenClaims):
        return "open claims" if thing.is_open else "left claims"
    found = role(thing)
    return type(thing).__name__ if found == "word" else found


def _unlike(one: Any, other: Any) -> int:
    """How much two objects of a role differ: dead ones last, then those of another dtype, of another shape."""
    buffer = getattr(other, "buffer", other)
    gone = getattr(buffer, "dead", None) is not None or bool(getattr(getattr(other, "unit", None), "released", False))
    dtype = getattr(one, "dtype", None) != getattr(other, "dtype", None)
    shape = getattr(one, "shape", None) != getattr(other, "shape", None)
    return 4 * gone + 2 * dtype + shape


# --- values ----------------------------------------------------------------------------------------------------------


def values(situation: Situation) -> Iterator[Change]:
    """One value in turn replaced by a plainer one, or left out where it may be."""
    args = situation.command.args
    yield from _told(situation)
    for key, value in args.items():
        if isinstance(value, dict) and "ref" in value:
            if key in _OPTIONAL:
                yield (key,), None
            continue
        yield from _plainer(value, (key,), key)
        if key in _OPTIONAL:
            yield (key,), None
    if situation.rule == "compile/unnamed":
        yield ("name",), "named"


def _told(situation: Situation) -> Iterator[Change]:
    """What the refusal's own subjects say would do."""
    args, subjects = situation.command.args, situation.subjects
    if situation.rule == "dtypes/value-range" and "value" in args:
        yield ("value",), subjects["low"]
        yield ("value",), subjects["high"]
    if isinstance(args.get("values"), list) and isinstance(args.get("shape"), list):
        yield ("shape",), [len(args["values"])]
    if isinstance(args.get("values"), list):
        size = _size(subjects.get("shape", args.get("shape")))
        if size is not None and size <= 4096:
            yield ("values",), (args["values"] + [0] * size)[:size]
    if isinstance(subjects.get("shape"), list) and "index" in args:
        yield ("index",), [0] * len(subjects["shape"])
    if isinstance(subjects.get("rank"), int) and "index" in args:
        yield ("index",), [0] * subjects["rank"]
    if situation.rule == "dtypes/unknown-name" and isinstance(args.get("name"), str):
        near = difflib.get_close_matches(args["name"].lower(), [dtype.name for dtype in Dtype.all], n=1, cutoff=0.0)
        yield ("name",), near[0]
    if "dtype" in args:
        for subject in ("found", "source", "expected"):
            if subjects.get(subject) in _DTYPES:
                yield ("dtype",), subjects[subject]
    yield from _moved(situation)


def _moved(situation: Situation) -> Iterator[Change]:
    """A move that fits what it is applied to."""
    move, target = situation.command.args.get("move"), situation.subjects.get("shape")
    shape = _shape_of(situation) if not isinstance(target, list) else target
    if not isinstance(move, dict) or shape is None:
        return
    match next(iter(move), None):
        case "reshape":
            yield ("move",), {"reshape": [math.prod(shape)]}
        case "broadcast":
            yield ("move",), {"broadcast": [2, *shape]}
        case "permute":
            yield ("move",), {"permute": list(range(len(shape)))[::-1]}
        case "slice":
            yield ("move",), {"slice": [[0, extent, 1] for extent in shape]}
        case "window":
            yield ("move",), {"window": [[0, 1, 1, 1]]}


def _shape_of(situation: Situation) -> list[int] | None:
    """The shape of what a move is applied to."""
    args = situation.command.args
    if isinstance(args.get("shape"), list):
        return list(args["shape"])
    for key in ("array", "layout"):
        thing = situation.named(args[key]["ref"]) if isinstance(args.get(key), dict) and "ref" in args[key] else None
        shape = getattr(thing, "shape", None)
        if shape is not None:
            return list(shape)
    return None


def _plainer(value: Any, path: tuple[Any, ...], key: str) -> Iterator[Change]:
    match value:
        case bool():
            yield path, not value
        case {"odd": _} | {"int": _} | {"float": _} | {"complex": _}:
            for plain in (0, 1, 0.5, [0], [2], *_words(key)):
                yield path, plain
            if key == "object":
                for form in "bBfidq":
                    yield path, {"bytes": "00" * 8, "format": form, "shape": [1], "readonly": False}
        case int() | float():
            for plain in dict.fromkeys((0, 1, value - 1, value + 1, -value, 2, 4, 8, 64)):
                if plain != value:
                    yield path, plain
        case str():
            for word in _words(key):
                if word != value:
                    yield path, word
        case list():
            yield from _shorter(value, path, key)
        case dict() if "ref" not in value:
            for inner, entry in value.items():
                yield from _plainer(entry, (*path, inner), inner)


def _words(key: str) -> tuple[str, ...]:
    return _DTYPES if key in ("dtype", "cast") else _WORDS.get(key, ())


def _shorter(value: list[Any], path: tuple[Any, ...], key: str) -> Iterator[Change]:
    """A list without its last entry, or with that twice; with one entry plainer; without one. Objects and code stay."""
    if len(value) > 1 or (value and key != "code" and not isinstance(value[0], dict)):
        yield path, value[:-1]
        yield path, [*value, value[-1]]
    for index, entry in enumerate(value[:4]):
        if not (isinstance(entry, dict) and "ref" in entry):
            yield from _plainer(entry, (*path, index), key)
    for index in range(len(value) if 1 < len(value) <= 4 else 0):
        yield path, [*value[:index], *value[index + 1 :]]


def _size(shape: Any) -> int | None:
    is_shape = isinstance(shape, list) and all(type(extent) is int and extent >= 0 for extent in shape)
    return math.prod(shape) if is_shape else None


def stood(command: Command, change: Change) -> Any:
    """What stands in the command where a change goes."""
    return at(command.args, change[0]) if change[0][0] in command.args else None
