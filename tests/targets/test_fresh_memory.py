"""Halves are compared from the same fresh memory where a trace names no byte: else any two part where some is made."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles import cli
from counterfoil_oracles.explain import explain_trace
from counterfoil_oracles.failures import recorded
from counterfoil_oracles.replay import Verdict, replay
from counterfoil_spec.commands import Command, Header, Returned, Step, Trace, encode_trace

NBYTES = 4096
PROGRAM = [
    Command(do="host", bind="h"),
    Command(do="buffer", args={"device": {"ref": "h"}, "nbytes": NBYTES, "kind": "device"}, bind="b"),
    Command(do="buffer.bytes", args={"buffer": {"ref": "b"}}),
]


@pytest.fixture(autouse=True)
def dirty() -> None:
    """Memory of that size was just given back, and does not hold zeros."""
    counterfoil.inspection.poison(0xA5)
    held = [counterfoil.host().buffer(NBYTES) for _ in range(8)]
    counterfoil.inspection.poison(None)
    del held
    gc.collect()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A program without a byte of its own, with what the reference read."""
    outcomes = [Returned(), Returned(), Returned("00" * NBYTES)]
    steps = [Step(command=each, outcome=outcome) for each, outcome in zip(PROGRAM, outcomes, strict=True)]
    (tmp_path / "t.jsonl").write_bytes(encode_trace(Trace(Header(title="fresh"), steps)))
    return tmp_path / "t.jsonl"


def test_a_replay_finds_nothing_in_fresh_memory(path: Path) -> None:
    """Neither between the halves nor beside what was recorded."""
    assert replay(path, counterfoil_reference, counterfoil).verdict is Verdict.FIXED


def test_an_explanation_finds_nothing_in_fresh_memory() -> None:
    """The last step is told, and no divergence."""
    trace = Trace(Header(), [Step(command=command) for command in PROGRAM])
    lines = explain_trace(trace, counterfoil_reference, counterfoil)
    assert lines[-1] == f"  3. look at the bytes of b -> the value '{'00' * NBYTES}'"


def test_minimising_finds_nothing_in_fresh_memory(path: Path) -> None:
    """Exit code 4: there is nothing to keep."""
    assert cli.main(["minimize", str(path)]) == 4


def test_a_byte_of_the_traces_own_goes_before(path: Path) -> None:
    """It is what both halves show."""
    poison = Command(do="poison", args={"byte": 0x5A})
    trace, divergence = recorded(counterfoil_reference, counterfoil, [poison, *PROGRAM])
    assert divergence is None
    assert trace.steps[-1].outcome == Returned("5a" * NBYTES)
