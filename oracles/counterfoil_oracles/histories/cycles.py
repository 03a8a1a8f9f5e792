"""Delivery (T3) beside a recorded history: cycles in compile order are found as they go by, and judged at their end.

The bags tell of each run what it added and what it carried. A *cycle* is the runs, one after the other, of all routines
that reset or add to a gradient on the path of the value the last one ran through, each once, in compile order. At its
end each gradient with a buffer holds what the cycle added to it, nothing older, and what was added to a gradient that
the cycle propagates was carried on by each line that carries it; what its routines require is owned on their paths.

Nothing is claimed of a gradient where a hypothesis of the theorem does not hold, nor of what is propagated from it:

- it is void, or holds what routines of another path added;
- it is reset after its last addition along the path, or its allowance is above 1 and nothing resets it;
- a comp adds before it resets, propagates before it adds (C10), or propagates what it does not own;
- it was written from outside within the cycle;
- it has no buffer, and more than one routine of the path touches it (C20).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field

from counterfoil_spec.programs.assignments import Accumulate, Assignment, Fetch, Read, leaves
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node

Location = Hashable
Line = tuple[Assignment, int]
"""An assignment, and which of the like ones of its comp it is: the same line wherever its fragment is compiled."""

Token = tuple[int, int]
"""An addition: its event, and its position in the comp."""


@dataclass
class Bag:
    """What a gradient's buffer holds since its last reset.

    ``tokens``: the additions. ``carriers``: for each line and token it carried here, the routines that did, in order.
    ``additions``: how many runs of each routine added.
    """

    tokens: list[Token] = field(default_factory=list)
    carriers: dict[tuple[Line, Token], list[int]] = field(default_factory=dict)
    additions: Counter[int] = field(default_factory=Counter)
    void: bool = False


@dataclass
class Run:
    """One run as the bags saw it: what it added to which gradient, and the lines that carried one into another.

    ``path``: of the value it ran through. ``buffers``: the locations of gradients that have one.
    """

    routine: int
    event: int
    path: tuple[int, ...]
    buffers: dict[Node, Location]
    added: list[tuple[Node, Token]] = field(default_factory=list)
    lines: list[tuple[Line, Node, Node]] = field(default_factory=list)


_LONGEST = 64
"""Cycles of more runs are not looked for."""


class Cycles:
    """The cycles of one root; ``ended``: how many were judged; ``claims``: gradients of which something was claimed."""

    def __init__(self, comps: dict[int, Comp], routines: dict[int, int], bags: dict[Location, Bag]) -> None:
        self._comps = comps
        self._routine_of = routines
        self._bags = bags
        self._runs: list[Run] = []
        self._outside: dict[Location, int] = {}
        self.ended = 0
        self.claims = 0

    def break_off(self) -> None:
        """Something happened that no cycle holds."""
        self._runs = []

    def written(self, location: Location, event: int) -> None:
        """A buffer was written from outside."""
        self._outside[location] = event

    def ran(self, run: Run) -> list[str]:
        """One more run of a routine that touches a gradient; what is wrong, if it ends a cycle."""
        path = tuple(each for each in run.path if each in self._comps and touches(self._comps[each]))
        self._runs = [*self._runs[-_LONGEST:], run]
        runs = self._runs[-len(path) :]
        if tuple(each.routine for each in runs) != path:
            return []
        self.ended += 1
        return self._judged(runs)

    def _judged(self, runs: list[Run]) -> list[str]:
        wrong = [f"{fragment} is required, and nothing on the path owns it" for fragment in self._unowned(runs)]
        comps = [self._comps[run.routine] for run in runs]
        held = {node: location for run in runs for node, location in run.buffers.items()}
        unclaimed = self._unclaimed(runs, comps, held)
        for gradient, location in held.items():
            if gradient not in unclaimed:
                self.claims += 1
                wrong += _delivered(gradient, self._bags[location], runs)
        return wrong

    def _unowned(self, runs: list[Run]) -> list[str]:
        found: set[str] = set()
        for run in runs:
            if any(each not in self._comps for each in run.path):
                continue  # a routine of its own code, of which nothing was told, may own it
            owned = {fragment for each in run.path for fragment in self._comps[each].owned}
            found |= {str(each) for each in self._comps[run.routine].requires if each not in owned and not each.empty}
        return sorted(found)

    def _unclaimed(self, runs: list[Run], comps: list[Comp], held: dict[Node, Location]) -> set[Node]:
        """The gradients of which nothing is claimed."""
        path = set(runs[-1].path)
        nodes = {node for comp in comps for node in (*comp.accumulates, *comp.zeroes)} | set(held)
        found = {node for node in nodes if not _meets_hypotheses(node, comps)}
        written = {at for at, event in self._outside.items() if event > runs[0].event}
        found |= {node for node, at in held.items() if at in written or self._is_foreign(self._bags[at], path)}
        found |= {n for run in runs for n, location in run.buffers.items() if held[n] != location}
        found |= self._without_buffer(runs, nodes, held)
        for run in runs:
            found |= {to for _, source, to in run.lines if not owns(self._comps[run.routine], source)}
        return _with_targets(found, runs)

    def _without_buffer(self, runs: list[Run], nodes: set[Node], held: dict[Node, Location]) -> set[Node]:
        """The gradients that have no buffer in some run, and are more than that run's own."""
        times = Counter(n for run in runs for n in nodes - set(run.buffers) if _mentions(self._comps[run.routine], n))
        return {node for node, count in times.items() if count > 1 or node in held}

    def _is_foreign(self, bag: Bag, path: Collection[int]) -> bool:
        """Whether it is void, or another path's routines added to it or carried something there."""
        routines = {self._routine_of[event] for event, _ in bag.tokens}
        routines |= {routine for carriers in bag.carriers.values() for routine in carriers}
        return bag.void or not routines <= set(path)


