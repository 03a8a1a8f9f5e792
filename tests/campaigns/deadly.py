"""Targets that bring down the process they are loaded into."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from counterfoil_oracles.targets.fakes import Fake
from counterfoil_spec.protocol import TargetOutcome, TargetStep

ROOM = "COUNTERFOIL_TEST_ROOM"
"""The environment's name for the directory where deaths are noted."""


def _noted() -> int:
    """Note one more death; how many there were before."""
    room = Path(os.environ[ROOM])
    before = len(list(room.iterdir()))
    (room / str(before)).touch()
    return before


def _once(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    if len(fake.seen) == 50 and not list(Path(os.environ[ROOM]).iterdir()):
        _noted()
        os.kill(os.getpid(), signal.SIGKILL)
    return outcome


def _always(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    _noted()
    os.kill(os.getpid(), signal.SIGKILL)
    return outcome


def _greedy(fake: Fake, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
    _noted()
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
