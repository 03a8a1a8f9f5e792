"""For code scanning: SARIF 2.1.0, whose rule ids are the rules'."""

from __future__ import annotations

import json
from typing import Any, Final

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_oracles.targets.reports.text import program_lines
from counterfoil_spec import __version__
from counterfoil_spec.rules import registry

VALUES: Final = "values/differ"
"""The rule id of findings that concern no refusal: other elements, or a failure."""


def render(report: Report, verdicts: Verdicts) -> str:
    """One run: a result for each new finding, and a notification where the harness broke."""
    ids = sorted({_rule(found) for found in verdicts.new})
    invocation: dict[str, Any] = {"executionSuccessful": report.broken is None}
    if report.broken is not None:
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": report.broken}}]
    run = {
        "tool": {
            "driver": {"name": "counterfoil", "version": __version__, "rules": [_described(each) for each in ids]}
        },
        "invocations": [invocation],
        "results": [_result(found, ids) for found in verdicts.new],
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


def _result(found: Found, ids: list[str]) -> dict[str, Any]:
    finding, rule = found.finding, _rule(found)
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": ids.index(rule),
        "level": "error",
        "message": {"text": f"{finding.case}: {finding.words}\n" + "\n".join(program_lines(found))},
        "partialFingerprints": {"case/v1": f"{finding.case} {rule}"},
    }
    if found.path is not None:
        location = {"artifactLocation": {"uri": found.path.as_posix()}, "region": {"startLine": 1}}
        result["locations"] = [{"physicalLocation": location}]
    return result
