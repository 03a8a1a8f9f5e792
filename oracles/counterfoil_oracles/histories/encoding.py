"""The model in small integers, for the explorer: a routine is a set of bits, a state an integer.

Of the tokens only what the theorems ask is kept: whether there is one in H alone, in W alone, in both. Tokens alike in
that are alike for all that can still happen, so nothing is lost; tests hold it beside the bags. What is refused is not
said here: ``tables`` has it from the reference's rule functions.
"""

from __future__ import annotations

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


def once(codes: Codes) -> Codes:
    """The routines with every allowance 1: what the rules of compile, which look at no allowance, are asked of."""
    return tuple(code & ~(KH2 | KW2) for code in codes)


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


# A state: bits 0 to 2 the kinds of tokens there are, then the executed set, then four bits per routine: its counts of
# H and of W, which stay at 3 (no allowance here is above 2). MAX routines fit.
MAX: Final = 6
ONLY_H, ONLY_W, BOTH = 1, 2, 4
KINDS: Final = 7
EXECUTED: Final = 3
COUNTS: Final = EXECUTED + MAX
START: Final = 0
DOUBLED: Final = -1
"""What a run makes of a state in which it would put a token into a bag that has it."""


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
