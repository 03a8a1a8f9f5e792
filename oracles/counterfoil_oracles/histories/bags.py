"""Token bags beside a recorded history of a root: what the theorems say of gradients, checked as it goes.

Give ``Bags.follow`` every accepted event of a root in order; it returns what is wrong (nothing, if the theorems hold):

    bags = Bags()
    bags.follow(Compiled(routine_id, path, comp))       # path: ids of the routines of its lineage, itself last
    wrong = bags.follow(Ran(routine_id, buffers))       # buffers: of each On_device node, the location it binds
    bags.follow(Written(location))                      # an upload, an ordinary copy, or a location given up
    bags.follow(RolledBack(routine_id))
    bags.follow(Restored())                             # a saved accumulation history was set back

The code of each comp is carried out on bags: an assignment to a gradient adds a new token to its buffer and carries
the tokens of every gradient it reads along. No token may be carried twice by one assignment into what a buffer holds,
and no routine may add more often than its allowance (T1, T2). What a cycle in compile order leaves behind is judged by
``cycles`` (T3). Where a hypothesis of the theorems does not hold (a timing run, a
hand-written write, siblings, a rollback, a restored history, a comp that propagates without owning the backprop, an
allowance above 1 over a source that is not zeroed),
the buffer is *void*: nothing is claimed of it, or of what is propagated from it, until its next reset. Gradients
without a buffer live for one run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from counterfoil_oracles.histories.cycles import Bag, Cycles, Line, Location, Run, owns, touches
from counterfoil_spec.programs.assignments import Accumulate, Assignment, Constant, Fetch, Read, leaves
from counterfoil_spec.programs.comps import Comp
from counterfoil_spec.programs.nodes import Node


@dataclass(frozen=True)
class Compiled:
    """A routine was compiled; ``path`` are the ids of its lineage, itself last."""

    routine: int
    path: tuple[int, ...]
    comp: Comp


@dataclass(frozen=True)
class Ran:
    """A routine ran; ``buffers`` are the locations it binds, of nodes On_device.

    ``path``: the lineage of the value it ran through; the routine's own counts where it is not in that.
    """

    routine: int
    buffers: Mapping[Node, Location]
    timing: bool = False
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Written:
    """A buffer was written from outside, or its location given up."""

    buffer: Location


@dataclass(frozen=True)
class RolledBack:
    """The latest run of a routine was withdrawn."""

    routine: int


@dataclass(frozen=True)
class Restored:
    """A saved accumulation history was set back."""


Event = Compiled | Ran | Written | RolledBack | Restored


class Bags:
    """The bags of one root."""

    def __init__(self) -> None:
        self.buffers: dict[Location, Bag] = {}
        self._compiled: dict[int, Compiled] = {}
        self._comps: dict[int, Comp] = {}
        self._routine_of: dict[int, int] = {}
        self.cycles = Cycles(self._comps, self._routine_of, self.buffers)
        self._last: dict[int, Mapping[Node, Location]] = {}
        self._gradients: set[Node] = set()
        self._events = 0

    @property
    def paths(self) -> list[tuple[int, ...]]:
        """The lineages compiled so far, each by the ids of its routines."""
        return [each.path for each in self._compiled.values()]

    def follow(self, event: Event) -> list[str]:
        """Carry the event out on the bags; one text for each way in which a theorem does not hold."""
        self._events += 1
        match event:
            case Compiled():
                self._compiled[event.routine] = event
                self._comps[event.routine] = event.comp
                self._gradients |= {*event.comp.accumulates, *event.comp.zeroes}
            case Ran():
                return self._ran(event)
            case Written():
                self.buffers[event.buffer] = Bag()
                self.cycles.written(event.buffer, self._events)
            case RolledBack():
                self.cycles.break_off()
                for location in self._last.get(event.routine, {}).values():
                    self._bag(location).void = True
            case Restored():
                self.cycles.break_off()
                for bag in self.buffers.values():
                    bag.void = True
        return []

    def _bag(self, location: Location) -> Bag:
        return self.buffers.setdefault(location, Bag())

    def _ran(self, event: Ran) -> list[str]:
        comp = self._comps[event.routine]
        self._routine_of[self._events] = event.routine
        self._last[event.routine] = held = {n: at for n, at in event.buffers.items() if n in self._gradients}
        scratch: dict[Node, Bag] = {}
        bags = {
            node: self._bag(held[node]) if node in held else scratch.setdefault(node, Bag()) for node in self._gradients
        }
        path = event.path if event.routine in event.path else self._compiled[event.routine].path
        run = Run(event.routine, self._events, path, held)
        wrong: list[str] = []
        seen: Counter[Assignment] = Counter()
        for position, leaf in enumerate(leaves(comp.code)):
            if leaf.target in bags:
                wrong += self._assigned(event, run, (leaf, seen[leaf]), position, bags)
            seen[leaf] += 1
        for gradient in comp.accumulates:
            if gradient in event.buffers:
                wrong += self._added(event, gradient, bags[gradient])
        return wrong + (self.cycles.ran(run) if touches(comp) else [])

    def _assigned(self, event: Ran, run: Run, line: Line, position: int, bags: Mapping[Node, Bag]) -> list[str]:
        leaf, _ = line
        comp, bag = self._comps[event.routine], bags[leaf.target]
        sources = _sources(leaf, bags)
        carried = [(source, token) for source in sources for token in bags[source].tokens]
        tainted = any(bags[source].void for source in sources)
        if isinstance(leaf, Fetch) or leaf.initialize or leaf.accumulator == "arg2":
            bag.tokens, bag.carriers, bag.additions, bag.void = [], {}, Counter(), False
        if isinstance(leaf, Fetch) and leaf.definition == Constant(0.0):
            return []
        known = leaf.target in comp.accumulates or leaf.target in comp.zeroes
        bag.void = bag.void or tainted or event.timing or not known
        bag.tokens.append((self._events, position))
        run.added.append((leaf.target, (self._events, position)))
        run.lines += [(line, source, leaf.target) for source in sources]
        wrong = []
        for source, token in carried:
            earlier = bag.carriers.setdefault((line, token), [])
            bag.void = bag.void or any(not self._claimed(event.routine, each, source, leaf.target) for each in earlier)
            if earlier and not bag.void:
                wrong.append(f"{_called(event.routine)} carries {source} into {leaf.target} again")
            earlier.append(event.routine)
        return wrong

    def _claimed(self, routine: int, earlier: int, source: Node, target: Node) -> bool:
        """Whether the theorem forbids both routines to carry one token of the source into the target.

        Both own the backprop from the source (C10), lie on one path, and are allowed one run or start from zero.
        """
        if not all(owns(self._comps[each], source) for each in (routine, earlier)):
            return False
        if routine != earlier:
            return earlier in self._compiled[routine].path or routine in self._compiled[earlier].path
        comp = self._comps[routine]
        return target in comp.zeroes or source in comp.zeroes or comp.allowance(target) == 1

    def _added(self, event: Ran, gradient: Node, bag: Bag) -> list[str]:
        comp = self._comps[event.routine]
        bag.additions[event.routine] += 1
        bag.void = bag.void or event.timing
        allowed = 1 if gradient in comp.zeroes else comp.allowance(gradient)
        if bag.additions[event.routine] <= allowed or bag.void:
            return []
        return [f"{_called(event.routine)} added to {gradient} {bag.additions[event.routine]} times since its reset"]


def _called(routine: int) -> str:
    """How a routine is called in what is wrong."""
    return f"routine {routine}"


def _sources(leaf: Assignment, bags: Mapping[Node, Bag]) -> list[Node]:
    """The gradients the assignment reads, its own target as accumulator left out."""
    if not isinstance(leaf, Accumulate):
        return []
    return [operand.node for operand in leaf.operands if isinstance(operand, Read) and operand.node in bags]
