"""What a planted defect is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """One change of one source file, as data.

    ``id`` is ``group/name``; ``file`` is the path from the root of the checkout. ``right`` stands in it exactly once
    and becomes ``wrong``. ``breaks`` says in a sentence what no longer holds. ``mode``: the emulated driver's mode that
    shows it, None where CUDA devices play no part.
    """

    id: str
    file: str
    right: str
    wrong: str
    breaks: str
    mode: str | None = None

    @property
    def group(self) -> str:
        """The kind of mistake: what stands before the slash of the id."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The id as a file's name."""
        return self.id.replace("/", "-")

    def applied(self, text: str) -> str:
        """The file's text with the defect; ValueError where ``right`` does not stand in it exactly once."""
        if text.count(self.right) != 1:
            raise ValueError(f"{self.id}: {self.file} has {text.count(self.right)} times, not once: {self.right!r}")
        return text.replace(self.right, self.wrong)
