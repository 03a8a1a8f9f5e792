"""Exhaustive small scope: every program of a few commands over two memories, modulo renaming, on both halves.

The programs form a tree. A command that leaves everything observable as it was (a refusal must: R3) is followed by
its siblings in the same state; after any other the state is made again from the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs, settle_imports
from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.failures import recorded, reproduce, save
from counterfoil_spec.commands import Command, references

DEPTH: Final = 4
LEAST_SEQUENCES: Final = 20_000

_BYTES: Final = 6
_LAYOUTS: Final[dict[str, dict[str, Any]]] = {
    "even": {"shape": [3], "strides": [2], "offset": 0},
    "odd": {"shape": [3], "strides": [2], "offset": 1},
    "back": {"shape": [3], "strides": [-1], "offset": 3},
    "same": {"shape": [3], "strides": [0], "offset": 2},
}


def _ref(kind: str, memory: int) -> dict[str, str]:
    return {"ref": f"{kind}{memory}"}


def once() -> list[Command]:
    """What never changes: a poison byte and the layouts."""
    layouts = [Command(do="layout", args=place, bind=kind) for kind, place in _LAYOUTS.items()]
    return [Command(do="poison", args={"byte": 165}), Command(do="host", bind="host"), *layouts]


def setup() -> list[Command]:
    """Two memories of a fresh device whose memory the host addresses, each under four layouts of int8."""
    commands = [Command(do="simulated", args={"name": "near", "addressable": True}, bind="near")]
    for memory in (0, 1):
        args = {"device": {"ref": "near"}, "nbytes": _BYTES, "kind": "device"}
        commands.append(Command(do="buffer", args=args, bind=f"b{memory}"))
        content = bytes(range(16 * memory + 1, 16 * memory + 1 + _BYTES)).hex()
        commands.append(Command(do="buffer.poke", args={"buffer": _ref("b", memory), "bytes": content}))
        for kind in _LAYOUTS:
            over = {"dtype": "int8", "layout": {"ref": kind}, "buffer": _ref("b", memory)}
            commands.append(Command(do="array", args=over, bind=f"{kind}{memory}"))
    return commands


Letter = Callable[[int], Command]
"""A command about memory m (and, for some, the other one)."""


def _kernel(name: str, dst: str, source: str, across: bool = False) -> Letter:
    def letter(m: int) -> Command:
        sources = [_ref(source, 1 - m if across else m)]
        return Command(do="kernel", args={"name": name, "dst": _ref(dst, m), "sources": sources})

    return letter


ALPHABET: Final[dict[str, Letter]] = {
    "set": lambda m: Command(do="array.set", args={"array": _ref("even", m), "index": [1], "value": 7}),
    "negate between": _kernel("neg", "even", "odd"),
    "copy onto an overlap": _kernel("copy", "even", "back"),
    "copy across": _kernel("copy", "back", "even", across=True),
    "write twice": _kernel("neg", "same", "odd"),
    "donate": lambda m: Command(do="claims.enter", args={"read": [], "donate": [_ref("b", m)]}, bind=f"c{m}"),
    "consume": lambda m: Command(
        do="claims.consume",
        args={"claims": _ref("c", m), "buffer": _ref("b", m), "why": "donated to mul"},
        bind=f"b{m}",
    ),
    "leave": lambda m: Command(do="claims.exit", args={"claims": _ref("c", m)}),
    "increment": lambda m: Command(
        do="submit", args={"device": {"ref": "near"}, "work": "increment", "reads": [], "writes": [_ref("b", m)]}
    ),
    "queue a copy": lambda m: Command(do="submit_copy", args={"src": _ref("b", m), "dst": _ref("b", 1 - m)}),
    "free": lambda m: Command(do="buffer.free", args={"buffer": _ref("b", m), "why": "freed"}),
    "door": lambda m: Command(
        do="door", args={"written": [_ref("even", m)], "read": [_ref("odd", m), _ref("even", 1 - m)], "work": "submit"}
    ),
}
"""Twelve commands, each about one of the two memories."""


@dataclass
class Walk:
    """What an exhaustive walk did."""

    sequences: int = 0
    executions: int = 0
    divergence: Divergence | None = None
    program: list[Command] | None = None


class _Halves:
    """The two halves, and the program that made the state they are in."""

    def __init__(self, reference: Any, subject: Any) -> None:
        self.pair = Pair(reference, subject, watch_arrays=False)  # the two buffers show all there is
        self.program: list[Command] | None = None
        for command in once():
            self.pair.repeat(command)

    def enter(self, prefix: Sequence[Command]) -> None:
        """Make the state after a prefix, which has been compared before, in memories of its own."""
        self.program = [*setup(), *prefix]
        self.pair.repeat(Command(do="drop", args={"names": [_ref("c", 0), _ref("c", 1)]}))
        for command in self.program:
            self.pair.repeat(command)
        self.pair.last_seen = self.pair.looks()

    def step(self, command: Command, result: Walk) -> None:
        """Run one more command; forget the state if the command changed it."""
        assert self.program is not None
        before = self.pair.last_seen
        divergence = self.pair.step(command)[1]
        if divergence is not None:
            result.divergence, result.program = divergence, [*once(), *self.program, command]
        if divergence is not None or self.pair.last_seen != before:
            self.program = None

    def means_something(self, command: Command) -> bool:
        """Whether all that the command names is there, its claims open."""
        made = [self.pair.reference.names.get(name) for name in references(command.args)]
        return all(thing is not None and getattr(thing, "is_open", True) for thing in made)


def letters(used: int) -> Iterator[tuple[Command, int]]:
    """The commands that may come next, with how many memories are then named; the first one named is memory 0."""
    for memory in range(min(used + 1, 2)):
        for letter in ALPHABET.values():
            yield letter(memory), max(used, memory + 1)


def walk(reference: Any, subject: Any, depth: int = DEPTH) -> Walk:
    """Every sequence of ``depth`` commands, modulo renaming of the two memories; stops where the halves part."""
    result = Walk()
    with between_programs(reference, subject):
        halves = _Halves(reference, subject)
        _descend(halves, [], 0, depth, result)
        halves.pair.close()
    return result


def _descend(halves: _Halves, prefix: list[Command], used: int, depth: int, result: Walk) -> None:
    for command, now_used in letters(used):
        if halves.program is None:
            halves.enter(prefix)
            result.executions += 1
        if not halves.means_something(command):
            continue
        halves.step(command, result)
        result.sequences += depth == 1
        if depth > 1 and result.divergence is None:
            halves.program = None
            _descend(halves, [*prefix, command], now_used, depth - 1, result)
            halves.program = None
        if result.divergence is not None:
            return


def main(reference: Any, subject: Any) -> int:
    """``counterfoil exhaust``: walk, print the count; 1 at a divergence, 4 if there were too few sequences."""
    settle_imports()
    started = time.monotonic()
    result = walk(reference, subject)
    seconds = time.monotonic() - started
    print(
        f"{result.sequences} sequences of {DEPTH} commands out of {2 * len(ALPHABET)}, modulo renaming, "
        f"in {result.executions} executions and {seconds:.0f} s"
    )
    if result.divergence is not None and result.program is not None:
        trace, divergence = recorded(reference, subject, result.program)
        path = save(trace, divergence or result.divergence)
        print(f"the halves part: {result.divergence.difference}\n{reproduce(path)}")
        return 1
    return 0 if result.sequences >= LEAST_SEQUENCES else 4
