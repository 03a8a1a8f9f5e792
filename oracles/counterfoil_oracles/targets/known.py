"""Known differences: a file of exact cases, which cannot go stale.

TOML: ``[[known]]`` tables of ``case``, ``rule`` (absent where the finding concerns none), ``outcome`` (the kind of the
finding) and ``reason``. An entry that is met and fails otherwise, or that a whole check never meets, fails the run.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.targets.campaign import Found, Report

UNEXPLAINED = "not explained yet"


@dataclass(frozen=True)
class Known:
    """One known difference."""

    case: str
    rule: str | None
    outcome: str
    reason: str

    @property
    def key(self) -> tuple[str, str | None]:
        """What it is met by."""
        return self.case, self.rule


@dataclass(frozen=True)
class Verdicts:
    """What the file says of a report: new findings, entries whose outcome is another now, entries never met."""

    new: list[Found]
    changed: list[tuple[Known, Found]]
    stale: list[Known]
    met: list[Known]

    @property
    def fails(self) -> bool:
        """Whether the run fails."""
        return bool(self.new or self.changed or self.stale)


def read(path: Path) -> list[Known]:
    """The entries of a file; HarnessError where it is none, or names a case twice."""
    try:
        tables = tomllib.loads(path.read_text()).get("known", [])
        entries = [Known(each["case"], each.get("rule"), each["outcome"], each["reason"]) for each in tables]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise HarnessError(f"{path} is no file of known differences: {error}") from error
    if len({entry.key for entry in entries}) != len(entries):
        raise HarnessError(f"{path} names a case twice")
    return entries


def judge(report: Report, entries: Sequence[Known], whole: bool) -> Verdicts:
    """Hold a report against the entries; ``whole``: the check was of everything, so what it did not meet is stale."""
    by_key = {entry.key: entry for entry in entries}
    new = [found for key, found in report.found.items() if key not in by_key]
    both = [(by_key[key], found) for key, found in report.found.items() if key in by_key]
    changed = [(entry, found) for entry, found in both if outcome_of(found) != entry.outcome]
    met = [entry for entry, found in both if outcome_of(found) == entry.outcome]
    stale = [entry for entry in entries if entry.key not in report.found] if whole else []
    return Verdicts(new, changed, stale, met)


def outcome_of(found: Found) -> str:
    """What an entry expects of a finding: its kind, which a shrunk program does not change."""
    return found.finding.kind.value


def updated(report: Report, entries: Sequence[Known]) -> list[Known]:
    """The entries that would let this report pass; reasons are kept."""
    reasons = {entry.key: entry.reason for entry in entries}
    return [
        Known(case, rule, outcome_of(found), reasons.get((case, rule), UNEXPLAINED))
        for (case, rule), found in sorted(report.found.items(), key=lambda each: (each[0][0], each[0][1] or ""))
    ]


def write(path: Path, entries: Sequence[Known], target: str) -> None:
    """Write a file of entries."""
    lines = [f"# Known differences of {target}: an entry that is no longer met fails the check."]
    for entry in entries:
        fields = {"case": entry.case, "rule": entry.rule, "outcome": entry.outcome, "reason": entry.reason}
        lines += [
            "",
            "[[known]]",
            *(f"{key} = {json.dumps(value)}" for key, value in fields.items() if value is not None),
        ]
    path.write_text("\n".join(lines) + "\n")
