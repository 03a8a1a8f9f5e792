"""Targets that bring down the process they are loaded into."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from counterfoil_oracles.targets.fakes import DEFECTS, Fake
from counterfoil_spec.protocol import TargetOutcome, TargetStep

ROOM = "COUNTERFOIL_TEST_ROOM"
"""The environment's name for the directory where deaths are noted."""


def _is_first() -> bool:
    """Note one more death; whether it is the first, of all processes."""
    room = Path(os.environ[ROOM])
    for number in range(1000):
        try:
            (room / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        return number == 0
    raise AssertionError("a thousand deaths")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _once(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    if len(fake.seen) == 50 and not list(Path(os.environ[ROOM]).iterdir()) and _is_first():
        _die()
    return outcome


def _always(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    _is_first()
    _die()
    return outcome


def _greedy(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    _is_first()
    held = []
    while True:
        held.append(b"x" * (64 << 20))
        time.sleep(0.02)


def killed_once() -> Fake:
    """Its process is killed in the middle of the first unit, and never again."""
    return Fake("killed once", _once)


def killed_always() -> Fake:
    """Its process is killed at every first step."""
    return Fake("killed always", _always)


def greedy() -> Fake:
    """It takes memory without end."""
    return Fake("greedy", _greedy)


def forgiving_and_killed_once() -> Fake:
    """It forgives what reaches past the end, and one of its processes is killed in the middle of a unit."""
    forgiven = DEFECTS["reach_forgiven"]
    return Fake("forgiving, killed once", lambda fake, step, outcome: forgiven(fake, step, _once(fake, step, outcome)))
