"""Exhaustive small scope over contexts: every history of a few commands over one gradient program, on both halves.

The program: a gradient h that propagates into g. Shapes: ``zero`` resets both, ``add`` contributes to h, ``step`` does
all of it. Histories form a tree: what a command names are things made on the way, numbered in order, so renaming gives
no second history. A refusal leaves everything as it was (R3, compared), so what follows one is the history without it:
only the last command of a history may be refused.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs, settle_imports
from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.failures import recorded, reproduce, save
from counterfoil_spec.commands import Command, Outcome, Refused, Returned

DEPTH: Final = 5
LEAST_HISTORIES: Final = 100_000

SHAPES: Final = ("zero", "add", "step")
_VALUES: Final = [2, 3]


def _ref(name: str) -> dict[str, str]:
    return {"ref": name}


def once() -> list[Command]:
    """What never changes: nodes, fragments and comps."""
    nodes = [
        Command(
            do="node", args={"label": label, "shape": [2], "dtype": "int32", "zero_valid": label != "x"}, bind=label
        )
        for label in ("x", "h", "g")
    ]
    backprop = {"label": "h", "kind": "backprop", "gradient": _ref("h")}
    return [
        Command(do="poison", args={"byte": 165}),
        *nodes,
        Command(do="fragment", args=backprop, bind="f"),
        *_comps(),
    ]


def _comps() -> list[Command]:
    x, h, g = (_ref(label) for label in "xhg")
    zero = [{"fetch": h, "constant": 0}, {"fetch": g, "constant": 0}]
    add = {"set": h, "of": [x], "accumulate": "add"}
    propagate = {"set": g, "of": [h, x], "op": "mul", "accumulate": "add"}
    comps: dict[str, dict[str, Any]] = {
        "zero": {"code": zero, "zeroes": [h, g]},
        "add": {"code": [add], "accumulates": [h], "requires": [_ref("f")]},
        "step": {"code": [*zero, add, propagate], "zeroes": [h, g], "accumulates": [h, g], "owned": [_ref("f")]},
        "propagate": {"code": [propagate], "accumulates": [g], "owned": [_ref("f")]},
    }
    return [
        Command(do="comp", args={"label": name, "embedded": [h, g], **args}, bind=name) for name, args in comps.items()
    ]


def setup() -> list[Command]:
    """A fresh root in which x is given."""
    given = {"context": _ref("root"), "node": _ref("x"), "values": _VALUES}
    return [
        Command(do="context", args={"backend": "cpu"}, bind="root"),
        Command(do="set_values", args=given, bind="v0"),
    ]


@dataclass(frozen=True)
class State:
    """What a history has made: values by name with the value each was made from, and routines."""

    values: tuple[str, ...] = ("v0",)
    parents: tuple[str, ...] = ("root",)
    routines: tuple[str, ...] = ()

    def after(self, command: Command) -> State:
        """The state after an accepted command."""
        if command.bind is None:
            return self
        routines = (*self.routines, f"{command.bind}.routine") if command.do == "compile" else self.routines
        parent: str = command.args["context"]["ref"]
        return State((*self.values, command.bind), (*self.parents, parent), routines)

    @property
    def latest(self) -> str:
        """The value made last."""
        return self.values[-1]

    @property
    def parent(self) -> str:
        """The value that was made from."""
        return self.parents[-1]


def letters(state: State, propagator: bool = False) -> Iterator[Command]:
    """The commands that may come next: about the value made last, the one it was made from, and any routine."""
    made = f"v{len(state.values)}"
    latest, parent = _ref(state.latest), _ref(state.parent)
    for origin in (latest, parent):
        for shape in (*SHAPES, "propagate") if propagator else SHAPES:
            yield Command(do="compile", args={"context": origin, "comp": _ref(shape)}, bind=made)
    for routine in state.routines:
        own = routine.removesuffix(".routine")
        for context in dict.fromkeys((state.latest, own)):
            yield Command(do="run", args={"context": _ref(context), "routine": _ref(routine)}, bind=made)
        yield Command(do="rollback", args={"context": latest, "routine": _ref(routine)})
    yield Command(do="set_values", args={"context": latest, "node": _ref("g"), "values": [5, 7]}, bind=made)
    for node in ("x", "g"):
        yield Command(do="copy_from", args={"context": latest, "source": parent, "node": _ref(node)}, bind=made)
    for released in (latest, parent):
        yield Command(do="context.release", args={"context": released})


@dataclass
class Walk:
    """What an exhaustive walk did: histories, executions, what was accepted and refused, where the halves part."""

    histories: int = 0
    executions: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    divergence: Divergence | None = None
    program: list[Command] | None = None

    def count(self, command: Command, outcome: Outcome) -> None:
        """Count the last command of a history."""
        self.histories += 1
        if isinstance(outcome, Refused):
            self.refused[command.do] += 1
            self.rules[outcome.rule] += 1
        elif isinstance(outcome, Returned):
            self.accepted[command.do] += 1

    def lines(self) -> list[str]:
        """The counts as text."""
        actions = sorted({*self.accepted, *self.refused})
        told = [f"{action} {self.accepted[action]} accepted, {self.refused[action]} refused" for action in actions]
        rules = [f"{rule} {count}" for rule, count in sorted(self.rules.items())]
        return [f"{self.histories} histories in {self.executions} executions", *told, "rules: " + ", ".join(rules)]


class _Halves:
    """The two halves, and the history that made the state they are in."""

    def __init__(self, reference: Any, subject: Any) -> None:
        self.reference, self.subject = reference, subject
        self.pair: Pair | None = None

    def enter(self, prefix: Sequence[Command]) -> Pair:
        """Both halves after a prefix that has been compared before."""
        self.leave()
        self.pair = Pair(self.reference, self.subject)
        for command in (*once(), *setup(), *prefix):
            self.pair.repeat(command)
        return self.pair

    def leave(self) -> None:
        """Release all that a history made."""
        if self.pair is not None:
            self.pair.close()
            self.pair = None


def walk(reference: Any, subject: Any, depth: int = DEPTH, most: int | None = None) -> Walk:
    """Every history of up to ``depth`` commands, or the first ``most``; stops where the halves part."""
    result, halves = Walk(), _Halves(reference, subject)
    with between_programs():
        _descend(halves, [], State(), depth, result, most)
        halves.leave()
    return result


def _descend(halves: _Halves, prefix: list[Command], state: State, depth: int, result: Walk, most: int | None) -> None:
    fresh = True
    for command in letters(state):
        if result.divergence is not None or (most is not None and result.histories >= most):
            return
        if fresh:
            halves.enter(prefix)
            result.executions += 1
        assert halves.pair is not None
        outcome, result.divergence = halves.pair.step(command)
        result.count(command, outcome)
        if result.divergence is not None:
            result.program = [*once(), *setup(), *prefix, command]
        fresh = isinstance(outcome, Returned)
        if fresh and depth > 1 and result.divergence is None:
            _descend(halves, [*prefix, command], state.after(command), depth - 1, result, most)


def main(reference: Any, subject: Any) -> int:
    """``counterfoil exhaust --contexts``: walk, print the counts; 1 at a divergence, 4 if there were too few."""
    settle_imports()
    started = time.monotonic()
    result = walk(reference, subject)
    seconds = time.monotonic() - started
    print(*result.lines(), f"{seconds:.0f} s", sep="\n")
    if result.divergence is not None and result.program is not None:
        trace, divergence = recorded(reference, subject, result.program)
        path = save(trace, divergence or result.divergence)
        print(f"the halves part: {result.divergence.difference}\n{reproduce(path)}")
        return 1
    return 0 if result.histories >= LEAST_HISTORIES else 4
