"""The model in small integers, for the explorer: the same answers as ``model``, which tests compare on every lineage.

A routine is a set of bits, a state an integer. Of the tokens only what the theorems ask is kept: whether there is one
in H alone, in W alone, in both. Tokens alike in that are alike for all that can still happen, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from counterfoil_oracles.histories.model import Lineage, Routine, W

ZH, AH, P, ZW, AW, KH2, KW2 = (1 << bit for bit in range(7))
_NAMES: Final = (("zH", ZH), ("aH", AH), ("P", P), ("zW", ZW), ("aW", AW))

Code = int
Codes = tuple[Code, ...]


def encode(routine: Routine) -> Code:
    """The bits of a routine; allowances 1 and 2 are told apart where they matter."""
    bits = sum(bit for name, bit in _NAMES if getattr(routine, name))
    bits |= KH2 if routine.kH == 2 and routine.aH and not routine.zH else 0
    return bits | (KW2 if routine.kW == 2 and routine.accumulates(W) and not routine.zW else 0)


def decode(code: Code) -> Routine:
    """The routine of those bits."""
    flags = {name: bool(code & bit) for name, bit in _NAMES}
    return Routine(**flags, kH=2 if code & KH2 else 1, kW=2 if code & KW2 else 1)


def lineage_of(codes: Codes) -> Lineage:
    """The routines of those codes."""
    return tuple(map(decode, codes))


def alphabet(greatest_allowance: int) -> list[Code]:
    """Every routine that does something, with allowances up to 1 or 2, those without effect left out."""
    codes = []
    for flags in range(1, 32):
        options_h = (0, KH2) if greatest_allowance > 1 and flags & AH and not flags & ZH else (0,)
        options_w = (0, KW2) if greatest_allowance > 1 and flags & (AW | P) and not flags & ZW else (0,)
        codes += [flags | h | w for h in options_h for w in options_w]
    return codes


def adds(code: Code, gradient: int) -> bool:
    """Whether it accumulates into gradient 0 (H) or 1 (W)."""
    return bool(code & (AW | P if gradient else AH))


def zeroes(code: Code, gradient: int) -> bool:
    """Whether it zeroes the gradient."""
    return bool(code & (ZW if gradient else ZH))


def compile_faults(code: Code, before: Sequence[Code]) -> set[str]:
    """The clauses that refuse the routine after that lineage: ``model.compile_faults``."""
    faults = {"own"} if code & P and any(each & P for each in before) else set()
    for gradient in (0, 1):
        adders = [at for at, each in enumerate(before) if adds(each, gradient)]
        if not adds(code, gradient) or not adders:
            continue
        zeroers = [at for at, each in enumerate(before) if zeroes(each, gradient)]
        faults |= {"c1"} if zeroes(code, gradient) or set(adders) & set(zeroers) else set()
        faults |= set() if zeroers else {"c2"}
        faults |= {"c3"} if set(adders) & set(zeroers) else set()
        faults |= {"c4"} if zeroers and zeroers[-1] >= adders[0] else set()
    return faults | ({"10b"} if code & AH and any(each & P for each in before) else set())


def dependencies(codes: Codes) -> tuple[int, ...]:
    """For each routine of a path, the set (as bits) of those it depends on."""
    writer: list[int] = [0, 0]
    readers: list[int] = [0, 0]
    found = []
    for at, code in enumerate(codes):
        needed = 0
        reads = [adds(code, g) and not zeroes(code, g) for g in (0, 1)]
        reads[0] = reads[0] or bool(code & P and not code & ZH)
        writes = [adds(code, g) or zeroes(code, g) for g in (0, 1)]
        for g in (0, 1):
            needed |= (writer[g] if reads[g] or writes[g] else 0) | (readers[g] if writes[g] else 0)
            if writes[g]:
                writer[g], readers[g] = 1 << at, 0
            elif reads[g]:
                readers[g] |= 1 << at
        found.append(needed)
    return tuple(found)


# A state: bits 0 to 2 the kinds of tokens there are, then the executed set, then two bits of count per routine and
# gradient. MAX routines fit.
MAX: Final = 6
ONLY_H, ONLY_W, BOTH = 1, 2, 4
_EXECUTED: Final = 3
_COUNTS: Final = _EXECUTED + MAX
START: Final = 0
DOUBLED: Final = -1
"""What a run makes of a state in which it would put a token into a bag that has it."""


@dataclass(frozen=True)
class Move:
    """What one run asks of a state and does to it, precomputed for its place in a path."""

    executed: int
    needs: int
    limits: tuple[tuple[int, int], ...]
    kept: int
    gains: tuple[int, ...]
    code: Code

    def refused(self, state: int, dropped_dependencies: bool, dropped_count: bool) -> bool:
        """Whether run/dependencies or gradients/without-reset refuse it there."""
        if not dropped_dependencies and self.needs & ~state:
            return True
        return not dropped_count and any((state >> shift) & 3 >= limit for shift, limit in self.limits)

    def after(self, state: int) -> int:
        """The state after the run, DOUBLED if some token would be in W twice."""
        kinds = tokens_after(self.code, state & 7)
        if kinds == DOUBLED:
            return DOUBLED
        state = (state & self.kept | self.executed) & ~7 | kinds
        for shift in self.gains:
            state += 1 << shift if (state >> shift) & 3 < 3 else 0
        return state


def tokens_after(code: Code, kinds: int) -> int:
    """The kinds of tokens there are after a run; DOUBLED if one would be in W twice."""
    if code & ZH:
        kinds = kinds & ONLY_W | (ONLY_W if kinds & BOTH else 0)
    if code & ZW:
        kinds = kinds & ONLY_H | (ONLY_H if kinds & BOTH else 0)
    kinds |= ONLY_H if code & AH else 0
    if code & P:
        if kinds & BOTH:
            return DOUBLED
        kinds = kinds & ONLY_W | (BOTH if kinds & ONLY_H else 0)
    return kinds | (ONLY_W if code & AW else 0)


def _shift(at: int, gradient: int) -> int:
    return _COUNTS + 2 * (gradient * MAX + at)


def _counts_kept(gradients: Sequence[int]) -> int:
    """A mask that forgets every count of those gradients."""
    forgotten = sum(3 << _shift(at, gradient) for gradient in gradients for at in range(MAX))
    return ~forgotten


def moves(codes: Codes) -> list[Move]:
    """One move per routine of a path of at most MAX."""
    needed = dependencies(codes)
    found = []
    for at, code in enumerate(codes):
        unreset = [g for g in (0, 1) if adds(code, g) and not zeroes(code, g)]
        limits = tuple((_shift(at, g), 2 if code & (KW2 if g else KH2) else 1) for g in unreset)
        kept = _counts_kept([g for g in (0, 1) if zeroes(code, g)])
        gains = tuple(_shift(at, g) for g in unreset)
        found.append(Move(1 << (_EXECUTED + at), needed[at] << _EXECUTED, limits, kept, gains, code))
    return found


def extern(state: int, gradient: int) -> int:
    """The state after a write from outside of H (0) or W (1)."""
    kinds = tokens_after(ZW if gradient else ZH, state & 7)
    return state & _counts_kept([gradient]) & ~7 | kinds


def required(codes: Codes) -> bool:
    """Whether run/fragment-not-owned refuses no routine of the path: a contributor to H needs a propagator."""
    return not any(code & AH for code in codes) or any(code & P for code in codes)
