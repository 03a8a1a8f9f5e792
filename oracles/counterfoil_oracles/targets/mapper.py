"""From an implementation's own words to the rule they mean: patterns, the first that matches."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from counterfoil_oracles.environment import HarnessError
from counterfoil_spec.rules import registry


@dataclass(frozen=True)
class Pattern:
    """Words, and the rule they mean; only for that command where one is named."""

    words: re.Pattern[str]
    rule: str
    command: str | None = None


class Mapper:
    """Patterns in order."""

    def __init__(self, patterns: Sequence[Pattern] = ()) -> None:
        self.patterns = tuple(patterns)

    def rule(self, command: str, message: str) -> str | None:
        """The rule that a message means; None where no pattern matches."""
        for pattern in self.patterns:
            if pattern.command in (None, command) and pattern.words.search(message):
                return pattern.rule
        return None


def read(path: Path) -> Mapper:
    """A mapper file: TOML, ``[[map]]`` tables of ``pattern`` (a regular expression), ``rule`` and perhaps ``command``.

    HarnessError for a file that is none, a rule that does not exist, a pattern that is no regular expression.
    """
    try:
        tables = tomllib.loads(path.read_text()).get("map", [])
        return Mapper([_pattern(table) for table in tables])
    except (OSError, tomllib.TOMLDecodeError, KeyError, re.error, TypeError) as error:
        raise HarnessError(f"{path} is no mapper file: {error}") from error


def _pattern(table: dict[str, str]) -> Pattern:
    if table["rule"] not in registry():
        raise KeyError(f"there is no rule {table['rule']}")
    return Pattern(re.compile(table["pattern"]), table["rule"], table.get("command"))
