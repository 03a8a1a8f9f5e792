"""A refused command, what there was when it was refused, and how candidates are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterfoil_oracles.driver import Driver
from counterfoil_oracles.observe import role
from counterfoil_spec.commands import Command


@dataclass(frozen=True)
class Situation:
    """The command, the rule that refused it with its subjects, the reference as it was, and what had been run.

    ``names`` are not to be used again: what is written for this situation avoids them.
    """

    driver: Driver
    ran: Sequence[Command]
    command: Command
    rule: str
    subjects: dict[str, Any]

    def named(self, name: str) -> Any:
        """The reference's object of that name; None where there is none."""
        return self.driver.names.get(name)

    def all(self, admit: Callable[[Any], bool]) -> list[str]:
        """The names of the objects that ``admit`` takes, oldest first; of several for one object the first."""
        seen: dict[int, str] = {}
        for name, thing in self.driver.names.items():
            if admit(thing):
                seen.setdefault(id(thing), name)
        return list(seen.values())

    def of_role(self, wanted: str) -> list[str]:
        """The names of that role."""
        return self.all(lambda thing: role(thing) == wanted)

    def free(self, name: str) -> str:
        """A name made of that one which nothing has."""
        taken, count, found = {*self.driver.names, *(each.bind for each in self.ran)}, 2, name
        while found in taken:
            found, count = f"{name}_{count}", count + 1
        return found

    def maker(self, name: str) -> Command | None:
        """The last command that bound a name."""
        bound = name.removesuffix(".routine")
        return next((each for each in reversed(self.ran) if each.bind == bound), None)


@dataclass(frozen=True)
class Repair:
    """Steps to take before a refused one, and the names that stand in it for others from then on."""

    steps: tuple[Command, ...]
    instead: dict[str, str] = field(default_factory=dict)


def ref(name: str) -> dict[str, str]:
    """A reference, as commands write it."""
    return {"ref": name}


def do(what: str, bind: str | None = None, /, **args: Any) -> Command:
    """A command."""
    return Command(do=what, args=args, bind=bind)


def renamed(data: Any, instead: dict[str, str]) -> Any:
    """Arguments with names in place of others."""
    match data:
        case {"ref": str(name)}:
            return ref(instead.get(name, name))
        case dict():
            return {key: renamed(value, instead) for key, value in data.items()}
        case list():
            return [renamed(entry, instead) for entry in data]
    return data


def in_place(name: str, other: str) -> dict[str, str]:
    """A name in place of another, its routine too."""
    return {name: other, f"{name}.routine": f"{other}.routine"}


def with_names(command: Command, instead: dict[str, str]) -> Command:
    """A command with names in place of others."""
    if not instead:
        return command
    return Command(do=command.do, args=renamed(command.args, instead), bind=command.bind)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every reference in arguments: the path to it, and the name."""
    match data:
        case {"ref": str(name)}:
            yield path, name
        case dict():
            for key, value in data.items():
                yield from places(value, (*path, key))
        case list():
            for at, value in enumerate(data):
                yield from places(value, (*path, at))


def put(data: Any, path: Sequence[Any], value: Any) -> Any:
    """Arguments with another value at a path."""
    if not path:
        return value
    head, *rest = path
    if isinstance(data, dict):
        return {**data, head: put(data.get(head), rest, value)}
    return [put(entry, rest, value) if at == head else entry for at, entry in enumerate(data)]


def at(data: Any, path: Sequence[Any]) -> Any:
    """What stands at a path."""
    for key in path:
        data = data[key]
    return data
