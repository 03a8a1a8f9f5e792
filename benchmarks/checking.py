"""Checking speed: how fast the reference replays recorded traces, and how fast the whole machine steps."""

from __future__ import annotations

import time
from pathlib import Path

import counterfoil_reference
from counterfoil_oracles.driver import Driver
from counterfoil_spec.commands import decode_trace

TRACES = Path(__file__).resolve().parents[1] / "tests" / "traces"


def replayed_per_second(seconds: float = 3.0) -> float:
    """Commands a second of the reference over the hand-written traces of small arrays, a fresh driver for each."""
    traces = [decode_trace(path.read_bytes()) for path in sorted(TRACES.rglob("*.jsonl"))]
    commands, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        for trace in traces:
            with Driver(counterfoil_reference) as driver:
                for step in trace.steps:
                    driver.execute(step.command)
            commands += len(trace.steps)
    return commands / took
