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


def test_the_halves_agree_under_hypothesis(tmp_path: Path) -> None:
    """Programs that Hypothesis draws part nowhere.

    What they meet is not counted: Hypothesis draws constants of the modules that the process happens to have loaded.
    """

    class Machine(ArrayMachine):
        reference = counterfoil_reference
        subject = counterfoil
        histogram = Histogram()
        directory = tmp_path

    run_state_machine_as_test(Machine, settings=settings(max_examples=100, stateful_step_count=40))


@pytest.fixture(scope="module")
def met() -> tuple[Coverage, Histogram]:
    """What 200 random programs met, which both halves ran alike."""
    coverage, histogram = Coverage(), Histogram()
    settle_imports()
    for seed in range(200):
        random_program(counterfoil_reference, counterfoil, seed, 120, histogram, coverage)
    return coverage, histogram


def test_every_answer_and_situation_is_met(met: tuple[Coverage, Histogram], capsys: pytest.CaptureFixture[str]) -> None:
    """Often enough in those programs."""
    with capsys.disabled():
        print("", *met[1].lines(), sep="\n")
    assert met[1].shortfalls() == []


@pytest.mark.parametrize("half", [counterfoil_reference, counterfoil], ids=["reference", "fast"])
def test_every_refusal_is_triggered_and_passed(met: tuple[Coverage, Histogram], half: object) -> None:
    """Programs and traces trigger every rule, and make each refused call again with the fault alone put right."""
    coverage = met[0].copy()
    assert of_traces(half, coverage, TRACES) == []
    assert coverage.holes() == []


def test_exceptions_from_passing_are_rules_that_nothing_passes() -> None:
    """The lists of rules that need not pass, or be triggered, name active refusals, each with a reason."""
    for rule, reason in (*NEVER_PASSED.items(), *OUT_OF_REACH.items()):
        assert registry()[rule].kind == "refusal" and reason
