"""What a profile leaves out: commands that nobody runs, because the target said that it does not go there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from counterfoil_spec.commands import Command
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.protocol import Profile

_DEVICES: Final = {"simulated": "simulated", "cuda": "cuda"}
_SHAPES: Final = ("shape", "strides", "reshape", "broadcast", "permute", "slice")


def outside(command: Command, profile: Profile, names: Mapping[str, Any]) -> str | None:
    """Why a command lies outside a profile; None if it does not. ``names``: what the reference made so far."""
    if command.do in _DEVICES and _DEVICES[command.do] not in profile.devices:
        return f"the profile has no device that is {command.do}"
    if profile.max_rank < 32 and max(_ranks(command, names), default=0) > profile.max_rank:
        return f"the profile goes to rank {profile.max_rank}"
    if profile.host_alignment > 1 and _start(command, names) % profile.host_alignment:
        return f"the profile begins at multiples of {profile.host_alignment} bytes"
    return None


def _ranks(command: Command, names: Mapping[str, Any]) -> Iterator[int]:
    """The ranks of what a command names or makes."""
    yield from _lengths(command.args)
    windows = _windows(command.args)
    for value in command.args.values():
        thing = names.get(value["ref"]) if isinstance(value, dict) and "ref" in value else None
        layout = getattr(thing, "layout", thing)
        shape = getattr(layout, "shape", None)
        if isinstance(shape, tuple):
            yield len(shape) + windows


def _lengths(data: Any) -> Iterator[int]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key in _SHAPES and isinstance(value, list):
                yield len(value)
            yield from _lengths(value)
    elif isinstance(data, list):
        for entry in data:
            yield from _lengths(entry)


def _windows(args: Mapping[str, Any]) -> int:
    move = args.get("move")
    windows = move.get("window", []) if isinstance(move, dict) else []
    return len(windows) if isinstance(windows, list) else 0


def _start(command: Command, names: Mapping[str, Any]) -> int:
    """The byte at which a command begins in memory, where it says so; 0 where it does not."""
    args = command.args
    if command.do == "buffer.view":
        return _whole(args.get("first"))
    if command.do == "from_buffer" and isinstance(args.get("object"), dict):
        return _whole(args["object"].get("skip"))
    if command.do == "array":
        layout, buffer = (names.get(args[key].get("ref", "")) if isinstance(args.get(key), dict) else None
                          for key in ("layout", "buffer"))  # fmt: skip
        dtype = next((dtype for dtype in Dtype.all if dtype.name == args.get("dtype")), None)
        if layout is not None and dtype is not None:
            inner = getattr(buffer, "buffer", buffer)
            return _whole(getattr(inner, "first", 0)) + _whole(getattr(layout, "offset", 0)) * dtype.bits // 8
    return 0


def _whole(value: Any) -> int:
    return value if type(value) is int else 0
