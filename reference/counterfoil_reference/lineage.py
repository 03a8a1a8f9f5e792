"""The rules over a compilation lineage: what a comp may not own, accumulate or propagate, and what a routine requires.

Pure functions of explicit data, one per rule. A lineage is a sequence of entries in compile order, from the root on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from counterfoil_spec.programs.comps import Comp, Fragment
from counterfoil_spec.programs.nodes import Node


@dataclass(frozen=True)
class Entry:
    """What a lineage keeps of one routine's comp (docs/contexts.md §5)."""

    name: str
    routine_id: int
    owned: tuple[Fragment, ...] = ()
    accumulates: tuple[Node, ...] = ()
    zeroes: tuple[Node, ...] = ()
    allowances: Mapping[Node, int] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    requires: tuple[Fragment, ...] = ()

    def allowance(self, gradient: Node) -> int:
        """Runs per reset allowed for one gradient it accumulates: 1 where its comp says nothing (C4)."""
        return self.allowances.get(gradient, 1)

    def propagates(self, gradient: Node) -> bool:
        """Whether it owns the backprop that propagates from that gradient; an empty fragment propagates nothing."""
        return any(f.kind == "backprop" and f.gradient is gradient and not f.empty for f in self.owned)


def entry(comp: Comp, name: str, routine_id: int) -> Entry:
    """The entry of a routine compiled from that comp."""
    return Entry(name, routine_id, comp.owned, comp.accumulates, comp.zeroes, comp.allowances, comp.requires)


def owned_twice(comp: Comp, lineage: Sequence[Entry], own_name: str) -> list[tuple[str, str]]:
    """Rule compile/owned-twice (context:37, C2): each fragment of the comp that would be in the lineage twice.

    Pairs (fragment's text, name of a routine that has it too): each routine of the lineage that owns it, in compile
    order, then ``own_name`` where the comp itself holds it more than once. Fragments in the order of ``comp.owned``.
    """
    pairs = []
    for fragment in dict.fromkeys(comp.owned):
        pairs += [(str(fragment), earlier.name) for earlier in lineage if fragment in earlier.owned]
        if comp.owned.count(fragment) > 1:
            pairs.append((str(fragment), own_name))
    return pairs


def accumulated_elsewhere(comp: Comp, lineage: Sequence[Entry]) -> list[tuple[Node, Entry]]:
    """Rule gradients/accumulated-elsewhere (context:39): the gradients of the comp a second accumulator would spoil.

    Each with the first routine of the lineage that accumulates into it; gradients by uid.
    """
    found = []
    for gradient in sorted(comp.accumulates, key=lambda node: node.uid):
        accumulators = [earlier for earlier in lineage if gradient in earlier.accumulates]
        if accumulators and not all(clause(gradient, comp, lineage) for clause in SHARING_CLAUSES):
            found.append((gradient, accumulators[0]))
    return found


def no_accumulator_zeroes(gradient: Node, comp: Comp, lineage: Sequence[Entry]) -> bool:
    """Neither of the two zeroes it: not the comp, and no routine that accumulates into it."""
    accumulators = [earlier for earlier in lineage if gradient in earlier.accumulates]
    return gradient not in comp.zeroes and not any(gradient in earlier.zeroes for earlier in accumulators)


def zeroed_somewhere(gradient: Node, comp: Comp, lineage: Sequence[Entry]) -> bool:
    """There is at least one zeroing of it in the lineage."""
    return any(gradient in earlier.zeroes for earlier in lineage)


def zeroing_accumulates_nothing(gradient: Node, comp: Comp, lineage: Sequence[Entry]) -> bool:
    """Every zeroing of it accumulates nothing into it."""
    return not any(gradient in earlier.accumulates for earlier in lineage if gradient in earlier.zeroes)


def zeroed_before_the_first(gradient: Node, comp: Comp, lineage: Sequence[Entry]) -> bool:
    """Every zeroing of it was compiled before the first accumulation into it."""
    zeroing = [at for at, earlier in enumerate(lineage) if gradient in earlier.zeroes]
    accumulating = [at for at, earlier in enumerate(lineage) if gradient in earlier.accumulates]
    return not zeroing or not accumulating or max(zeroing) < min(accumulating)


SHARING_CLAUSES = (no_accumulator_zeroes, zeroed_somewhere, zeroing_accumulates_nothing, zeroed_before_the_first)
"""What lets several routines of a lineage accumulate into one gradient: all of it (context:39)."""


def propagated_earlier(comp: Comp, lineage: Sequence[Entry]) -> list[tuple[Node, Entry]]:
    """Rule gradients/propagated-earlier (context:39): gradients of the comp whose backprop was compiled before it.

    Each with the first routine of the lineage that propagates from it; gradients by uid.
    """
    found = []
    for gradient in sorted(comp.accumulates, key=lambda node: node.uid):
        propagators = [earlier for earlier in lineage if earlier.propagates(gradient)]
        if propagators:
            found.append((gradient, propagators[0]))
    return found


def unowned(entry: Entry, lineage: Iterable[Entry]) -> list[Fragment]:
    """Rule run/fragment-not-owned (context:55, C2): what the routine requires and no routine of the lineage owns.

    ``lineage`` is the one that is looked at, the routine itself in it. Fragments in the order of ``requires``.
    """
    owned = {fragment for routine in lineage for fragment in routine.owned}
    return [fragment for fragment in entry.requires if fragment not in owned and not fragment.empty]


def zeroing_routine(gradient: Node, lineage: Iterable[Entry]) -> Entry | None:
    """The first routine of the lineage that zeroes the gradient: what gradients/without-reset names (context:61)."""
    return next((routine for routine in lineage if gradient in routine.zeroes), None)
