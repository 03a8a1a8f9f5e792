"""The names of routines: given, or derived from the labels of their blocks (context:31)."""

from __future__ import annotations

import re

from counterfoil_spec.programs.assignments import Code, labels
from counterfoil_spec.refusals import refuse


def derived_name(code: Code) -> str | None:
    """The labels of the outermost blocks joined, or None where there is none.

    Of equal labels in a row one is kept; of each next one the words it begins or ends with as the one before did.
    """
    words = [cleaned(label) for label in labels(code)]
    kept = [label for at, label in enumerate(words) if at == 0 or label != words[at - 1]]
    parts = [shortened(label, kept[at - 1] if at else []) for at, label in enumerate(kept)]
    return "_then_".join("_".join(part) for part in parts if part) or None


def cleaned(label: str) -> list[str]:
    """The label's words: runs of letters and digits."""
    return re.findall(r"[A-Za-z0-9]+", label)


def shortened(label: list[str], previous: list[str]) -> list[str]:
    """The words without the longest beginning, then the longest end, that the label before has too."""
    most = min(len(label), len(previous))
    begin = next((n for n in range(most) if label[n] != previous[n]), most)
    most -= begin
    end = next((n for n in range(most) if label[-1 - n] != previous[-1 - n]), most)
    return label[begin : len(label) - end]


def name_of(given: str | None, code: Code) -> str:
    """The routine's name; refuses compile/unnamed."""
    name = given if given is not None else derived_name(code)
    if name is None:
        raise refuse("compile/unnamed")
    return name
