"""Shrinking a failing program: fewer commands, then simpler arguments, as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from counterfoil_oracles.compare import Divergence, first_divergence
from counterfoil_oracles.targets.smaller import smaller
from counterfoil_spec.commands import Command, references

Fails = Callable[[Sequence[Command]], bool]


def shrink(
    reference: Any, subject: Any, commands: Sequence[Command], found: Divergence, seconds: float
) -> list[Command]:
    """A short program, of small extents and plain values, that parts the halves at a command of the same kind; about
    ``seconds`` of this process's time at most for each of the two, so that a busy machine shrinks no worse."""

    def fails(candidate: Sequence[Command]) -> bool:
        divergence = first_divergence(reference, subject, candidate)
        return divergence is not None and alike(divergence, found)

    left = shrunk(commands[: found.index + 1], fails, seconds)
    return smaller(left, within(fails, seconds))


def shrunk(commands: Sequence[Command], fails: Fails, seconds: float) -> list[Command]:
    """The shortest and simplest program found that still fails; the last command is what fails in the one given."""
    still = within(fails, seconds)
    left = list(commands)
    kept = needed(left, len(left) - 1)
    left = _fewer(kept if still(kept) else left, still)
    while True:
        before = len(left)
        left = _fewer(_simpler(left, still), still)
        if len(left) == before:
            return left


def within(fails: Fails, seconds: float) -> Fails:
    """The same, for about so many seconds of this process's time: nothing fails after that."""
    deadline = time.process_time() + seconds
    return lambda candidate: time.process_time() <= deadline and fails(candidate)


def alike(one: Divergence, other: Divergence) -> bool:
    """Whether two divergences show one defect, as far as can be told: the same command parts the halves."""
    kernels = [found.command.args.get("name") if found.command.do == "kernel" else None for found in (one, other)]
    return one.command.do == other.command.do and kernels[0] == kernels[1] and _nature(one) == _nature(other)


def _nature(divergence: Divergence) -> str:
    """What differs: an outcome, a state, bytes, or which exception was raised."""
    words = divergence.difference.split()
    return " ".join(words[:5]) if "failed" in words else words[0]


def needed(commands: Sequence[Command], last: int) -> list[Command]:
    """The last command and what it refers to, at any remove, and what memory is poisoned with."""
    wanted = set(references(commands[last].args))
    kept = [commands[last]]
    for command in reversed(commands[:last]):
        if wanted & _bound(command) or _is_kept(command):
            kept.append(command)
            wanted.update(references(command.args))
    return kept[::-1]


def _fewer(commands: list[Command], fails: Fails) -> list[Command]:
    """Remove runs of commands, with what depends on them, from long runs to single ones."""
    size = max(len(commands) // 2, 1)
    while True:
        at = 0
        while at < len(commands):
            # Without poison, fresh memory holds anything, and any two programs part there.
            poison = [command for command in commands[at : at + size] if _is_kept(command)]
            candidate = _closed(commands[:at] + poison + commands[at + size :])
            if len(candidate) < len(commands) and candidate and fails(candidate):
                commands = candidate
            else:
                at += size
        if size == 1:
            return commands
        size //= 2


def _closed(commands: list[Command]) -> list[Command]:
    """The commands whose references are all made by earlier ones."""
    made: set[str] = set()
    kept = []
    for command in commands:
        if command.do == "drop":
            names = [entry for entry in command.args["names"] if entry["ref"] in made]
            command = Command(do="drop", args={"names": names})
            made.difference_update(name for entry in names for name in (entry["ref"], f"{entry['ref']}.routine"))
        if all(name in made for name in references(command.args)) or command.do == "drop":
            kept.append(command)
            made.update(_bound(command))
    return kept


def _bound(command: Command) -> set[str]:
    """The names that a command binds."""
    if command.bind is None:
        return set()
    return {command.bind, f"{command.bind}.routine"} if command.do == "compile" else {command.bind}


def _is_kept(command: Command) -> bool:
    """Whether a program without the command would part anywhere: it says what fresh memory holds."""
    return command.do == "poison" and "byte" in command.args


def _simpler(commands: list[Command], fails: Fails) -> list[Command]:
    """Replace arguments by simpler ones, one at a time, until none helps."""
    at = 0
    while at < len(commands):
        command = commands[at]
        for args in (*_nearer(commands, command.args), *_variants(command.args)):
            changed = Command(do=command.do, args=args, bind=command.bind)
            candidate = [*commands[:at], changed, *commands[at + 1 :]]
            if fails(candidate):
                commands = candidate
                break
        else:
            at += 1
    return commands


def _nearer(commands: list[Command], args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments with the context replaced by the one that it was made from, or with no context between."""
    for key in ("context", "source", "other"):
        origin = args.get(key)
        made = next((each for each in commands if origin == {"ref": each.bind}), None)
        if made is not None and "context" in made.args:
            yield {**args, key: made.args["context"]}


def _variants(args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = args.get("bytes")
    if isinstance(content, str) and content.strip("0"):
        yield {**args, "bytes": "00" * (len(content) // 2)}
    for key in ("sources", "reads", "writes", "read", "donate", "written", "names"):
        entries = args.get(key)
        if isinstance(entries, list) and len(entries) > 1:
            for at in range(len(entries)):
                yield {**args, key: entries[:at] + entries[at + 1 :]}
    for key in ("embedded", "code", "nodes", "comps", "owned", "requires", "accumulates", "zeroes", "values"):
        entries = args.get(key)
        if isinstance(entries, list) and len(entries) > (key in ("code", "comps")) and key != "values":
            for at in range(len(entries)):
                yield {**args, key: entries[:at] + entries[at + 1 :]}
        elif key == "values" and isinstance(entries, list) and any(entry != 1 for entry in entries):
            yield {**args, key: [1] * len(entries)}
    for key in ("name", "bindings", "transform", "prelowered", "reuse", "allowances", "timing", "label"):
        if key in args and "by" not in args:
            yield {other: value for other, value in args.items() if other != key}
    if args.get("offset"):
        yield {**args, "offset": 0}
    if args.get("kind", "device") in ("pinned", "mapped"):
        yield {**args, "kind": "device"}
