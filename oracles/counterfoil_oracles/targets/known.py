"""Known differences: a file of exact cases, which cannot go stale.

TOML: ``[[known]]`` tables of ``case``, ``rule`` (absent where the finding concerns none), ``outcome`` (the kind of the
finding), ``operands`` (what the command was asked about: every one it was met with; absent: any) and ``reason``. An
entry that fails otherwise, that is met with other operands, or that a check which looks for it never meets fails the
run.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.targets.campaign import Found, Report, Selection
from counterfoil_oracles.targets.target import legible

UNEXPLAINED = "not explained yet"


@dataclass(frozen=True)
class Known:
    """One known difference."""

    case: str
    rule: str | None
    outcome: str
    reason: str
    operands: tuple[str, ...] | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """What it is met by."""
        return self.case, self.rule

    def knows(self, operands: str) -> bool:
        """Whether it was met with those."""
        return self.operands is None or operands in self.operands


@dataclass(frozen=True)
class Verdicts:
    """What the file says of a report.

    New findings; entries whose outcome is another now; entries never met, or never with some of their operands; those
    met; entries met with operands that they do not list; and entries that ``--update-known`` left out.
    """

    new: list[Found]
    changed: list[tuple[Known, Found]]
    stale: list[Known]
    met: list[Known]
    wider: list[tuple[Known, Found]] = field(default_factory=list)
    dropped: list[Known] = field(default_factory=list)

    @property
    def shown(self) -> list[Found]:
        """The findings that are told in full: new ones, and known ones with operands of which nothing was known."""
        return [*self.new, *(found for _, found in self.wider)]

    @property
    def fails(self) -> bool:
        """Whether the run fails."""
        return bool(self.new or self.changed or self.stale or self.wider)


def read(path: Path) -> list[Known]:
    """The entries of a file; HarnessError where it is none, or names a case twice."""
    try:
        entries = [_entry(each) for each in tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise HarnessError(f"{path} is no file of known differences: {legible(str(error))}") from error
    if len({entry.key for entry in entries}) != len(entries):
        raise HarnessError(f"{path} names a case twice")
    return entries


def _entry(table: dict[str, Any]) -> Known:
    unknown = set(table) - {"case", "rule", "outcome", "operands", "reason"}
    if unknown:
        raise TypeError(f"an entry has no {sorted(unknown)[0]}")
    texts = [table["case"], table["outcome"], table["reason"], table.get("rule", "")]
    operands = table.get("operands")
    if not all(isinstance(text, str) for text in [*texts, *(operands or [])]):
        raise TypeError(f"a text is missing in the entry {table['case']!r}")
    return Known(texts[0], table.get("rule"), texts[1], texts[2], None if operands is None else tuple(operands))


def judge(report: Report, entries: Sequence[Known], whole: bool, selection: Selection | None = None) -> Verdicts:
    """Hold a report against the entries; ``whole``: the check went to its end, so what it looked for (``selection``)
    and did not meet is stale."""
    by_key = {entry.key: entry for entry in entries}
    both = [(by_key[key], found) for key, found in report.found.items() if key in by_key]
    changed = [(entry, found) for entry, found in both if outcome_of(found) != entry.outcome]
    alike = [(entry, found) for entry, found in both if outcome_of(found) == entry.outcome]
    wider = [(entry, found) for entry, found in alike if _others(entry, report)]
    never = _never_met(report, entries, whole, selection or Selection())
    unmet = {_place(entry): entry for entry in never if entry.key not in report.found}
    new = [found for key, found in report.found.items() if key not in by_key and _place_of(found) not in unmet]
    otherwise = [
        (unmet[_place_of(found)], found)
        for key, found in report.found.items()
        if key not in by_key and _place_of(found) in unmet
    ]
    stale = [entry for entry in never if entry not in {entry for entry, _ in otherwise}]
    met = [entry for entry, found in alike if not _others(entry, report)]
    return Verdicts(new, changed + otherwise, stale, met, wider)


def _never_met(report: Report, entries: Iterable[Known], whole: bool, selection: Selection) -> list[Known]:
    """The entries that a check looked for and did not meet; of one met with some of its operands, the others."""
    if not whole or report.broken is not None:
        return []
    found = []
    for entry in entries:
        if not selection.expects(entry.rule):
            continue
        if entry.key not in report.found:
            found.append(entry)
        elif entry.operands is not None and report.is_repeatable and entry.key in report.operands:
            gone = tuple(each for each in entry.operands if each not in report.operands[entry.key])
            if gone:
                found.append(replace(entry, operands=gone))
    return found


def _others(entry: Known, report: Report) -> list[str]:
    """The operands that a case was met with and that an entry does not list."""
    return sorted(each for each in report.operands.get(entry.key, ()) if not entry.knows(each))


def _place(entry: Known) -> tuple[str, str | None]:
    """The command and the rule of an entry, whatever the kind of the difference."""
    return entry.case.rpartition(": ")[0], entry.rule


def _place_of(found: Found) -> tuple[str, str | None]:
    return found.finding.case.rpartition(": ")[0], found.finding.rule


def outcome_of(found: Found) -> str:
    """What an entry expects of a finding: its kind, which a shrunk program does not change."""
    return found.finding.kind.value


def updated(
    report: Report, entries: Sequence[Known], selection: Selection | None = None, drops: bool = True
) -> list[Known]:
    """The entries that would let this report pass; reasons are kept.

    What was not met is left out only where it was looked for by a check that does the same work each time (``drops``):
    else its reason could be lost to a slow machine, or to a check of something else.
    """
    before, chosen = {entry.key: entry for entry in entries}, selection or Selection()
    kept = {
        entry.key: entry
        for entry in entries
        if entry.key not in report.found and not (drops and chosen.expects(entry.rule))
    }
    met = {key: _met(key, found, report, before.get(key), drops) for key, found in report.found.items()}
    return sorted({**kept, **met}.values(), key=lambda entry: (entry.case, entry.rule or ""))


def _met(key: tuple[str, str | None], found: Found, report: Report, before: Known | None, drops: bool) -> Known:
    """An entry of a case that was met; one that takes any operands stays so."""
    operands = set(report.operands.get(key, ()))
    if before is None:
        return Known(*key, outcome_of(found), UNEXPLAINED, tuple(sorted(operands)) or None)
    if before.operands is not None and not (drops and operands):
        operands |= set(before.operands)
    listed = None if before.operands is None else tuple(sorted(operands))
    return Known(*key, outcome_of(found), before.reason, listed)


def write(path: Path, entries: Sequence[Known], target: str) -> None:
    """Write a file of entries; what was there stays until all of it is written."""
    lines = [f"# Known differences of {legible(target, 200)}: an entry that is no longer met fails the check."]
    for entry in entries:
        lines += ["", "[[known]]", f"case = {_text(entry.case)}"]
        lines += [] if entry.rule is None else [f"rule = {_text(entry.rule)}"]
        lines += [f"outcome = {_text(entry.outcome)}", *_listed(entry.operands), f"reason = {_text(entry.reason)}"]
    beside = path.with_name(f"{path.name}.new")
    beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    beside.replace(path)


def _text(text: str) -> str:
    """A text of TOML, which knows JSON's escapes but for those of halves of a character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _listed(operands: Sequence[str] | None) -> list[str]:
    """The operands, as many on a line as fit."""
    if operands is None:
        return []
    texts = [_text(each) for each in operands]
    whole = f"operands = [{', '.join(texts)}]"
    if len(whole) <= 120:
        return [whole]
    lines = [""]
    for text in texts:
        if len(lines[-1]) + len(text) > 110:
            lines.append("")
        lines[-1] += f" {text}," if lines[-1] else f"    {text},"
    return ["operands = [", *lines, "]"]
