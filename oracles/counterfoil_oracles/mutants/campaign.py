"""Hunting planted defects, two at a time, and the canary: the same hunt on halves without a defect."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Final

from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.mutants.defect import Defect
from counterfoil_oracles.mutants.hunt import Hunt
from counterfoil_oracles.mutants.planting import Ground

SEEDS: Final = (1, 1_000_001, 2_000_001)
"""Where the searches start: far enough apart that no two run the same program."""

STEPS: Final = 200_000
"""Most commands to find a defect from one seed."""

PATIENCE: Final = 600.0
"""Seconds for one seed before a search counts as hung."""


@dataclass(frozen=True)
class Result:
    """What came of hunting one defect (None: the canary): a hunt per seed, and what went wrong, if anything did."""

    defect: Defect | None
    hunts: list[Hunt] = field(default_factory=list)
    trouble: str | None = None

    @property
    def found(self) -> bool:
        """Whether the halves parted from every seed, with nothing else amiss."""
        return self.trouble is None and all(hunt.what is not None for hunt in self.hunts)

    @property
    def clean(self) -> bool:
        """Whether the halves parted from no seed, with nothing else amiss."""
        return self.trouble is None and all(hunt.what is None for hunt in self.hunts)


def hunt_all(
    ground: Ground, defects: Sequence[Defect], seeds: Sequence[int] = SEEDS, steps: int = STEPS, jobs: int = 2
) -> Iterator[Result]:
    """The result of each defect, as they come."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        running = [pool.submit(hunt_one, ground, defect, seeds, steps) for defect in defects]
        for done in as_completed(running):
            yield done.result()


def hunt_one(ground: Ground, defect: Defect | None, seeds: Sequence[int], steps: int) -> Result:
    """Plant a defect and hunt it from each seed, in a process of its own; None hunts what should not be there."""
    try:
        environment = ground.plant(defect)
    except HarnessError as error:
        return Result(defect, trouble=str(error))
    command = [sys.executable, "-m", "counterfoil_oracles.mutants.hunt", "--steps", str(steps), *map(str, seeds)]
    try:
        ran = subprocess.run(
            command, env=environment, cwd=ground.room, capture_output=True, text=True, timeout=PATIENCE * len(seeds)
        )
    except subprocess.TimeoutExpired:
        return Result(defect, trouble=f"it hangs: nothing came in {PATIENCE:.0f} s a seed")
    finally:
        if defect is not None:
            shutil.rmtree(ground.place(defect), ignore_errors=True)
    hunts = [Hunt(**json.loads(line)) for line in ran.stdout.splitlines()]
    return Result(defect, hunts, _trouble(ran.returncode, ran.stderr))


def canary(ground: Ground, results: Sequence[Result], seeds: Sequence[int], jobs: int = 2) -> list[Result]:
    """The halves as they are, hunted from each seed for as many steps as any defect took from there."""
    needed = {
        seed: max((result.hunts[at].steps for result in results if at < len(result.hunts)), default=0)
        for at, seed in enumerate(seeds)
    }
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(lambda seed: hunt_one(ground, None, [seed], needed[seed]), seeds))


def _trouble(code: int, errors: str) -> str | None:
    if code == 0:
        return None
    if code < 0:
        return f"it crashes: {signal.Signals(-code).name}"
    return f"the harness fails: {(errors.strip().splitlines() or [str(code)])[-1]}"
