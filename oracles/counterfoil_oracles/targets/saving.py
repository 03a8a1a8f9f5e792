"""Keeping what was found: a trace file for each, named by what parted and by its content."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from counterfoil_oracles.targets.verdicts import Finding
from counterfoil_spec.commands import Header, Trace, encode_trace


def save(trace: Trace, finding: Finding, target: str, directory: Path) -> Path:
    """Write the trace that shows a finding, with a title that tells it; the file."""
    title = f"{target}: {finding.case}: {finding.words}"[:300]
    header = Header(title=title, rules=[] if finding.rule is None else [finding.rule], seed=trace.header.seed)
    return keep(finding.case, Trace(header, trace.steps), directory)


def keep(case: str, trace: Trace, directory: Path) -> Path:
    """Write a trace under a name made of the case and of its content; the file."""
    data = encode_trace(trace)
    name = re.sub(r"[^a-z0-9]+", "-", case.lower()).strip("-")
    path = directory / f"{name}-{hashlib.sha256(data).hexdigest()[:8]}.jsonl"
    directory.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