def _delivered(gradient: Node, bag: Bag, runs: list[Run]) -> list[str]:
    """What is wrong with a gradient's bag at the end of a cycle."""
    began = runs[0].event
    added = [token for run in runs for node, token in run.added if node is gradient]
    wrong = []
    if any(event < began for event, _ in bag.tokens) or any(token[0] < began for _, token in bag.carriers):
        wrong.append(f"{gradient} still holds what was added before the cycle")
    if Counter(added) - Counter(bag.tokens):
        wrong.append(f"{gradient} lost an addition of the cycle")
    for run in runs:
        for line, source, to in run.lines:
            tokens = [token for each in runs for node, token in each.added if node is source]
            if to is gradient and any((line, token) not in bag.carriers for token in tokens):
                wrong.append(f"{source} was not carried into {gradient} whole")
    return wrong


def touches(comp: Comp) -> bool:
    """Whether it resets or adds to a gradient."""
    return bool(comp.accumulates or comp.zeroes)


def owns(comp: Comp, gradient: Node) -> bool:
    """Whether it owns the backprop from that gradient."""
    return any(fragment.kind == "backprop" and fragment.gradient is gradient for fragment in comp.owned)


def _mentions(comp: Comp, gradient: Node) -> bool:
    """Whether it resets, adds to or reads the gradient."""
    reads = (operand.node for leaf in leaves(comp.code) for operand in _reads(leaf))
    return gradient in comp.accumulates or gradient in comp.zeroes or gradient in reads


def _meets_hypotheses(gradient: Node, comps: list[Comp]) -> bool:
    """Whether resets stay ahead, allowances are spent, and each comp is in the frontend's order, for one gradient."""
    adders = [at for at, comp in enumerate(comps) if gradient in comp.accumulates]
    zeroers = [at for at, comp in enumerate(comps) if gradient in comp.zeroes]
    only_zeroing = [at for at in zeroers if at not in adders]
    ahead = not adders or not only_zeroing or only_zeroing[-1] < adders[-1]
    kept = [comps[at].allowance(gradient) for at in adders if at not in zeroers]
    return ahead and (bool(zeroers) or all(each == 1 for each in kept)) and all(_ordered(gradient, c) for c in comps)


def _ordered(gradient: Node, comp: Comp) -> bool:
    """Whether the comp resets the gradient, if its words say so and at most then, adds, and only then propagates."""
    added = read = False
    reset = gradient not in comp.zeroes
    for leaf in leaves(comp.code):
        if leaf.target is gradient:
            adds = isinstance(leaf, Accumulate) and leaf.accumulator == "add" and not leaf.initialize
            if read or (not adds and (added or gradient not in comp.zeroes)):
                return False
            added, reset = added or adds, reset or not adds
            if adds and not reset:
                return False
        elif any(operand.node is gradient for operand in _reads(leaf)):
            read = read or leaf.target in comp.accumulates
    return reset


def _reads(leaf: Assignment) -> list[Read]:
    if isinstance(leaf, Fetch):
        return []
    return [operand for operand in leaf.operands if isinstance(operand, Read)]


def _with_targets(unclaimed: set[Node], runs: list[Run]) -> set[Node]:
    """Those, and whatever the cycle propagates from them."""
    while True:
        further = {to for run in runs for _, source, to in run.lines if source in unclaimed} - unclaimed
        if not further:
            return unclaimed
        unclaimed = unclaimed | further
