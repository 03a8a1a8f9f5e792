"""The theorems behind the rules: statements in words, with encodings that z3 decides.

This package is the only part of the words that needs z3 (the ``check`` extra); nothing else here imports it.
``counterfoil prove`` puts every obligation to z3. What is proved is the mathematics the rules rest on; that the code
computes it is tested on the code, the C core's bounds with an 8-bit index on every input.
"""

from __future__ import annotations

from typing import Final

from counterfoil_spec.theorems import (
    any_order,
    bitcast,
    bounds,
    delivery,
    distinct,
    door,
    histories,
    moves,
    overlap,
    placement,
    ranges,
    reshape,
    spans,
)
from counterfoil_spec.theorems.induction import Induction, Lemma, Obligation, Step, Theorem, Twin

THEOREMS: Final[tuple[Theorem, ...]] = (
    *spans.THEOREMS,
    *moves.THEOREMS,
    *reshape.THEOREMS,
    *distinct.THEOREMS,
    *bitcast.THEOREMS,
    *bounds.THEOREMS,
    *ranges.THEOREMS,
    *placement.THEOREMS,
    *overlap.THEOREMS,
    *door.THEOREMS,
    *histories.THEOREMS,
    *delivery.THEOREMS,
    *any_order.THEOREMS,
)

__all__ = ["THEOREMS", "Induction", "Lemma", "Obligation", "Step", "Theorem", "Twin"]
