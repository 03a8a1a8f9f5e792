"""For programs: one JSON object, with a version."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.known import Verdicts
from counterfoil_spec.commands import encode_trace

SCHEMA: Final = "counterfoil-report-1"


def render(report: Report, verdicts: Verdicts) -> str:
    """The whole report."""
    return json.dumps(data(report, verdicts), indent=1) + "\n"


def data(report: Report, verdicts: Verdicts) -> dict[str, Any]:
    """The report as JSON data."""
    return {
        "schema": SCHEMA,
        "target": msgspec.to_builtins(report.identity),
        "steps": report.steps,
        "programs": report.programs,
        "vectors": report.vectors,
        "seconds": round(report.seconds, 3),
        "rules": dict(sorted(report.rules.items())),
        "skipped": dict(report.skipped.most_common()),
        "untouched": report.untouched,
        "broken": report.broken,
        "broken_replay": report.replay(report.broken_by),
        "findings": [_finding(found, report) for found in report.found.values()],
        "new": [found.finding.case for found in verdicts.new],
        "changed": [entry.case for entry, _ in verdicts.changed],
        "stale": [entry.case for entry in verdicts.stale],
        "wider": [entry.case for entry, _ in verdicts.wider],
        "dropped": [entry.case for entry in verdicts.dropped],
        "missed": report.missed,
        "known": [entry.case for entry in verdicts.met],
    }


def _finding(found: Found, report: Report) -> dict[str, Any]:
    finding = found.finding
    return {
        "case": finding.case,
        "rule": finding.rule,
        "kind": finding.kind.name.lower(),
        "words": finding.words,
        "met": report.met[finding.case, finding.rule],
        "operands": sorted(report.operands.get((finding.case, finding.rule), ())),
        "after_seconds": round(found.after, 3),
        "path": None if found.path is None else str(found.path),
        "replay": report.replay(found.path),
        "snippet": None if found.snippet is None else str(found.snippet),
        "trace": [json.loads(line) for line in encode_trace(found.trace).splitlines()],
    }
