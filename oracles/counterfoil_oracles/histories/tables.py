"""What the explorer accepts: tables of what the reference's own rule functions say, each asked once and kept.

The functions of ``counterfoil_reference``'s ``lineage``, ``frontier`` and ``history`` are called on comps made of
words (``model``). What they say is kept by the routines asked about, in the explorer's integers: of compiling, the
clauses that refuse a routine after a path; of running, what it requires, what it depends on, with which counts it is
overdrawn, and what a run and an outside write make of the counts. Nothing of a rule is said here a second time.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from counterfoil_oracles.histories import model
from counterfoil_oracles.histories.encoding import (
    COUNTS,
    DOUBLED,
    EXECUTED,
    KINDS,
    MAX,
    ZH,
    ZW,
    Code,
    Codes,
    alphabet,
    decode,
    lineage_of,
    once,
    tokens_after,
)
from counterfoil_oracles.histories.model import DEPENDENCIES, GRADIENTS, REQUIRED
from counterfoil_reference import history, lineage
from counterfoil_reference.frontier import Frontier, unmet

_MOST: Final = 3
"""Where the two bits of a count stay: what is allowed is less, so it is refused there as it would be above."""

_OWN, _OTHER = 0, 1
"""Ids of routines that ``history`` is asked about: the one that runs, and any other."""

# --- compile ---------------------------------------------------------------------------------------------------------


@functools.cache
def _faults_after(before: Codes) -> Mapping[Code, frozenset[str]]:
    """For every routine the clauses that refuse it after that path."""
    path = model.entries(lineage_of(before))
    return {code: frozenset(model.compile_faults(decode(code), path)) for code in alphabet(1)}


def compile_faults(code: Code, before: Codes) -> frozenset[str]:
    """The clauses that refuse the routine after that lineage."""
    (plain,) = once((code,))
    return _faults_after(once(before))[plain]


# --- what runs wait for ----------------------------------------------------------------------------------------------


@functools.cache
def _ordering(path: Codes) -> tuple[Frontier, tuple[frozenset[int], ...]]:
    """The compile frontier behind a path, and the dependencies of each of its routines."""
    if not path:
        return Frontier(), ()
    before, found = _ordering(path[:-1])
    reads, writes = model.reads_and_writes(decode(path[-1]))
    needed = before.dependencies(reads, writes)
    return before.after(len(path) - 1, reads, writes), (*found, needed)


def dependencies(codes: Codes) -> tuple[int, ...]:
    """For each routine of a path the set (as bits) of those without which run/dependencies refuses it."""
    _, found = _ordering(once(codes))
    return tuple(sum(1 << at for at in unmet(needed, ())) for needed in found)


@functools.cache
def unowned(codes: Codes) -> tuple[bool, ...]:
    """For each routine of a path whether run/fragment-not-owned refuses it."""
    path = model.entries(lineage_of(codes))
    return tuple(bool(lineage.unowned(entry, path)) for entry in path)


# --- counts ----------------------------------------------------------------------------------------------------------
# The counts of one routine are four bits: of H, then of W.


def _written_out(number: int, counts: int) -> dict[tuple[int, object], int]:
    """A routine's counts as ``history`` keeps them: nothing where it has not run."""
    pairs = zip(GRADIENTS, (counts & _MOST, counts >> 2), strict=True)
    return {(number, gradient): count for gradient, count in pairs if count}


def _packed(number: int, counts: history.Counts) -> int:
    of_h, of_w = (min(counts.get((number, gradient), 0), _MOST) for gradient in GRADIENTS)
    return of_h | of_w << 2


def _location(gradient: object) -> object:
    """One buffer per gradient, which stands for its location."""
    return gradient


@dataclass(frozen=True)
class Counting:
    """What counts mean for a routine and become by it, for each of the sixteen it can have.

    ``others``: what a run makes of the counts of another routine that has 3 and 3: a mask.
    """

    overdrawn: tuple[bool, ...]
    after: tuple[int, ...]
    others: int


@functools.cache
def counting(code: Code) -> Counting:
    """The table of gradients/without-reset and of what a run counts."""
    entry = model.entry_of(decode(code), _OWN)
    states = [_written_out(_OWN, counts) for counts in range(16)]
    refused = tuple(bool(history.overdrawn(entry, counts, _location)) for counts in states)
    after = tuple(_packed(_OWN, history.counted(entry, counts, _location)) for counts in states)
    others = _packed(_OTHER, history.counted(entry, _written_out(_OTHER, 15), _location))
    return Counting(refused, after, others)


@functools.cache
def _kept(of_another: int) -> int:
    """A mask for whole states from one for the counts of a single routine."""
    return ~sum((15 & ~of_another) << (COUNTS + 4 * at) for at in range(MAX))


@functools.cache
def _kept_by_write(gradient: int) -> int:
    """What an outside write keeps of the counts: a mask for whole states."""
    reset = history.reset(_written_out(_OTHER, 15), GRADIENTS[gradient])
    return _kept(_packed(_OTHER, reset))


def extern(state: int, gradient: int) -> int:
    """The state after a write from outside of H (0) or W (1)."""
    kinds = tokens_after(ZW if gradient else ZH, state & KINDS)
    return state & _kept_by_write(gradient) & ~KINDS | kinds


# --- runs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """What one run asks of a state and does to it, precomputed for its place in a path."""

    code: Code
    unowned: bool
    needs: int
    executed: int
    shift: int
    counting: Counting

    def refused(self, state: int) -> bool:
        """Whether a rule that was not dropped refuses it there."""
        if self.unowned or self.needs & ~state:
            return True
        return self.counting.overdrawn[state >> self.shift & 15]

    def after(self, state: int) -> int:
        """The state after the run, DOUBLED if some token would be in W twice."""
        kinds = tokens_after(self.code, state & KINDS)
        if kinds == DOUBLED:
            return DOUBLED
        own = self.counting.after[state >> self.shift & 15]
        kept = state & _kept(self.counting.others) & ~(15 << self.shift) & ~KINDS
        return kept | self.executed | own << self.shift | kinds


_NEVER: Final = (False,) * 16


@functools.lru_cache(maxsize=64)
def moves(codes: Codes, dropped: Collection[str] = frozenset()) -> tuple[Move, ...]:
    """One move per routine of a path of at most MAX, which the dropped rules do not refuse."""
    needed, missing = dependencies(codes), unowned(codes)
    found = []
    for at, code in enumerate(codes):
        table = counting(code)
        if model.COUNT in dropped:
            table = Counting(_NEVER, table.after, table.others)
        found.append(
            Move(
                code,
                unowned=REQUIRED not in dropped and missing[at],
                needs=0 if DEPENDENCIES in dropped else needed[at] << EXECUTED,
                executed=1 << (EXECUTED + at),
                shift=COUNTS + 4 * at,
                counting=table,
            )
        )
    return tuple(found)
