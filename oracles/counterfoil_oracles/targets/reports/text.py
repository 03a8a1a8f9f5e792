"""For a person at a terminal."""

from __future__ import annotations

from typing import Final

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.known import Known, Verdicts
from counterfoil_oracles.targets.target import legible
from counterfoil_spec.rules import registry

MOST_OPERANDS: Final = 8


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
    if report.missed:
        lines.append(f"required, and nothing was met that it refuses or is about: {', '.join(report.missed)}")
    for found in verdicts.shown:
        met = report.met[found.finding.case, found.finding.rule]
        lines += ["", *finding_lines(found, met, report.replay(found.path))]
    lines += known_lines(verdicts, report)
    lines += [f"not written: {each}" for each in report.unwritten]
    if report.broken is not None:
        lines += ["", f"harness broken: {report.broken}"]
        lines += [f"  reproduce: {line}" for line in [report.replay(report.broken_by)] if line is not None]
    return "\n".join(lines) + "\n"


def spoken(report: Report) -> str:
    """Who answered, in words of its own."""
    identity = report.identity
    return legible(f"{identity.name} {identity.version} ({identity.language})", 200)


def finding_lines(found: Found, met: int, replay: str | None) -> list[str]:
    """A finding: what, the rule, the program, and the line that runs it again, where the target has a name."""
    finding = found.finding
    lines = [f"DIVERGENCE {finding.case} ({met} times, first after {found.after:.1f} s)"]
    if finding.rule is not None:
        lines.append(f"  rule {finding.rule}: {registry()[finding.rule].statement}")
    lines.append(f"  {finding.words}")
    lines += [f"    {line}" for line in program_lines(found)]
    if replay is not None:
        lines += [f"  reproduce: {replay}"]
    elif found.path is not None:
        lines += [f"  kept in {found.path}"]
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


def known_lines(verdicts: Verdicts, report: Report) -> list[str]:
    """What the file of known differences says."""
    lines = [f"{len(verdicts.met)} known differences met"] if verdicts.met else []
    for entry, found in verdicts.changed:
        now = found.finding.kind.value
        lines.append(f"KNOWN DIFFERENCE CHANGED {named(entry)}: it {now}, and {entry.outcome} was known")
        lines += [f"  reproduce: {line}" for line in [report.replay(found.path)] if line is not None]
    for entry, _ in verdicts.wider:
        others = [each for each in sorted(report.operands[entry.key]) if not entry.knows(each)]
        lines.append(f"KNOWN DIFFERENCE MET WITH OTHER OPERANDS {named(entry)}: {'; '.join(others[:MOST_OPERANDS])}")
        if len(others) > MOST_OPERANDS:
            lines[-1] += f"; and {len(others) - MOST_OPERANDS} more"
    lines += [f"KNOWN DIFFERENCE NEVER MET {never(entry, report)}" for entry in verdicts.stale]
    return lines + [f"known difference left out {named(entry)}: {entry.reason}" for entry in verdicts.dropped]


def named(entry: Known) -> str:
    """An entry by its case and its rule."""
    return legible(entry.case if entry.rule is None else f"{entry.case} ({entry.rule})")


def never(entry: Known, report: Report) -> str:
    """An entry that was never met: which operands, where others were; and what a clock may have to do with it."""
    text = named(entry)
    if entry.key in report.found and entry.operands is not None:
        text += f" with {'; '.join(entry.operands[:MOST_OPERANDS])}"
    return text if report.is_repeatable else f"{text}: a clock ended the check; --steps makes it the same each time"
