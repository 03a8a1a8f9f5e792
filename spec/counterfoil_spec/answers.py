"""What a kernel or the door answers (codes as the C enum's)."""

from __future__ import annotations

import enum


class Answer(enum.IntEnum):
    """The ten answers. Everything but DONE and DECLINED is a refusal, given before any write."""

    DONE = 0
    DECLINED = 1
    WRONG_DTYPE = 2
    DEAD_BUFFER = 3
    OFF_HOST = 4
    HELD_EXCLUSIVE = 5
    READ_ONLY = 6
    REPEATED_ELEMENTS = 7
    OVERLAPPING = 8
    SHAPE_MISMATCH = 9

    @property
    def refuses(self) -> bool:
        """Whether the answer says that something is wrong with an operand."""
        return self > Answer.DECLINED

    @property
    def rule(self) -> str:
        """The id of the rule the answer stands for."""
        return "door/" + self.name.lower().replace("_", "-")


DOOR_ORDER: tuple[Answer, ...] = (
    Answer.DEAD_BUFFER,
    Answer.HELD_EXCLUSIVE,
    Answer.READ_ONLY,
    Answer.WRONG_DTYPE,
    Answer.OFF_HOST,
    Answer.REPEATED_ELEMENTS,
    Answer.OVERLAPPING,
    Answer.SHAPE_MISMATCH,
    Answer.DECLINED,
)
"""A3: the first that applies is the answer. The first three are asked operand by operand, written ones first."""
