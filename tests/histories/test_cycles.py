"""Delivery is watched beside everything the machine does: a rule that both halves lack is found by it alone."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import counterfoil_reference as reference
from counterfoil_oracles.driver import Driver
from counterfoil_oracles.histories.following import Follower
from counterfoil_oracles.histories.model import CLAUSES, PROPAGATED, routines
from counterfoil_oracles.histories.scripts import Script
from counterfoil_oracles.machines.choices import RandomChooser
from counterfoil_oracles.machines.contexts.machine import interlude
from counterfoil_oracles.machines.contexts.plans import compiling, cycles
from counterfoil_oracles.machines.contexts.tally import Tally
from counterfoil_oracles.machines.contexts.world import ContextWorld
from counterfoil_oracles.machines.program import Diverged, Program
from counterfoil_oracles.subjects import second_copy

CYCLES = 12
"""Paths that a program runs from end to end."""


def drop(monkeypatch: pytest.MonkeyPatch, half: Any, clause: str) -> None:
    """Take a clause out of the half's rules."""
    match clause:
        case "10b":
            monkeypatch.setattr(half.lineage, "propagated_earlier", lambda *_: [])
        case "req":
            monkeypatch.setattr(half.lineage, "unowned", lambda *_: [])
        case "sharing":
            monkeypatch.setattr(half.lineage, "accumulated_elsewhere", lambda *_: [])


def parts(subject: Any, seed: int) -> str | None:
    """Where a program of cycles parts, in words; None if nowhere."""
    with Program(reference, subject, RandomChooser(seed), Tally(), None, ContextWorld) as program:
        world = program.world
        assert isinstance(world, ContextWorld)
        try:
            program.run(compiling.begin(world))
            for _ in range(CYCLES):
                program.run(cycles.whole_path(world))
                program.run(interlude(world))
        except Diverged as found:
            return found.divergence.difference
    return None


@pytest.fixture
def twin() -> ModuleType:
    """The reference imported once more, with state of its own."""
    return second_copy("counterfoil_reference")


def test_cycles_deliver(twin: ModuleType) -> None:
    """With every rule in place, nothing is found."""
    assert [parts(twin, seed) for seed in range(4)] == [None] * 4


@pytest.mark.parametrize(
    ("clause", "what"),
    [
        pytest.param("10b", "was not carried into", marks=pytest.mark.long),
        ("req", "is required, and nothing on the path owns it"),
        pytest.param("sharing", "lost an addition of the cycle", marks=pytest.mark.long),
    ],
)
def test_a_rule_that_both_halves_lack_is_found(
    clause: str, what: str, twin: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The halves agree at every step, no allowance is exceeded, nothing is twice anywhere: only a cycle tells."""
    for half in (reference, twin):
        drop(monkeypatch, half, clause)
    found = next((words for seed in range(40) if (words := parts(twin, seed)) is not None), None)
    assert found is not None and found.startswith("accepted against a theorem: ") and what in found


def test_a_contribution_after_the_propagation_is_told_by_the_cycle_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted without gradients/propagated-earlier, run once in order: T3 is broken, T1 and T2 are not."""
    assert PROPAGATED in CLAUSES
    monkeypatch.setattr(reference.lineage, "propagated_earlier", lambda *_: [])
    script = Script()
    for number, routine in enumerate(routines("[zH zW] [P] [aH]")):
        script.compile(routine, number - 1 if number else None)
    for number in range(3):
        assert script.run(number, 2)
    with Driver(reference) as driver:
        follower = Follower(driver)
        steps = script.trace("", []).steps
        wrong = [text for step in steps for text in follower.follow(step.command, driver.execute(step.command))]
    assert wrong == ["H was not carried into W whole"]
