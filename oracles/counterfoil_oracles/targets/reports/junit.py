"""For CI systems that read JUnit's XML: a test case for each rule that was met or broken."""

from __future__ import annotations

from xml.etree import ElementTree

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_oracles.targets.reports.text import never, program_lines
from counterfoil_oracles.targets.target import legible


def render(report: Report, verdicts: Verdicts) -> str:
    """One suite: findings are failures, a broken harness is an error, rules met without a finding pass."""
    name = legible(report.identity.name, 80)
    suite = ElementTree.Element("testsuite", name=f"counterfoil: {name}", time=f"{report.seconds:.3f}")
    broken_rules = {found.finding.rule for found in verdicts.shown}
    for found in verdicts.shown:
        finding = found.finding
        case = _case(suite, finding.rule or "values", finding.case)
        failure = ElementTree.SubElement(case, "failure", message=finding.words)
        failure.text = "\n".join(program_lines(found) + _again(found, report))
    for entry, found in verdicts.changed:
        failure = ElementTree.SubElement(_case(suite, entry.rule or "values", entry.case), "failure")
        failure.set("message", f"a known difference changed: {found.finding.words}")
        failure.text = "\n".join(program_lines(found) + _again(found, report))
    for entry in verdicts.stale:
        failure = ElementTree.SubElement(_case(suite, entry.rule or "values", entry.case), "failure")
        failure.set("message", f"a known difference was never met: {never(entry, report)}")
    for missed in report.missed:
        ElementTree.SubElement(_case(suite, missed, missed), "skipped", message="nothing of it was met")
    for rule in sorted(set(report.rules) - broken_rules):
        _case(suite, rule, rule)
    if report.broken is not None:
        error = ElementTree.SubElement(_case(suite, "harness", "harness"), "error", message=report.broken)
        error.text = report.replay(report.broken_by)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    suite.set("errors", str(int(report.broken is not None)))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _again(found: Found, report: Report) -> list[str]:
    line = report.replay(found.path)
    return [] if line is None else [f"reproduce: {line}"]


def _case(suite: ElementTree.Element, chapter: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"counterfoil.{chapter.replace('/', '.')}", name=name)
