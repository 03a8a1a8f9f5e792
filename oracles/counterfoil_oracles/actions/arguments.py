"""From the JSON of a command's arguments to the objects that the surface takes.

Everything here lets ``{"odd": KIND}`` through as the foreign object it stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from counterfoil_oracles.environment import Environment
from counterfoil_spec import expressions
from counterfoil_spec.commands import decode_number, decode_numbers
from counterfoil_spec.dtypes import Dtype
from counterfoil_spec.interface import Access, MemoryKind
from counterfoil_spec.moves import Broadcast, Permute, Range, Reshape, Slice, Window, WindowAxis

Args = dict[str, Any]
Action = Callable[[Environment, Args], Any]

_DTYPES: Final[dict[str, Dtype]] = {dtype.name: dtype for dtype in Dtype.all}
_KINDS: Final[dict[str, MemoryKind]] = {kind.value: kind for kind in MemoryKind}
_ACCESSES: Final[dict[str, Access]] = {access.value: access for access in Access}


def named(env: Environment, data: Any) -> Any:
    """The object that ``{"ref": NAME}`` names; UnboundName if no step made it."""
    if isinstance(data, dict) and "ref" in data:
        return env.named(data["ref"])
    return decode_number(data)


def all_named(env: Environment, data: Any) -> Any:
    """The objects that a list of references names."""
    return [named(env, entry) for entry in data] if isinstance(data, list) else decode_number(data)


def buffer_of(env: Environment, data: Any) -> Any:
    """The buffer named, or the buffer of the array named."""
    found = named(env, data)
    return found.buffer if hasattr(found, "layout") else found


def buffers_of(env: Environment, data: Any) -> Any:
    """The buffers that a list of references names."""
    return [buffer_of(env, entry) for entry in data] if isinstance(data, list) else decode_number(data)


def dtype_of(data: Any) -> Any:
    """The dtype of that name; a name of no dtype stays text."""
    return _DTYPES.get(data, data) if isinstance(data, str) else decode_number(data)


def kind_of(data: Any) -> Any:
    """The memory kind of that value."""
    return _KINDS.get(data, data) if isinstance(data, str) else decode_number(data)


def access_of(data: Any) -> Any:
    """The access of that value."""
    return _ACCESSES.get(data, data) if isinstance(data, str) else decode_number(data)


def move_of(data: Any) -> Any:
    """The move that ``{"reshape": [..]}`` and its like describe; its constructor may refuse an entry."""
    match data:
        case {"reshape": shape}:
            return Reshape(decode_numbers(shape))
        case {"broadcast": shape}:
            return Broadcast(decode_numbers(shape))
        case {"permute": axes}:
            return Permute(decode_numbers(axes))
        case {"slice": ranges}:
            return Slice(*(_entry(Range, entry) for entry in ranges))
        case {"window": axes}:
            return Window(*(_entry(WindowAxis, entry) for entry in axes))
    return decode_number(data)


def _entry(cls: Callable[..., Any], data: Any) -> Any:
    return cls(*decode_numbers(data)) if isinstance(data, list) else decode_number(data)


def expression_of(data: Any) -> Any:
    """The expression that ``{"input": 0}`` and its like describe; its nodes' constructors may refuse."""
    match data:
        case {"input": position}:
            return expressions.Input(decode_number(position))
        case {"constant": value, "dtype": dtype}:
            return expressions.Constant(dtype_of(dtype), decode_number(value))
        case {"apply": kernel, "to": arguments}:
            return expressions.Apply(kernel, *(expression_of(argument) for argument in arguments))
        case {"cast": dtype, "to": argument}:
            return expressions.Cast(dtype_of(dtype), expression_of(argument))
    return decode_number(data)
