"""For a person at a terminal."""

from __future__ import annotations

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.known import Known, Verdicts
from counterfoil_oracles.targets.target import legible
from counterfoil_spec.rules import registry


def render(report: Report, verdicts: Verdicts) -> str:
    """The counts, then each finding with its program, then what the known differences say."""
    identity = spoken(report)
    rate = report.steps / report.seconds if report.seconds else 0.0
    lines = [
        identity,
        f"{report.steps} steps in {report.seconds:.1f} s ({rate:.0f} a second): {report.vectors} vectors, "
        f"{report.programs} programs; {len(report.rules)} rules refused something",
    ]
    if report.skipped:
        lines.append("skipped: " + ", ".join(f"{name} {count}" for name, count in report.skipped.most_common(8)))
    if report.untouched:
        lines.append(f"chapters of which no rule was met: {', '.join(report.untouched)}")
    for found in verdicts.new:
        lines += ["", *finding_lines(found, report.met[found.finding.case, found.finding.rule])]
    lines += known_lines(verdicts)
    lines += [f"not written: {each}" for each in report.unwritten]
    if report.broken is not None:
        lines += ["", f"harness broken: {report.broken}"]
    return "\n".join(lines) + "\n"


def spoken(report: Report) -> str:
    """Who answered, in words of its own."""
    identity = report.identity
    return legible(f"{identity.name} {identity.version} ({identity.language})", 200)


def finding_lines(found: Found, met: int) -> list[str]:
    """A finding: what, the rule, the program, and the line that runs it again."""
    finding = found.finding
    lines = [f"DIVERGENCE {finding.case} ({met} times, first after {found.after:.1f} s)"]
    if finding.rule is not None:
        lines.append(f"  rule {finding.rule}: {registry()[finding.rule].statement}")
    lines.append(f"  {finding.words}")
    lines += [f"    {line}" for line in program_lines(found)]
    if found.path is not None:
        lines += [f"  reproduce: counterfoil replay --target TARGET {found.path}"]
    if found.snippet is not None:
        lines += [f"  on its own: {found.snippet}"]
    return lines


def program_lines(found: Found) -> list[str]:
    """The program of a finding, in words."""
    from counterfoil_oracles.wording import outcome_words, words

    return [
        f"{at + 1}. {words(step.command)}"
        + (f" -> {outcome_words(step.command, step.outcome)}" if step.outcome is not None else "")
        for at, step in enumerate(found.trace.steps)
    ]


def known_lines(verdicts: Verdicts) -> list[str]:
    """What the file of known differences says."""
    lines = [f"{len(verdicts.met)} known differences met"] if verdicts.met else []
    for entry, found in verdicts.changed:
        now = found.finding.kind.value
        lines.append(f"KNOWN DIFFERENCE CHANGED {_named(entry)}: it {now}, and {entry.outcome} was known")
    return lines + [f"KNOWN DIFFERENCE NEVER MET {_named(entry)}" for entry in verdicts.stale]


def _named(entry: Known) -> str:
    return entry.case if entry.rule is None else f"{entry.case} ({entry.rule})"
