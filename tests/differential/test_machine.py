"""The array machine: random programs on both halves, compared at every step."""

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import counterfoil
import counterfoil_reference
from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.coverage import NEVER_PASSED, OUT_OF_REACH, Coverage
from counterfoil_oracles.covering import of_traces
from counterfoil_oracles.machines.arrays import random_program
from counterfoil_oracles.machines.histogram import Histogram
from counterfoil_oracles.machines.stateful import ArrayMachine
from counterfoil_spec.rules import registry

TRACES = Path(__file__).resolve().parents[1] / "traces"


def test_the_halves_agree_under_hypothesis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs that Hypothesis draws part nowhere, and meet every answer and situation often enough."""

    class Machine(ArrayMachine):
        reference = counterfoil_reference
        subject = counterfoil
        histogram = Histogram()
        directory = tmp_path

    run_state_machine_as_test(Machine, settings=settings(max_examples=100, stateful_step_count=40))
    with capsys.disabled():
        print("", *Machine.histogram.lines(), sep="\n")
    assert Machine.histogram.shortfalls() == []


@pytest.fixture(scope="module")
def covered() -> Coverage:
    """The coverage of 200 random programs, which both halves ran alike."""
    coverage = Coverage()
    settle_imports()
    for seed in range(200):
        random_program(counterfoil_reference, counterfoil, seed, 120, Histogram(), coverage)
    return coverage


@pytest.mark.parametrize("half", [counterfoil_reference, counterfoil], ids=["reference", "fast"])
def test_every_refusal_is_triggered_and_passed(covered: Coverage, half: object) -> None:
    """Programs and traces trigger every rule, and make each refused call again with the fault alone put right."""
    coverage = covered.copy()
    assert of_traces(half, coverage, TRACES) == []
    assert coverage.holes() == []


def test_exceptions_from_passing_are_rules_that_nothing_passes() -> None:
    """The lists of rules that need not pass, or be triggered, name active refusals, each with a reason."""
    for rule, reason in (*NEVER_PASSED.items(), *OUT_OF_REACH.items()):
        assert registry()[rule].kind == "refusal" and reason
