"""Defects of the reference: the half that is obviously right, made wrong."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.mutants.defect import Defect

REFERENCE: Final = (
    Defect(
        "reference/ties",
        "reference/counterfoil_reference/numbers.py",
        "rest == half != 0 and kept & 1",
        "rest == half != 0",
        "a value halfway between two is rounded away from zero",
    ),
    Defect(
        "reference/neighbours",
        "reference/counterfoil_reference/elements.py",
        "(word & ~mask | code << low)",
        "(code << low)",
        "storing a sub-byte element clears the others of its byte",
    ),
    Defect(
        "reference/phase",
        "reference/counterfoil_reference/reach.py",
        "1)) << phase",
        "1))",
        "the bytes of a sub-byte array are counted as if it began on a byte",
    ),
    Defect(
        "reference/writes-follow-writes",
        "reference/counterfoil_reference/timeline.py",
        "            return list(self.uses.items())",
        "            return [] if self.last_write is None else [self.last_write]",
        "a write follows the last write only, not every use",
    ),
    Defect(
        "reference/sole-claim",
        "reference/counterfoil_reference/claims.py",
        "not memory.exported and memory.claims == 1",
        "not memory.exported",
        "memory that others claim too is held exclusive",
    ),
    Defect(
        "reference/first-operand",
        "reference/counterfoil_reference/door.py",
        "    for position, array in enumerate((*written, *read)):\n        if array.buffer.dead is not None:",
        "    for position, array in enumerate((*read, *written)):\n        if array.buffer.dead is not None:",
        "the door claims what is read before what is written",
    ),
    Defect(
        "reference/window-count",
        "reference/counterfoil_reference/moves.py",
        "(window.size - 1)) // window.step + 1",
        "(window.size - 1)) // window.step",
        "the last window of an axis is missing",
    ),
)
