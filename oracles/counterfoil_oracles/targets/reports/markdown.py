"""For a step summary: a table of findings, then each program folded away."""

from __future__ import annotations

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
        lines += ["", f"**Harness broken:** {_plain(report.broken)}"]
    if verdicts.new:
        lines += ["", "| difference | rule | times |", "|---|---|---|"]
    for found in verdicts.new:
        key = (found.finding.case, found.finding.rule)
        lines.append(f"| {_plain(key[0])} | {key[1] or ''} | {report.met[key]} |")
    for found in verdicts.new:
        body = ["```", *program_lines(found), found.finding.words, "```"]
        if found.snippet is not None:
            body += ["", f"On its own: `{found.snippet}`"]
        lines += ["", f"<details><summary>{_plain(found.finding.case)}</summary>", "", *body, "", "</details>"]
    return "\n".join([*lines, *(["", *known_lines(verdicts)] if known_lines(verdicts) else [])]) + "\n"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
