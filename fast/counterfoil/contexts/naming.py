"""The names of routines: given, or derived from the labels of their blocks (context:31)."""

from __future__ import annotations

import re

from counterfoil_spec.programs.assignments import Code, labels
from counterfoil_spec.refusals import refuse

_WORDS = re.compile(r"[A-Za-z0-9]+")


def derived_name(code: Code) -> str | None:
    """The labels of the outermost blocks joined by ``_then_``, each without what it shares with the one before.

    None where there is no label.
    """
    parts: list[str] = []
    previous: list[str] | None = None
    for label in labels(code):
        words = _WORDS.findall(label)
        if words == previous:
            continue
        own = words if previous is None else _without_common(words, previous)
        if own:
            parts.append("_".join(own))
        previous = words
    return "_then_".join(parts) or None


def name_of(given: str | None, code: Code) -> str:
    """The routine's name; refuses compile/unnamed."""
    name = derived_name(code) if given is None else given
    if name is None:
        raise refuse("compile/unnamed")
    return name


def _without_common(words: list[str], previous: list[str]) -> list[str]:
    """The words between the longest prefix and, of what is left, the longest suffix shared with ``previous``."""
    first = 0
    while first < len(words) and first < len(previous) and words[first] == previous[first]:
        first += 1
    last = 0
    while last < min(len(words), len(previous)) - first and words[-1 - last] == previous[-1 - last]:
        last += 1
    return words[first : len(words) - last]
