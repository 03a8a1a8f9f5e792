"""Is each clause needed? What is accepted without it and breaks a theorem, or that nothing explored does."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from counterfoil_oracles.histories.encoding import Codes, lineage_of
from counterfoil_oracles.histories.explorer import Word, lineages, reachable, resets_stay_ahead, undelivered
from counterfoil_oracles.histories.model import CLAUSES

NO_DOUBLE, DELIVERY = "T2", "T3"

NEEDED: Final = {
    "own": NO_DOUBLE, "c1": DELIVERY, "c4": DELIVERY, "10b": DELIVERY, "req": DELIVERY, "cnt": NO_DOUBLE
}  # fmt: skip
"""The clauses that a theorem needs, and which; the others are redundant given these (histories/delivery says so for
every lineage). They stay: they are OCANNL's rules."""


@dataclass(frozen=True)
class Witness:
    """An accepted history that a theorem forbids; for delivery one cycle in compile order follows ``history``."""

    broken: str
    codes: Codes
    history: tuple[Word, ...]

    @property
    def size(self) -> tuple[int, int, int]:
        """Events, then flags, then routines: what shorter means."""
        cycle = len(self.codes) if self.broken == DELIVERY else 0
        return len(self.history) + cycle, sum(code.bit_count() for code in self.codes), len(self.codes)

    def __str__(self) -> str:
        names = " ".join(map(str, lineage_of(self.codes)))
        before = f" after {', '.join(map(str, self.history))}" if self.history else ""
        how = f"run {', '.join(map(str, self.history))}" if self.broken == NO_DOUBLE else f"once in order{before}"
        return f"{names}: {how}"


@dataclass(frozen=True)
class Verdict:
    """What became of dropping clauses: the shortest witness per theorem broken, and how many lineages were walked."""

    dropped: tuple[str, ...]
    witnesses: tuple[Witness, ...]
    lineages: int

    @property
    def redundant(self) -> bool:
        """Whether no lineage of the explored sizes breaks a theorem."""
        return not self.witnesses


def witnesses(codes: Codes, dropped: Collection[str]) -> Iterator[Witness]:
    """What the lineage, accepted without those clauses, breaks of T2 and T3 under their hypotheses (allowances 1)."""
    reached = reachable(codes, dropped)
    if reached.doubled:
        yield Witness(NO_DOUBLE, codes, tuple(reached.doubling()))
    if resets_stay_ahead(codes):
        state = undelivered(codes, reached.states, dropped)
        if state is not None:
            yield Witness(DELIVERY, codes, tuple(reached.history_to(state)))


@functools.cache
def verdict(dropped: tuple[str, ...], longest: int) -> Verdict:
    """Drop those clauses, and look at every lineage of at most so many routines."""
    shortest: dict[str, Witness] = {}
    walked = 0
    for length in range(1, longest + 1):
        for codes in lineages(length, 1, dropped):
            walked += 1
            for found in witnesses(codes, dropped):
                if found.broken not in shortest or found.size < shortest[found.broken].size:
                    shortest[found.broken] = found
    return Verdict(dropped, tuple(shortest[broken] for broken in sorted(shortest)), walked)


def verdicts(longest: int) -> list[Verdict]:
    """Each clause dropped alone, then all the redundant ones at once."""
    redundant = tuple(clause for clause in CLAUSES if clause not in NEEDED)
    return [*(verdict((clause,), longest) for clause in CLAUSES), verdict(redundant, longest)]
