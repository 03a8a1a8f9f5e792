"""Replaying saved traces on both halves: FIXED, FAILED, or FLAKY when runs disagree."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil_oracles.compare import Divergence, first_divergence, said
from counterfoil_oracles.driver import run_trace
from counterfoil_spec.commands import Trace, decode_trace, matches


class Verdict(enum.Enum):
    """What replaying a trace some times showed."""

    FIXED = "FIXED"
    FAILED = "FAILED"
    FLAKY = "FLAKY"


@dataclass(frozen=True)
class Replayed:
    """A verdict with what was seen, in words, at the first run that failed."""

    verdict: Verdict
    words: str
    divergence: Divergence | None = None


def replay(path: Path, reference: Any, subject: Any, times: int = 3) -> Replayed:
    """Run a trace file some times; OSError or msgspec.ValidationError where it cannot be read."""
    trace = decode_trace(path.read_bytes())
    runs = [_run(trace, reference, subject) for _ in range(times)]
    failed = [run for run in runs if run is not None]
    if not failed:
        return Replayed(Verdict.FIXED, "both halves agree with each other and with the trace")
    agree = len(failed) == times and len({words for words, _ in failed}) == 1
    words, divergence = failed[0]
    return Replayed(Verdict.FAILED if agree else Verdict.FLAKY, words, divergence)


def _run(trace: Trace, reference: Any, subject: Any) -> tuple[str, Divergence | None] | None:
    divergence = first_divergence(reference, subject, (step.command for step in trace.steps))
    if divergence is not None:
        return f"step {divergence.index + 1}, {divergence.command.do}: {divergence.difference}", divergence
    return unlike_recorded(trace, reference)


def unlike_recorded(trace: Trace, half: Any) -> tuple[str, None] | None:
    """Where a half's outcomes are not the recorded ones, in words; None if nowhere."""
    for at, (step, outcome) in enumerate(zip(trace.steps, run_trace(half, trace), strict=True)):
        if step.outcome is not None and not matches(step.outcome, outcome):
            return f"step {at + 1}, {step.command.do}: recorded {said(step.outcome)}, got {said(outcome)}", None
    return None
