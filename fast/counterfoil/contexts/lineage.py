"""The rules over a compilation lineage, decided when a comp is compiled: what it may not own, accumulate or propagate.

A lineage is a chain of links, each knowing what all before it did to a gradient or a fragment, so that a compile looks
up what it asks for instead of searching the routines again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil_spec.programs.comps import Comp, Fragment
from counterfoil_spec.programs.nodes import Node


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A routine of a lineage: its name, its id, and the comp it was compiled from."""

    name: str
    routine_id: int
    comp: Comp


@dataclass(frozen=True, slots=True, eq=False)
class _Gradient:
    """What a lineage did to one gradient so far, as routines in compile order."""

    accumulators: tuple[Entry, ...] = ()
    zeroers: tuple[Entry, ...] = ()
    propagator: Entry | None = None
    shareable: bool = True
    """Every zeroing accumulated nothing and came before the first accumulation."""

    def after(self, entry: Entry, accumulates: bool, zeroes: bool, propagates: bool) -> _Gradient:
        """What is known of the gradient once the routine is compiled."""
        return _Gradient(
            (*self.accumulators, entry) if accumulates else self.accumulators,
            (*self.zeroers, entry) if zeroes else self.zeroers,
            entry if propagates and self.propagator is None else self.propagator,
            self.shareable and not (zeroes and (accumulates or self.accumulators)),
        )

    def admits(self, zeroes: bool) -> bool:
        """Whether one more routine may accumulate, itself zeroing the gradient or not (context:39)."""
        return not self.accumulators or (self.shareable and bool(self.zeroers) and not zeroes)


_UNTOUCHED: Final = _Gradient()


class Lineage(Sequence[Entry]):
    """The routines compiled on the way from the root, in order. Immutable."""

    __slots__ = ("_entries", "_gradients", "_owners")

    def __init__(
        self,
        entries: tuple[Entry, ...] = (),
        owners: dict[Fragment, tuple[Entry, ...]] | None = None,
        gradients: dict[Node, _Gradient] | None = None,
    ) -> None:
        self._entries = entries
        self._owners = owners or {}
        self._gradients = gradients or {}

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, position):  # type: ignore[no-untyped-def]
        return self._entries[position]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def has(self, routine_id: int) -> bool:
        """Whether the routine is of this lineage."""
        return any(entry.routine_id == routine_id for entry in self._entries)

    def owns(self, fragment: Fragment) -> bool:
        """Whether some routine owns the fragment."""
        return fragment in self._owners

    def then(self, entry: Entry) -> Lineage:
        """The lineage with one more routine."""
        comp = entry.comp
        owners, gradients = dict(self._owners), dict(self._gradients)
        for fragment in dict.fromkeys(comp.owned):
            owners[fragment] = (*owners.get(fragment, ()), entry)
        accumulated, zeroed, propagated = set(comp.accumulates), set(comp.zeroes), _propagated(comp)
        for gradient in accumulated | zeroed | propagated:
            known = gradients.get(gradient, _UNTOUCHED)
            gradients[gradient] = known.after(
                entry, gradient in accumulated, gradient in zeroed, gradient in propagated
            )
        return Lineage((*self._entries, entry), owners, gradients)

    def owned_twice(self, comp: Comp, own_name: str) -> list[tuple[str, str]]:
        """compile/owned-twice (context:37, C2): (fragment, routine that has it too), the comp itself last."""
        pairs: list[tuple[str, str]] = []
        seen: dict[Fragment, int] = {}
        for fragment in comp.owned:
            seen[fragment] = seen.get(fragment, 0) + 1
        for fragment, times in seen.items():
            pairs += [(str(fragment), owner.name) for owner in self._owners.get(fragment, ())]
            if times > 1:
                pairs.append((str(fragment), own_name))
        return pairs

    def accumulated_elsewhere(self, comp: Comp) -> list[tuple[Node, Entry]]:
        """gradients/accumulated-elsewhere (context:39): gradients a second accumulator would spoil, and the first."""
        zeroed = set(comp.zeroes)
        found = ((gradient, self._gradients.get(gradient, _UNTOUCHED)) for gradient in comp.accumulates)
        return [(gradient, known.accumulators[0]) for gradient, known in found if not known.admits(gradient in zeroed)]

    def propagated_earlier(self, comp: Comp) -> list[tuple[Node, Entry]]:
        """gradients/propagated-earlier (context:39): gradients whose backprop was compiled, and by whom first."""
        found = ((gradient, self._gradients.get(gradient, _UNTOUCHED).propagator) for gradient in comp.accumulates)
        return [(gradient, entry) for gradient, entry in found if entry is not None]

    def unowned(self, comp: Comp) -> list[Fragment]:
        """run/fragment-not-owned (context:55): what a routine of that comp requires and nobody here owns."""
        return [fragment for fragment in comp.requires if not fragment.empty and fragment not in self._owners]

    def zeroer(self, gradient: Node) -> Entry | None:
        """The first routine that zeroes the gradient (context:61)."""
        zeroers = self._gradients.get(gradient, _UNTOUCHED).zeroers
        return zeroers[0] if zeroers else None


def _propagated(comp: Comp) -> set[Node]:
    return {
        fragment.gradient
        for fragment in comp.owned
        if fragment.kind == "backprop" and fragment.gradient is not None and not fragment.empty
    }
