"""A campaign as text: a live line on a terminal, and the report at its end."""

from __future__ import annotations

import sys
from typing import TextIO

from counterfoil_oracles.campaigns.driving import State
from counterfoil_oracles.campaigns.merging import Merged
from counterfoil_oracles.failures import reproduce
from counterfoil_oracles.targets import known
from counterfoil_oracles.targets.campaign import Report
from counterfoil_oracles.targets.reports.text import finding_lines, known_lines


class LiveView:
    """One line on a terminal, five times a second at most; nothing elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._next = 0.0
        self._is_live = self._stream.isatty()

    def __call__(self, state: State) -> None:
        """Say where the campaign is."""
        if self._is_live and state.merged.seconds >= self._next:
            self._next = state.merged.seconds + 0.2
            self._stream.write(f"\r\x1b[K{line(state)}\r")
            self._stream.flush()

    def end(self) -> None:
        """Leave the terminal clean."""
        if self._is_live:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def line(state: State) -> str:
    """Where a campaign is."""
    merged = state.merged
    return (
        f"{merged.seconds:5.1f} s  {state.workers} workers  {state.queued} units out  {merged.steps} steps  "
        f"{merged.rate:.0f} steps/s  {len(merged.rules)} rules met  {len(merged.shown)} findings"
    )


def text(report: Report, merged: Merged, verdicts: known.Verdicts, is_half: bool) -> str:
    """The whole report."""
    identity = report.identity
    lines = [
        f"{identity.name} {identity.version} ({identity.language})",
        f"{merged.steps_now} steps in {merged.seconds:.1f} s ({merged.rate:.0f} a second)",
        f"the campaign so far: {len(merged.results)} units, {report.vectors} vectors, {report.programs} programs, "
        f"{report.steps} steps; {len(report.rules)} rules refused something",
    ]
    if merged.healed:
        lines.append(f"{merged.healed} known findings are healed")
    if report.skipped:
        lines.append("skipped: " + ", ".join(f"{name} {count}" for name, count in report.skipped.most_common(8)))
    for found in verdicts.new:
        told = finding_lines(found, report.met[found.finding.case, found.finding.rule])
        told[0] = told[0].replace(", first after 0.0 s", "")
        if is_half and found.path is not None:
            told[-1] = f"  {reproduce(found.path)}"
        lines += ["", *told]
    lines += known_lines(verdicts)
    lines += [f"NO VERDICT {words}" for words in merged.unsettled]
    lines += [f"harness broken: {words}" for words in dict.fromkeys(merged.broken)]
    if not report.found and report.broken is None and report.steps:
        lines.append("no divergence")
    return "\n".join(lines) + "\n"
