"""The theorems hold of everything the reference accepts: token bags beside the traces and beside random programs."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterfoil
import counterfoil_reference
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.histories.following import Follower
from counterfoil_oracles.histories.model import routines
from counterfoil_oracles.histories.scripts import Script
from counterfoil_oracles.machines.choices import Chooser
from counterfoil_oracles.machines.contexts import machine
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_reference.contexts import checking
from counterfoil_spec.commands import Command, Outcome, Trace, decode_trace

TRACES = sorted((Path(__file__).parent.parent / "traces").glob("[cg]*/*.jsonl"))


def followed(trace: Trace) -> list[str]:
    """What the bags find wrong with the trace on the reference."""
    with Driver(counterfoil_reference) as driver:
        follower = Follower(driver)
        return [text for step in trace.steps for text in follower.follow(step.command, driver.execute(step.command))]


def test_the_traces_keep_the_books() -> None:
    """Every trace of contexts and gradients: nothing is counted twice that the theorems claim of."""
    assert len(TRACES) > 50
    assert {path.stem: wrong for path in TRACES if (wrong := followed(decode_trace(path.read_bytes())))} == {}


def test_a_reference_that_forgot_its_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reset refusal taken out of the reference a second run of a contributor is accepted, and reported."""
    script = Script()
    for number, routine in enumerate(routines("[zW] [aW]")):
        script.compile(routine, number - 1 if number else None)
    assert [script.run(number) for number in (0, 1, 1)] == [True, True, False]
    assert followed(script.trace("", [])) == []
    monkeypatch.setattr(checking, "overdrawn", lambda *_: [])
    assert followed(script.trace("", [])) == ["routine 1 added to W 2 times since its reset"]


class FollowedWorld(ContextWorld):
    """A world of the machine with token bags beside its reference."""

    wrong: list[str] = []  # noqa: RUF012
    runs = 0

    def __init__(self, driver: Driver, chooser: Chooser) -> None:
        super().__init__(driver, chooser)
        self.follower = Follower(driver)

    def learn(self, command: Command, outcome: Outcome) -> None:
        super().learn(command, outcome)
        FollowedWorld.runs += command.do == "run"
        FollowedWorld.wrong += self.follower.follow(command, outcome)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_keep_the_books(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the context machine, their comps hand-built and derived: the bags find nothing wrong."""
    monkeypatch.setattr(machine, "ContextWorld", FollowedWorld)
    monkeypatch.setattr(FollowedWorld, "wrong", [])
    monkeypatch.setattr(FollowedWorld, "runs", 0)
    machine.context_program(counterfoil_reference, counterfoil, seed, 120, Tally())
    assert FollowedWorld.wrong == [] and FollowedWorld.runs
