"""The context machine: random programs of compiles, runs, transfers and releases on both halves."""

import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import counterfoil
import counterfoil_reference
from counterfoil_oracles.collecting import settle_imports
from counterfoil_oracles.holdings import SEAMS
from counterfoil_oracles.machines.contexts.machine import context_program
from counterfoil_oracles.machines.contexts.plans.stories import STORIES
from counterfoil_oracles.machines.contexts.stateful import ContextMachine
from counterfoil_oracles.machines.contexts.tally import LEAST_COMPILES, LEAST_RUNS, Tally

PROGRAMS = 200
FEW = 40
STEPS = 120


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Tally:
    """What 200 random programs met; both halves ran them alike, or the fixture fails."""
    counts = Tally()
    settle_imports()
    started = time.monotonic()
    for seed in range(PROGRAMS):
        context_program(counterfoil_reference, counterfoil, seed, STEPS, counts)
    seconds = time.monotonic() - started
    with request.getfixturevalue("capsys_of_module").disabled():
        print("", *counts.lines(), f"{counts.steps / seconds:.0f} steps a second", sep="\n")
    return counts


@pytest.fixture(scope="session")
def capsys_of_module(request: pytest.FixtureRequest) -> object:
    """Output that is shown although pytest captures: what a run of the machine met."""
    manager = request.config.pluginmanager.getplugin("capturemanager")

    class Shown:
        def disabled(self) -> object:
            return manager.global_and_fixture_disabled()

    return Shown()


def test_the_halves_agree_on_random_programs() -> None:
    """The first of those programs part nowhere, and the machine does not idle in refusals."""
    counts = Tally()
    settle_imports()
    for seed in range(FEW):
        context_program(counterfoil_reference, counterfoil, seed, STEPS, counts)
    assert counts.ratio("run") >= LEAST_RUNS
    assert counts.ratio("compile") >= LEAST_COMPILES


@pytest.mark.long
def test_runs_and_compiles_are_accepted_often_enough(tally: Tally) -> None:
    """At least 40 % of the runs and 60 % of the compiles are accepted: the machine does not idle in refusals."""
    assert tally.commands["run"] >= 2000 and tally.commands["compile"] >= 2000
    assert tally.ratio("run") >= LEAST_RUNS
    assert tally.ratio("compile") >= LEAST_COMPILES


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES)
def test_every_required_history_occurs_accepted(tally: Tally, story: str) -> None:
    """The run holds each required history, accepted from end to end."""
    assert tally.told[story] > 0


@pytest.mark.long
@pytest.mark.parametrize("seam", SEAMS)
def test_every_seam_fails(tally: Tally, seam: str) -> None:
    """A failure is injected at each seam and passed on by the operation, alike in both halves."""
    assert tally.failed[seam] > 0


def test_the_halves_agree_under_hypothesis(tmp_path: Path) -> None:
    """Programs that Hypothesis draws part nowhere."""

    class Machine(ContextMachine):
        reference = counterfoil_reference
        subject = counterfoil
        tally = Tally()
        directory = tmp_path

    run_state_machine_as_test(Machine, settings=settings(max_examples=15, stateful_step_count=25))
    assert Machine.tally.accepted["run"] and Machine.tally.accepted["compile"]
