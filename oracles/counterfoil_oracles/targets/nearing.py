"""A first guess at a shorter program of contexts: what its last command names, and what was done to that.

A run taken back, an upload from outside, a release: they bind nothing that a later command names, and a search that
takes commands away by halves meets them late. Long lines of compiles are straightened: a command is put on the context
that its own was made from, as far as the program still fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from counterfoil_oracles.shrink import Fails, needed
from counterfoil_spec.commands import Command, references

_ACTS: Final = frozenset(
    {"run", "rollback", "restore_history", "poison", "copy_from", "from_host", "set_values", "set_value",
     "context.release", "adopt_ancestor", "symbol.set", "node.declare", "node.require", "session.closure",
     "session.rewind"}
)  # fmt: skip
"""Commands that change what others made."""

Commands = Sequence[Command]


def nearer(commands: Commands, fails: Fails) -> list[Command]:
    """A shorter program that still fails, or the program as it is."""
    left = next((guess for guess in _guesses(commands) if len(guess) < len(commands) and fails(guess)), list(commands))
    while True:
        shorter = next((each for each in _straightened(left) if fails(each)), None)
        if shorter is None:
            return left
        left = shorter


def _guesses(commands: Commands) -> Iterator[list[Command]]:
    """What the last command needs; with the acts on that alone; with the acts on that and on others."""
    kept = set(map(id, needed(commands, len(commands) - 1)))
    yield [command for command in commands if id(command) in kept]
    for closed in (True, False):
        wanted = {name for command in commands if id(command) in kept for name in _bound(command)}
        acts = [at for at, command in enumerate(commands) if command.do in _ACTS and _is_on(command, wanted, closed)]
        more = kept | {id(command) for at in acts for command in needed(commands, at)}
        yield [command for command in commands if id(command) in more]


def _straightened(commands: Commands) -> Iterator[list[Command]]:
    """One command, the latest first, on the context that its own was made from; without what nobody needs then."""
    made = {command.bind: command for command in commands if command.bind is not None}
    for at in reversed(range(len(commands))):
        command = commands[at]
        for key in ("context", "source", "other"):
            origin = _origin(made, command.args.get(key))
            if origin is not None:
                changed = Command(do=command.do, args={**command.args, key: origin}, bind=command.bind)
                left = [*commands[:at], changed, *commands[at + 1 :]]
                _, closed, _ = _guesses(left)
                if len(closed) < len(commands):
                    yield closed


def _origin(made: dict[str, Command], context: Any) -> Any:
    """The context that another one was made from; None where it is a root."""
    maker = made.get(context["ref"]) if isinstance(context, dict) and "ref" in context else None
    return None if maker is None else maker.args.get("context")


def _is_on(command: Command, wanted: set[str], closed: bool) -> bool:
    named = set(references(command.args))
    return named <= wanted if closed else bool(named & wanted)


def _bound(command: Command) -> set[str]:
    return set() if command.bind is None else {command.bind, f"{command.bind}.routine"}
