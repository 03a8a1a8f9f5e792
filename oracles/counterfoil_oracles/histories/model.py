"""The model: routines that zero, contribute to and propagate two gradients, and their histories as bags of tokens.

H is the gradient of a trunk, propagated into W, the gradient of a parameter, by one backprop fragment. A contribution
is a token (routine, event, gradient); propagating adds H's bag to W's. Whether a routine may be compiled or run is what
the reference's rule functions say of real comps made of words.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil_reference import history, lineage
from counterfoil_reference.frontier import Frontier, unmet
from counterfoil_spec.programs.comps import Comp, Fragment, comp
from counterfoil_spec.programs.nodes import Node

H: Final = Node("H", (1,))
W: Final = Node("W", (1,))
for _gradient in (H, W):
    _gradient.mark_zero_valid()
PROPAGATION: Final = Fragment(0, "backprop", "H", H)

GRADIENTS: Final = (H, W)
OWN, REQUIRED, DEPENDENCIES, COUNT, PROPAGATED = "own", "req", "dep", "cnt", "10b"
SHARING: Final = {
    "c1": lineage.no_accumulator_zeroes,
    "c2": lineage.zeroed_somewhere,
    "c3": lineage.zeroing_accumulates_nothing,
    "c4": lineage.zeroed_before_the_first,
}
CLAUSES: Final = (OWN, *SHARING, PROPAGATED, REQUIRED, DEPENDENCIES, COUNT)
"""Everything that can refuse, clause by clause: compile/owned-twice, the four of gradients/accumulated-elsewhere,
gradients/propagated-earlier, run/fragment-not-owned, run/dependencies, gradients/without-reset."""

BODY: Final = ("zH", "zW", "aH", "P", "aW")
"""What a routine may do, in the order in which it does."""

Token = tuple[int, int, str]
"""(routine, event, label of the gradient it was contributed to)."""


@dataclass(frozen=True, order=True)
class Routine:
    """Zeroes H, contributes to H, propagates H into W, zeroes W, contributes to W: in this order; runs per reset."""

    zH: bool = False
    aH: bool = False
    P: bool = False
    zW: bool = False
    aW: bool = False
    kH: int = 1
    kW: int = 1

    def accumulates(self, gradient: Node) -> bool:
        """Whether it adds to the gradient, propagation included."""
        return self.aH if gradient is H else self.aW or self.P

    def zeroes(self, gradient: Node) -> bool:
        """Whether it zeroes the gradient."""
        return self.zH if gradient is H else self.zW

    def allowance(self, gradient: Node) -> int:
        """Runs per reset of the gradient."""
        return self.kH if gradient is H else self.kW

    def __str__(self) -> str:
        words = [name for name in BODY if getattr(self, name)]
        if self.kH == self.kW != 1:
            words.append(f"k={self.kH}")
        else:
            words += [f"{name}={getattr(self, name)}" for name in ("kH", "kW") if getattr(self, name) != 1]
        return f"[{' '.join(words)}]"


Lineage = tuple[Routine, ...]


def routines(text: str) -> Lineage:
    """The inverse of ``str``: ``"[zH zW] [aH P k=2]"``."""
    found = []
    for words in text.replace("[", "").split("]")[:-1]:
        numbers = {"kH": 1, "kW": 1}
        flags = {word for word in words.split() if "=" not in word}
        for name, number in (word.split("=") for word in words.split() if "=" in word):
            numbers |= dict.fromkeys(numbers if name == "k" else (name,), int(number))
        assert flags <= set(BODY), words
        zero_h, zero_w, add_h, propagate, add_w = (name in flags for name in BODY)
        found.append(Routine(zero_h, add_h, propagate, zero_w, add_w, numbers["kH"], numbers["kW"]))
    return tuple(found)


@functools.cache
def comp_of(routine: Routine) -> Comp:
    """The comp of the routine, in words: its code is left out, as no rule looks at it."""
    return comp(
        owned=[PROPAGATION] if routine.P else [],
        accumulates=[gradient for gradient in GRADIENTS if routine.accumulates(gradient)],
        zeroes=[gradient for gradient in GRADIENTS if routine.zeroes(gradient)],
        allowances={gradient: routine.allowance(gradient) for gradient in GRADIENTS if routine.accumulates(gradient)},
        requires=[PROPAGATION] if routine.aH else [],
    )


def reads_and_writes(routine: Routine) -> tuple[list[Node], list[Node]]:
    """What it reads before it writes it, and what it writes: what its dependencies follow from."""
    reads = [gradient for gradient in GRADIENTS if routine.accumulates(gradient) and not routine.zeroes(gradient)]
    if routine.P and not routine.zH and H not in reads:
        reads.append(H)
    writes = [gradient for gradient in GRADIENTS if routine.accumulates(gradient) or routine.zeroes(gradient)]
    return reads, writes


@functools.cache
def entry_of(routine: Routine, number: int) -> lineage.Entry:
    """The lineage entry of the routine under that id."""
    return lineage.entry(comp_of(routine), f"r{number}", number)


def entries(path: Sequence[Routine]) -> list[lineage.Entry]:
    """The lineage of routines compiled one after the other, their ids being their positions."""
    return [entry_of(routine, number) for number, routine in enumerate(path)]


def compile_faults(routine: Routine, path: Sequence[lineage.Entry]) -> list[str]:
    """The clauses that refuse to compile the routine after that lineage, in the order compile looks at them."""
    made = comp_of(routine)
    faults = [OWN] if lineage.owned_twice(made, path, "this routine") else []
    shared = [gradient for gradient, _ in lineage.accumulated_elsewhere(made, path)]
    faults += [name for name, holds in SHARING.items() if not all(holds(gradient, made, path) for gradient in shared)]
    return faults + ([PROPAGATED] if lineage.propagated_earlier(made, path) else [])


def compiles(path: Sequence[Routine], dropped: Collection[str] = ()) -> bool:
    """Whether each routine of the path compiles after those before it, clauses ``dropped`` not looked at."""
    lines = entries(path)
    return all(set(compile_faults(routine, lines[:at])) <= set(dropped) for at, routine in enumerate(path))


class History:
    """A root: routines compiled into it, along any paths, and what was run; its gradients as bags of tokens.

    With ``virtual`` H has no buffer: what was compiled into it is its definition, evaluated where it is propagated.
    ``body``: another order of what routines do, to show why theirs is the frontend's duty (C10).
    """

    def __init__(self, virtual: bool = False, body: Sequence[str] = BODY) -> None:
        self.virtual = virtual
        self.body = tuple(body)
        self.routines: list[Routine] = []
        self.paths: list[tuple[int, ...]] = []
        self.dependencies: list[frozenset[int]] = []
        self.frontiers: list[Frontier] = []
        self.bags: dict[Node, Counter[Token]] = {gradient: Counter() for gradient in GRADIENTS}
        self.base: dict[Node, object] = dict.fromkeys(GRADIENTS)
        self.increments: dict[Node, list[tuple[int, int, Counter[Token]]]] = {gradient: [] for gradient in GRADIENTS}
        self.counts: history.Counts = history.NOTHING_COUNTED
        self.executed: set[int] = set()
        self.events = 0
        self._before: dict[int, History] = {}

    def copy(self) -> History:
        """Another root in the same state, for going on differently; nothing more is compiled into either.

        What is before the copy cannot be rolled back in it.
        """
        other = History(self.virtual, self.body)
        other.routines, other.paths, other.dependencies = self.routines, self.paths, self.dependencies
        other.frontiers, other.counts, other.executed = self.frontiers, self.counts, set(self.executed)
        other.bags, other.base, other.events = dict(self.bags), dict(self.base), self.events
        other.increments = {gradient: list(entries) for gradient, entries in self.increments.items()}
        return other

    def entry(self, number: int) -> lineage.Entry:
        """The lineage entry of a routine."""
        return entry_of(self.routines[number], number)

    def path(self, number: int) -> list[lineage.Entry]:
        """The lineage of the value that compiling the routine returned."""
        return [self.entry(each) for each in self.paths[number]]

    def compile(self, routine: Routine, parent: int | None = None) -> int:
        """Compile from the value that compiling ``parent`` returned (None: the root); the routine's number.

        Whether it may be compiled is ``compile_faults(routine, path)``: here nothing is refused.
        """
        number = len(self.routines)
        reads, writes = (list(filter(self._buffer, nodes)) for nodes in reads_and_writes(routine))
        before = Frontier() if parent is None else self.frontiers[parent]
        self.routines.append(routine)
        self.paths.append((*(() if parent is None else self.paths[parent]), number))
        self.dependencies.append(before.dependencies(reads, writes))
        self.frontiers.append(before.after(number, reads, writes))
        return number

    def run_faults(self, number: int, tip: int | None = None) -> list[str]:
        """The clauses that refuse to run it through the value that compiling ``tip`` returned (its own: None)."""
        at = number if tip is None or number not in self.paths[tip] else tip
        faults = [REQUIRED] if lineage.unowned(self.entry(number), self.path(at)) else []
        faults += [DEPENDENCIES] if unmet(self.dependencies[number], self.executed) else []
        return faults + ([COUNT] if history.overdrawn(self.entry(number), self.counts, self._buffer) else [])

    def run(self, number: int) -> None:
        """Run it, refused or not: the effect on the bags, the counts and what was executed."""
        routine = self.routines[number]
        self._before[number] = self.copy()
        for word in self.body:
            if getattr(routine, word):
                self._do(number, word)
        self.counts = history.counted(self.entry(number), self.counts, self._buffer)
        self.executed.add(number)
        self.events += 1

    def extern(self, gradient: Node, value: object = None) -> None:
        """A write from outside: the gradient is ``value``, whatever it was."""
        self._reset(gradient, value)
        self.counts = history.reset(self.counts, gradient)

    def rollback(self, number: int, forgets: bool = False) -> None:
        """Withdraw the routine's latest run, a failure that wrote nothing: the buffers are as before it.

        The counts are too (C5); with ``forgets`` they stay what the run made of them, to show why C5 restores them.
        """
        before = self._before[number]
        self.counts = self.counts if forgets else history.withdrawn(self.counts, before.counts, GRADIENTS)
        self.bags, self.base, self.increments = before.bags, before.base, before.increments
        self.executed.discard(number)

    def hand_write(self, gradient: Node) -> None:
        """A hand-written ``g += g``: no rule sees it as a contribution."""
        self.bags[gradient] = self.bags[gradient] + self.bags[gradient]

    def _do(self, number: int, word: str) -> None:
        """One word of a routine's body."""
        gradient = H if word.endswith("H") else W
        if word.startswith("z"):
            self._reset(gradient, None)
            return
        added: Counter[Token] = Counter()
        if word == "P":
            defined = [each for each in self.paths[number] if self.routines[each].aH] if self.virtual else []
            added = self.bags[H] + Counter((each, self.events, "H") for each in defined)
        elif self._buffer(gradient):
            added[number, self.events, gradient.label] = 1
        self.bags[gradient] = self.bags[gradient] + added
        self.increments[gradient].append((number, self.events, added))

    def _buffer(self, gradient: Node) -> Node | None:
        """One buffer per gradient, which stands for its location; a virtual one has none."""
        return None if self.virtual and gradient is H else gradient

    def _reset(self, gradient: Node, value: object) -> None:
        self.bags[gradient], self.increments[gradient] = Counter(), []
        self.base[gradient] = value


def accounted(root: History) -> bool:
    """T1: each gradient is its base and the increments since its last reset, of each routine at most its allowance."""
    for gradient in GRADIENTS:
        increments = root.increments[gradient]
        if sum((added for _, _, added in increments), Counter()) != root.bags[gradient]:
            return False
        runs = Counter(number for number, _ in {(number, event) for number, event, _ in increments})
        if any(count > root.routines[number].allowance(gradient) for number, count in runs.items()):
            return False
    return True


def once(bag: Counter[Token]) -> bool:
    """Whether no token is in the bag twice."""
    return all(count <= 1 for count in bag.values())


def of_lineage(path: Lineage) -> History:
    """A root with that lineage compiled along one path, nothing run."""
    made = History()
    for number, routine in enumerate(path):
        made.compile(routine, number - 1 if number else None)
    return made
