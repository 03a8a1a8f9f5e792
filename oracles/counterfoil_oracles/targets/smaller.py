"""Smaller programs: lesser extents, shorter memory, plainer values, as long as the program shows the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from counterfoil_spec.commands import Command

_EXTENTS: Final = ("shape", "reshape", "broadcast")


def smaller(
    commands: Sequence[Command], fails: Callable[[Sequence[Command]], bool], alone: bool = False
) -> list[Command]:
    """The program with its extents, then its memory, then its values made as small as it still fails.

    ``alone``: an extent may be lessened in one command and not in others. The program gets smaller yet, and shapes that
    fitted may no longer: a second fault beside the first.
    """
    left = list(commands)
    while True:
        before = left
        for variants in (_extents, *((_extents_alone,) if alone else ()), _memory, _values):
            left = _descended(left, variants, fails)
        if left == before:
            return left


def _descended(commands: list[Command], variants: Any, fails: Callable[[Sequence[Command]], bool]) -> list[Command]:
    """The first variant that fails, and so on from it."""
    while True:
        found = next((each for each in variants(commands) if each != commands and fails(each)), None)
        if found is None:
            return commands
        commands = found


def _extents(commands: list[Command]) -> Iterator[list[Command]]:
    """An extent lessened wherever it stands."""
    for extent, less in _lesser(commands):
        yield [_with_extent(command, extent, less) for command in commands]


def _extents_alone(commands: list[Command]) -> Iterator[list[Command]]:
    """An extent lessened in one command alone."""
    for extent, less in _lesser(commands):
        for at, command in enumerate(commands):
            changed = _with_extent(command, extent, less)
            if changed != command:
                yield [*commands[:at], changed, *commands[at + 1 :]]


def _lesser(commands: list[Command]) -> Iterator[tuple[int, int]]:
    """Each extent, the greatest first, with lesser ones in its place."""
    for extent in sorted({each for command in commands for each in _extents_in(command.args)}, reverse=True):
        yield from ((extent, less) for less in sorted({1, 2, extent // 2, extent - 1} & set(range(1, extent))))


def _extents_in(data: Any) -> Iterator[int]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key in _EXTENTS and isinstance(value, list):
                yield from (entry for entry in value if type(entry) is int and 1 < entry < 2**31)
            elif key == "slice" and isinstance(value, list):
                yield from (entry[1] for entry in value if type(entry[1]) is int and 1 < entry[1] < 2**31)
            else:
                yield from _extents_in(value)


def _with_extent(command: Command, old: int, new: int) -> Command:
    args = _replaced(command.args, old, new)
    shape, values = args.get("shape"), args.get("values")
    if isinstance(values, list) and isinstance(shape, list) and all(type(entry) is int for entry in shape):
        if len(values) == math.prod(command.args["shape"]):
            args = {**args, "values": values[: math.prod(shape)]}
    return Command(do=command.do, args=args, bind=command.bind)


def _replaced(data: Any, old: int, new: int) -> Any:
    if not isinstance(data, dict):
        return data
    changed: dict[str, Any] = {}
    for key, value in data.items():
        if key in _EXTENTS and isinstance(value, list):
            changed[key] = [new if entry == old else entry for entry in value]
        elif key == "slice" and isinstance(value, list):
            changed[key] = [[entry[0], new if entry[1] == old else entry[1], *entry[2:]] for entry in value]
        else:
            changed[key] = _replaced(value, old, new)
    return changed


def _memory(commands: list[Command]) -> Iterator[list[Command]]:
    """A number of bytes lessened wherever it stands, bytes given for it cut."""
    sizes = {command.args["nbytes"] for command in commands if type(command.args.get("nbytes")) is int}
    for size in sorted(sizes, reverse=True):
        for less in (size // 4, size // 2, 3 * size // 4, size - 1):
            if 0 < less < size:
                yield [_with_bytes(command, size, less) for command in commands]


def _with_bytes(command: Command, old: int, new: int) -> Command:
    args: dict[str, Any] = dict(command.args)
    if args.get("nbytes") == old:
        args["nbytes"] = new
    content = args.get("bytes")
    if isinstance(content, str) and len(content) == 2 * old:
        args["bytes"] = content[: 2 * new]
    return Command(do=command.do, args=args, bind=command.bind)


def _values(commands: list[Command]) -> Iterator[list[Command]]:
    """One value after the other made 0 or 1."""
    for at, command in enumerate(commands):
        given = command.args.get("values")
        values: list[Any] = given if isinstance(given, list) else []
        for index, value in enumerate(values):
            for plain in (0, 1):
                if _is_plainer(plain, value):
                    changed = {**command.args, "values": [*values[:index], plain, *values[index + 1 :]]}
                    new = Command(do=command.do, args=changed, bind=command.bind)
                    yield [*commands[:at], new, *commands[at + 1 :]]


def _is_plainer(plain: int, value: Any) -> bool:
    rank = 0 if value == 0 else 1 if value == 1 else 2
    return type(value) is not bool and plain < rank
