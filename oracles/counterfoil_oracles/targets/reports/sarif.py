"""For code scanning: SARIF 2.1.0, whose rule ids are the rules'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.known import Known, Verdicts
from counterfoil_oracles.targets.reports.text import never, program_lines
from counterfoil_spec import __version__
from counterfoil_spec.rules import registry

VALUES: Final = "values/differ"
"""The rule id of findings that concern no refusal: other elements, or a failure."""


def render(report: Report, verdicts: Verdicts) -> str:
    """One run: a result for whatever fails it, new findings, those known otherwise and entries that were never met; a
    notification where the harness broke."""
    shown = [*verdicts.shown, *(found for _, found in verdicts.changed)]
    ids = sorted({*(_rule(found) for found in shown), *(entry.rule or VALUES for entry in verdicts.stale)})
    invocation: dict[str, Any] = {"executionSuccessful": report.broken is None}
    if report.broken is not None:
        text = "\n".join(each for each in (report.broken, report.replay(report.broken_by)) if each is not None)
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": text}}]
    run = {
        "tool": {
            "driver": {"name": "counterfoil", "version": __version__, "rules": [_described(each) for each in ids]}
        },
        "invocations": [invocation],
        "results": [
            *(_result(found, ids, report.replay(found.path)) for found in shown),
            *(_never_met(entry, ids, report) for entry in verdicts.stale),
        ],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(found: Found) -> str:
    return found.finding.rule or VALUES


def _described(rule: str) -> dict[str, Any]:
    known = registry().get(rule)
    text = "A result has other elements than the rules allow." if known is None else known.statement
    help = "" if known is None else f"{known.why} {known.fix}".strip()
    return {"id": rule, "shortDescription": {"text": text}, **({"help": {"text": help}} if help else {})}


def _never_met(entry: Known, ids: list[str], report: Report) -> dict[str, Any]:
    """What a known difference that was never met says, at the file that lists it."""
    rule = entry.rule or VALUES
    text = f"a known difference was never met: {never(entry, report)}"
    return _told(rule, ids, text, {"known/v1": f"{entry.case} {rule} never met"}, report.known_file)


def _result(found: Found, ids: list[str], replay: str | None) -> dict[str, Any]:
    finding, rule = found.finding, _rule(found)
    lines = program_lines(found) + ([] if replay is None else [f"reproduce: {replay}"])
    text = f"{finding.case}: {finding.words}\n" + "\n".join(lines)
    return _told(rule, ids, text, {"case/v1": f"{finding.case} {rule}"}, found.path)


def _told(rule: str, ids: list[str], text: str, prints: dict[str, str], path: Path | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": ids.index(rule),
        "level": "error",
        "message": {"text": text},
        "partialFingerprints": prints,
    }
    if path is not None:
        location = {"artifactLocation": {"uri": path.as_posix()}, "region": {"startLine": 1}}
        result["locations"] = [{"physicalLocation": location}]
    return result
