"""For a step summary: a table of findings, then each program folded away."""

from __future__ import annotations

from pathlib import Path

from counterfoil_oracles.targets.campaign import Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_oracles.targets.reports.text import known_lines, program_lines, spoken


def render(report: Report, verdicts: Verdicts) -> str:
    """The report as GitHub's Markdown."""
    lines = [
        f"## counterfoil: {_plain(spoken(report))}",
        "",
        f"{report.steps} steps in {report.seconds:.0f} s, {len(report.rules)} rules met, "
        f"{len(verdicts.new)} new differences, {len(verdicts.met)} known.",
    ]
    if report.broken is not None:
        lines += ["", f"**Harness broken:** {_plain(report.broken)}", *_again(report, report.broken_by)]
    if report.missed:
        lines += ["", f"Required, and nothing was met that it refuses or is about: {', '.join(report.missed)}."]
    if verdicts.shown:
        lines += ["", "| difference | rule | times |", "|---|---|---|"]
    for found in verdicts.shown:
        key = (found.finding.case, found.finding.rule)
        lines.append(f"| {_plain(key[0])} | {key[1] or ''} | {report.met[key]} |")
    for found in verdicts.shown:
        body = ["```", *program_lines(found), found.finding.words, "```", *_again(report, found.path)]
        if found.snippet is not None:
            body += ["", f"On its own: `{found.snippet}`"]
        lines += ["", f"<details><summary>{_plain(found.finding.case)}</summary>", "", *body, "", "</details>"]
    known = known_lines(verdicts, report)
    return "\n".join([*lines, *(["", *known] if known else [])]) + "\n"


def _again(report: Report, path: Path | None) -> list[str]:
    """The line that runs a trace again, to be copied as it stands."""
    line = report.replay(path)
    return [] if line is None else ["", "```sh", line, "```"]


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
