"""Defects of placement: which nodes a routine reads, writes, or computes again."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

_COMPILE: Final = "fast/counterfoil/compile/"

PLACEMENT: Final = (
    Defect(
        "placement/visits",
        _COMPILE + "place.py",
        "if self._accesses.visits(node, MAX_VISITS) > MAX_VISITS:",
        "if self._accesses.visits(node, MAX_VISITS) >= MAX_VISITS:",
        "a value that is read once is not inlined",
    ),
    Defect(
        "placement/setters",
        _COMPILE + "lower.py",
        "before = () if step.overwrites else self.definitions.get(step.target, ())",
        "before = self.definitions.get(step.target, ())",
        "a definition keeps the setters that a later one overwrote",
    ),
    Defect(
        "placement/reads",
        _COMPILE + "coverage.py",
        "        if node not in self._definite and self._has_buffer(node):\n",
        "        if self._has_buffer(node):\n",
        "a routine counts as reading what it wrote before",
    ),
)
