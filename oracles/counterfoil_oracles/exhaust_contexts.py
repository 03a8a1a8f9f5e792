"""Exhaustive small scope over contexts: every history of a few commands over one gradient program, on both halves.

The program: data x, a gradient h that propagates into g. Shapes: ``zero`` resets both, ``add`` contributes to g,
``feed`` to h, ``propagate`` takes h into g, ``step`` resets, feeds and propagates. Histories form a tree: what a
command names are things made on the way, numbered in order, so renaming gives no second history. A refusal leaves
everything as it was (R3, compared), so what follows one is the history without it: only the last command of a history
may be refused.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Final

from counterfoil_oracles.collecting import between_programs, settle_imports
from counterfoil_oracles.compare import Divergence, Pair
from counterfoil_oracles.failures import recorded, reproduce, save
from counterfoil_oracles.subjects import half
from counterfoil_spec.commands import Command, Outcome, Refused, Returned

DEPTH: Final = 5
LEAST_HISTORIES: Final = 100_000

SHAPES: Final = ("zero", "add", "feed", "propagate", "step")
SIBLINGS: Final = ("add", "step")
"""What is compiled below the value made last, and beside it."""


ACTIONS: Final = ("compile", "run", "rollback", "set_values", "copy_from", "context.release")
NEVER_REFUSED: Final = frozenset({"context.release"})
"""No rule refuses a release: of what is released already it does nothing."""

RULES: Final[dict[str, str]] = {
    "compile/owned-twice": "compile",
    "gradients/accumulated-elsewhere": "compile",
    "gradients/propagated-earlier": "compile",
    "gradients/without-reset": "run",
    "observability/needs-context": "copy_from",
    "release/dead-ancestor": "compile",
    "release/dead-handle": "compile",
    "run/compile-context-released": "run",
    "run/dependencies": "run",
    "run/fragment-not-owned": "run",
    "run/rollback-overtaken": "rollback",
    "run/unknown-routine": "rollback",
    "run/unwritten-inputs": "run",
}
"""Every rule that refuses some history of five commands, with an action it refuses."""


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
    add = {"set": g, "of": [x], "accumulate": "add"}
    feed = {"set": h, "of": [x], "accumulate": "add"}
    propagate = {"set": g, "of": [h, x], "op": "mul", "accumulate": "add"}
    comps: dict[str, dict[str, Any]] = {
        "zero": {"code": zero, "zeroes": [h, g]},
        "add": {"code": [add], "accumulates": [g]},
        "feed": {"code": [feed], "accumulates": [h], "requires": [_ref("f")]},
        "propagate": {"code": [propagate], "accumulates": [g], "owned": [_ref("f")]},
        "step": {"code": [*zero, feed, propagate], "zeroes": [h, g], "accumulates": [h, g], "owned": [_ref("f")]},
    }
    return [
        Command(do="comp", args={"label": name, "embedded": [x, h, g], **args}, bind=name)
        for name, args in comps.items()
    ]


def setup() -> list[Command]:
    """A fresh root."""
    return [Command(do="context", args={"backend": "cpu"}, bind="v0")]


@dataclass(frozen=True)
class State:
    """What a history has made: values by name with the value each was made from, and routines."""

    values: tuple[str, ...] = ("v0",)
    parents: tuple[str, ...] = ("v0",)
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


def letters(state: State) -> Iterator[Command]:
    """The commands that may come next: about the value made last, the one it was made from, and any routine."""
    made = f"v{len(state.values)}"
    latest, parent = _ref(state.latest), _ref(state.parent)
    for shape in SHAPES:
        yield Command(do="compile", args={"context": latest, "comp": _ref(shape)}, bind=made)
    for shape in SIBLINGS if parent != latest else ():
        yield Command(do="compile", args={"context": parent, "comp": _ref(shape)}, bind=made)
    for routine in state.routines:
        own = routine.removesuffix(".routine")
        for context in dict.fromkeys((state.latest, own)):
            yield Command(do="run", args={"context": _ref(context), "routine": _ref(routine)}, bind=made)
        yield Command(do="rollback", args={"context": latest, "routine": _ref(routine)})
    for node, values in (("x", [2, 3]), ("g", [5, 7])):
        yield Command(do="set_values", args={"context": latest, "node": _ref(node), "values": values}, bind=made)
    yield Command(do="copy_from", args={"context": latest, "source": parent, "node": _ref("g")}, bind=made)
    for released in (latest, parent)[: 1 + (parent != latest)]:
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
    ends: list[tuple[list[Command], State]] = field(default_factory=list)
    """The longest histories whose last command was accepted."""

    def add(self, other: Walk) -> None:
        """Count what another walk did too."""
        self.histories += other.histories
        self.executions += other.executions
        for mine, theirs in ((self.accepted, other.accepted), (self.refused, other.refused), (self.rules, other.rules)):
            mine.update(theirs)
        if self.divergence is None:
            self.divergence, self.program = other.divergence, other.program

    def count(self, command: Command, outcome: Outcome) -> None:
        """Count the last command of a history."""
        self.histories += 1
        if isinstance(outcome, Refused):
            self.refused[command.do] += 1
            self.rules[outcome.rule] += 1
        elif isinstance(outcome, Returned):
            self.accepted[command.do] += 1

    def shortfalls(self) -> list[str]:
        """What a walk of full depth meets and this one did not, in words: histories, actions and rules."""
        missing = [f"{each}: never accepted" for each in ACTIONS if not self.accepted[each]]
        refusable = [each for each in ACTIONS if each not in NEVER_REFUSED]
        missing += [f"{each}: never refused" for each in refusable if not self.refused[each]]
        missing += [f"{rule}: refused nothing" for rule in RULES if not self.rules[rule]]
        missing += [f"{rule}: refused a history, and is not expected to" for rule in self.rules if rule not in RULES]
        few = self.histories < LEAST_HISTORIES
        return missing + ([f"{self.histories} histories, under {LEAST_HISTORIES}"] if few else [])

    def lines(self) -> list[str]:
        """The counts as text."""
        actions = sorted({*self.accepted, *self.refused})
        told = [f"{action} {self.accepted[action]} accepted, {self.refused[action]} refused" for action in actions]
        rules = [f"{rule} {count}" for rule, count in sorted(self.rules.items())]
        return [f"{self.histories} histories in {self.executions} executions", *told, "rules: " + ", ".join(rules)]


class _Halves:
    """The two halves, with what never changes, and whether they are in the state after a prefix."""

    def __init__(self, reference: Any, subject: Any) -> None:
        self.pair = Pair(reference, subject)
        for command in once():
            self.pair.repeat(command)
        self._kept = frozenset(self.pair.reference.names)
        self.is_there = False
        self.ran: list[Command] = []

    def enter(self, prefix: Sequence[Command]) -> None:
        """Both halves after a prefix that has been compared before."""
        self.pair.start_over(self._kept)
        for command in (*setup(), *prefix):
            self.pair.repeat(command)
        self.is_there = True

    def last(self, command: Command, result: Walk) -> Outcome:
        """The last command of a history; what was compiled is released again, and nothing may be left of it."""
        self.ran = [command]
        before = self.pair.lasting() if command.do == "compile" else None
        outcome, result.divergence = self.pair.step(command)
        self.is_there = isinstance(outcome, Refused)
        if before is not None and command.bind in self.pair.reference.names and result.divergence is None:
            self.ran.append(Command(do="context.release", args={"context": _ref(command.bind)}))
            _, result.divergence = self.pair.step(self.ran[-1])
            self.pair.repeat(Command(do="drop", args={"names": [_ref(command.bind)]}))
            self.is_there = self.pair.lasting() == before
        return outcome


def walk(reference: Any, subject: Any, depth: int = DEPTH, most: int | None = None) -> Walk:
    """Every history of up to ``depth`` commands, or the first ``most``; stops where the halves part."""
    return _walk(reference, subject, [], State(), depth, most)


def _walk(
    reference: Any, subject: Any, prefix: list[Command], state: State, depth: int, most: int | None = None
) -> Walk:
    result = Walk()
    with between_programs(reference, subject):
        halves = _Halves(reference, subject)
        _descend(halves, prefix, state, depth, result, most)
        halves.pair.close()
    return result


def _descend(halves: _Halves, prefix: list[Command], state: State, depth: int, result: Walk, most: int | None) -> None:
    halves.is_there = False
    for command in letters(state):
        if result.divergence is not None or (most is not None and result.histories >= most):
            return
        if not halves.is_there:
            halves.enter(prefix)
            result.executions += 1
        outcome = halves.last(command, result)
        result.count(command, outcome)
        if result.divergence is not None:
            result.program = [*once(), *setup(), *prefix, *halves.ran]
        elif isinstance(outcome, Returned):
            longer, after = [*prefix, command], state.after(command)
            if depth > 1:
                _descend(halves, longer, after, depth - 1, result, most)
                halves.is_there = False
            else:
                result.ends.append((longer, after))


# --- on several processors -------------------------------------------------------------------------------------------


def walk_in_parallel(reference: str, subject: str, depth: int = DEPTH) -> Walk:
    """As ``walk``, by module names: the histories that begin alike in one process, as many at a time as there are
    processors."""
    result = _walk(half(reference), half(subject), [], State(), _SHARED)
    if result.divergence is not None:
        return result
    tasks = [(reference, subject, prefix, state, depth - _SHARED) for prefix, state in result.ends]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        for branch in processes.map(_branch, tasks, chunksize=1):
            result.add(branch)
    return result


_SHARED: Final = 2
"""Length of the beginnings that are dealt out."""


def _branch(task: tuple[str, str, list[Command], State, int]) -> Walk:
    reference, subject, prefix, state, depth = task
    settle_imports()
    result = _walk(half(reference), half(subject), prefix, state, depth)
    result.ends.clear()
    return result


def main(reference: Any, subject: Any) -> int:
    """``counterfoil exhaust --contexts``: walk, print the counts; 1 at a divergence, 4 if the walk met too little."""
    settle_imports()
    started = time.monotonic()
    result = walk_in_parallel(reference.__name__, subject.__name__)
    print(*result.lines(), f"{time.monotonic() - started:.0f} s", sep="\n")
    if result.divergence is not None and result.program is not None:
        trace, divergence = recorded(reference, subject, result.program)
        path = save(trace, divergence or result.divergence)
        print(f"the halves part: {result.divergence.difference}\n{reproduce(path)}")
        return 1
    print(*result.shortfalls(), sep="\n")
    return 4 if result.shortfalls() else 0
