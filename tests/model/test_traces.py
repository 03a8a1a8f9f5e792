"""The traces written by hand from the array seed, run on both halves."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from counterfoil_oracles.driver import run_trace
from counterfoil_spec.commands import Refused, Trace, decode_trace, matches
from counterfoil_spec.rules import rule_of

TRACES = sorted((Path(__file__).parent.parent / "traces").rglob("*.jsonl"))


def load(path: Path) -> Trace:
    return decode_trace(path.read_bytes())


@pytest.mark.parametrize("half", ["counterfoil_reference", "counterfoil"])
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_outcomes_are_those_demanded(path: Path, half: str) -> None:
    """Each step of a trace ends on the half as the seed and the decisions demand."""
    trace = load(path)
    actual = run_trace(importlib.import_module(half), trace)
    wrong = [
        f"step {number}: {step.command}\n  demanded {step.outcome}\n  happened {outcome}"
        for number, (step, outcome) in enumerate(zip(trace.steps, actual, strict=True), 1)
        if step.outcome is None or not matches(step.outcome, outcome)
    ]
    assert not wrong, "\n".join([trace.header.title, *wrong])


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_header_cites_what_the_trace_shows(path: Path) -> None:
    """A trace has a title, says where its demands come from, and lists every rule that it sees refused."""
    trace = load(path)
    refused = {step.outcome.rule for step in trace.steps if isinstance(step.outcome, Refused)}
    assert trace.header.title.endswith(".") and trace.header.seed
    assert refused <= set(trace.header.rules)
    assert all(rule_of(rule) for rule in trace.header.rules)


def test_there_are_traces_enough() -> None:
    """At least 80 traces were written from the seed, each of them citing a line of it or a decision."""
    assert len(TRACES) >= 80
