"""One report from many results: findings by case, the shortest program of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from counterfoil_oracles.campaigns.halving import told
from counterfoil_oracles.campaigns.units import Case, Checked, Result, Shown, size_of
from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.saving import keep as keep_trace
from counterfoil_oracles.targets.saving import save
from counterfoil_spec import __version__
from counterfoil_spec.commands import decode_trace
from counterfoil_spec.protocol import PROTOCOL, Identity


@dataclass
class Merged:
    """What a campaign did, runs before this one included. ``unsettled``: units without a verdict, each with why."""

    results: list[Result] = field(default_factory=list)
    shown: dict[Case, Shown] = field(default_factory=dict)
    met: Counter[Case] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    unsettled: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    after: dict[Case, float] = field(default_factory=dict)
    healed: int = 0
    seconds: float = 0.0
    steps_now: int = 0
    steps: int = 0

    def add(self, result: Result, name: str) -> list[Shown]:
        """Count a result of this run; the findings that are new, or shorter than what was there."""
        self.steps_now += result.steps
        self.healed += len(result.healed)
        if result.broken is not None:
            self.broken.append(f"{name}: {result.broken}")
        self.count(result)
        better = []
        for found in result.found:
            held = self.shown.get(found.case)
            if held is None or size_of(found.trace) < size_of(held.trace):
                self.shown[found.case] = found
                self.after.setdefault(found.case, self.seconds)
                better.append(found)
        return better

    def count(self, result: Result) -> None:
        """Count a result, of this run or an earlier one."""
        self.results.append(result)
        self.steps += result.steps
        self.rules.update(result.rules)
        self.met.update(dict(result.met))

    @property
    def rate(self) -> float:
        """Steps a second of this run."""
        return self.steps_now / self.seconds if self.seconds else 0.0


def report_of(merged: Merged, checked: Checked, keep: Path) -> Report:
    """The report as the formats of a check print it; traces of findings are written to ``keep``."""
    identities = (result.identity for result in merged.results)
    identity = next((found for found in identities if found is not None), None) or Identity(
        protocol=PROTOCOL, name=checked.name, version=__version__, language="Python"
    )
    report = Report(identity, merged.steps, rules=merged.rules)
    report.seconds = sum(result.seconds for result in merged.results)  # of one worker: what all runs have in common
    report.programs = sum(result.programs for result in merged.results)
    report.vectors = sum(result.vectors for result in merged.results)
    for result in merged.results:
        report.skipped.update(result.skipped)
    for case, found in _sorted(merged.shown.values()):
        report.found[case] = _found(found, identity.name, keep, merged.after[case])
        report.met[case] = max(merged.met[case], 1)
    kept = [keep_trace("broken", decode_trace(each.breaking), keep) for each in merged.results if each.breaking]
    words = [*_distinct(merged.broken), *(f"the program is kept in {path}" for path in dict.fromkeys(kept))]
    report.broken = "; ".join(words) or None
    report.broken_by = kept[0] if kept else None
    return report


def _distinct(broken: Iterable[str]) -> list[str]:
    """How units broke, each way once, with the first unit that did."""
    return list({words.partition(": ")[2]: words for words in reversed(list(broken))}.values())[::-1]


def _sorted(shown: Iterable[Shown]) -> list[tuple[Case, Shown]]:
    """By rule, then by case."""
    return sorted(((each.case, each) for each in shown), key=lambda each: (each[0][1] or "", each[0][0]))


def _found(shown: Shown, name: str, keep: Path, after: float) -> Found:
    finding, trace = told(shown), decode_trace(shown.trace)
    return Found(finding, trace, save(trace, finding, name, keep), after)
