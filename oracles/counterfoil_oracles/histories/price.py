"""The price of the rules: what they refuse although running it once each, in compile order, would be right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from counterfoil_oracles.histories.encoding import AH, DOUBLED, START, Codes, P, alphabet, lineage_of
from counterfoil_oracles.histories.explorer import cycle_is_accepted, delivers
from counterfoil_oracles.histories.tables import compile_faults


@dataclass(frozen=True)
class Refused:
    """A lineage whose last routine is refused, by those clauses, and whose cycles in compile order are all right.

    ``repeats``: whether a second cycle is accepted too; otherwise the counts end it, rightly.
    """

    codes: Codes
    clauses: frozenset[str]
    repeats: bool

    def __str__(self) -> str:
        once = "" if self.repeats else ", once each"
        return f"{' '.join(map(str, lineage_of(self.codes)))}{once}"


def right_cycles(codes: Codes) -> int:
    """How many cycles from the start are accepted and deliver, at most 2 (the states after it repeat); 0: a wrong one.

    A cycle that is refused by the counts ends the list; that is no fault.
    """
    state, right = START, 0
    while right < 2:
        after = cycle_is_accepted(codes, state)
        if after is None:
            return right
        if after == DOUBLED or not delivers(codes, range(len(codes)), state & 7):
            return 0
        state, right = after, right + 1
    return right


def _has_a_point(codes: Codes) -> bool:
    return not any(code & P for code in codes) or any(code & AH for code in codes)


def price(longest: int) -> Iterator[Refused]:
    """Every such lineage of at most so many routines, smallest first: by routines, then by flags.

    Lineages that propagate H and contribute nothing to it are left out: there is nothing to get right.
    """
    letters = alphabet(1)
    accepted: list[Codes] = [()]
    for _ in range(longest):
        refused, following = [], []
        for path, code in itertools.product(accepted, letters):
            faults = compile_faults(code, path)
            if not faults:
                following.append((*path, code))
            elif _has_a_point((*path, code)) and (cycles := right_cycles((*path, code))):
                refused.append(Refused((*path, code), faults, cycles > 1))
        yield from sorted(refused, key=lambda each: (sum(code.bit_count() for code in each.codes), each.codes))
        accepted = following
