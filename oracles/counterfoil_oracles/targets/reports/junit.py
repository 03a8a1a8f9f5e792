"""For CI systems that read JUnit's XML: a test case for each rule that was met or broken."""

from __future__ import annotations

from xml.etree import ElementTree

from counterfoil_oracles.targets.campaign import Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_oracles.targets.reports.text import program_lines
from counterfoil_oracles.targets.target import legible


def render(report: Report, verdicts: Verdicts) -> str:
    """One suite: findings are failures, a broken harness is an error, rules met without a finding pass."""
    name = legible(report.identity.name, 80)
    suite = ElementTree.Element("testsuite", name=f"counterfoil: {name}", time=f"{report.seconds:.3f}")
    broken_rules = {found.finding.rule for found in verdicts.new}
    for found in verdicts.new:
        finding = found.finding
        case = _case(suite, finding.rule or "values", finding.case)
        failure = ElementTree.SubElement(case, "failure", message=finding.words)
        failure.text = "\n".join(program_lines(found))
    for entry, found in verdicts.changed:
        failure = ElementTree.SubElement(_case(suite, entry.rule or "values", entry.case), "failure")
        failure.set("message", f"a known difference changed: {found.finding.words}")
    for entry in verdicts.stale:
        failure = ElementTree.SubElement(_case(suite, entry.rule or "values", entry.case), "failure")
        failure.set("message", "a known difference was never met")
    for rule in sorted(set(report.rules) - broken_rules):
        _case(suite, rule, rule)
    if report.broken is not None:
        ElementTree.SubElement(_case(suite, "harness", "harness"), "error", message=report.broken)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    suite.set("errors", str(int(report.broken is not None)))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, chapter: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"counterfoil.{chapter.replace('/', '.')}", name=name)
