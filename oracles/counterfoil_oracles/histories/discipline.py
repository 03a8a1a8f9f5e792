"""A discipline for any order: what a caller may do beside running each routine once in compile order.

A cycle, a sequence of runs and outside writes, is *orderly* if

1. every gradient that it adds to or propagates from is reset in it (zeroed by a run, or written from outside) before
   that, and no reset of a gradient follows an addition to it; a routine that does both zeroes first;
2. the propagating routine runs at most once, runs if anything was added to H, and nothing is added to H after it;
3. gradients are read after the cycle.

Whatever was before, at the end of an orderly cycle each gradient it reset holds exactly what the routines that ran in
it contributed, each once; a routine that was left out is simply absent. No rule of compile but ownership is needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from counterfoil_oracles.histories.encoding import AH, Codes, P, adds, alphabet, zeroes
from counterfoil_oracles.histories.explorer import delivered

CONDITIONS = ("reset", "resets first", "propagated once", "propagated", "contributors first")
"""The parts of 1 and 2 that can be left out one by one."""


def breaches(codes: Codes, order: Sequence[int]) -> set[str]:
    """The conditions that the runs in that order do not meet."""
    found: set[str] = set()
    added, reset, propagated = [False, False], [False, False], False
    for code in (codes[number] for number in order):
        for gradient in (0, 1):
            found |= {"resets first"} if zeroes(code, gradient) and added[gradient] else set()
            reset[gradient] = reset[gradient] or zeroes(code, gradient)
            uses = adds(code, gradient) or bool(gradient == 0 and code & P)
            found |= {"reset"} if uses and not reset[gradient] else set()
            added[gradient] = added[gradient] or adds(code, gradient)
        found |= {"propagated once"} if code & P and propagated else set()
        found |= {"contributors first"} if code & AH and propagated else set()
        propagated = propagated or bool(code & P)
    return found | ({"propagated"} if added[0] and not propagated else set())


def exact(codes: Codes, order: Sequence[int], kinds: int) -> bool:
    """Whether, from those kinds of tokens, each gradient that the runs reset holds exactly what they contributed."""
    reset = [any(zeroes(codes[number], gradient) for number in order) for gradient in (0, 1)]
    return all(right or not was for right, was in zip(delivered(codes, order, kinds), reset, strict=True))


def cycles(letters: Collection[int], length: int) -> Iterator[Codes]:
    """Every sequence of so many runs in which at most one routine propagates."""
    for codes in itertools.product(letters, repeat=length):
        if len({code for code in codes if code & P}) <= 1:
            yield codes


def wrong(length: int, left_out: str = "") -> Iterator[tuple[Codes, int]]:
    """The orderly cycles of so many runs that are not exact, with what was there before; the conditions but one.

    Every state is tried, reachable or not: outside writes before the cycle are states too.
    """
    for codes in cycles(alphabet(1), length):
        order = range(length)
        if breaches(codes, order) <= {left_out}:
            yield from ((codes, kinds) for kinds in range(8) if not exact(codes, order, kinds))
