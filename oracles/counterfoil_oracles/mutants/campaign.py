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
from pathlib import Path
from typing import Final

from counterfoil_oracles.cuda import emulation
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.mutants.defect import Defect
from counterfoil_oracles.mutants.hunt import Hunt
from counterfoil_oracles.mutants.planting import Ground

SEEDS: Final = (1, 1_000_001, 2_000_001)
"""Where the searches start: far enough apart that no two run the same program."""

PATIENCE: Final = 600.0
"""Seconds for one seed before a search counts as hung."""


@dataclass(frozen=True)
class Search:
    """How defects are hunted: which machine, from which seeds, how many commands each, how many defects at a time.

    ``traces``: the directory that keeps a trace of each defect found, which tells it from the halves as they are.
    ``mode``: over CUDA devices of the emulated driver in that mode.
    """

    machine: str
    seeds: Sequence[int] = SEEDS
    steps: int = 0
    jobs: int = 2
    traces: Path | None = None
    mode: str | None = None


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


def hunt_all(ground: Ground, defects: Sequence[Defect], search: Search) -> Iterator[Result]:
    """The result of each defect, as they come."""
    with ThreadPoolExecutor(max_workers=search.jobs) as pool:
        running = [pool.submit(hunt_one, ground, defect, search) for defect in defects]
        for done in as_completed(running):
            yield done.result()


def hunt_one(ground: Ground, defect: Defect | None, search: Search) -> Result:
    """Plant a defect and hunt it from each seed, in a process of its own; None hunts what should not be there."""
    try:
        environment = _driven(ground.plant(defect), search)
        return _hunted(ground, defect, search, environment)
    except HarnessError as error:
        return Result(defect, trouble=str(error))
    except subprocess.TimeoutExpired:
        return Result(defect, trouble=f"it hangs: nothing came in {PATIENCE:.0f} s a seed")
    finally:
        if defect is not None:
            shutil.rmtree(ground.place(defect), ignore_errors=True)


def canary(ground: Ground, results: Sequence[Result], search: Search) -> list[Result]:
    """The halves as they are, hunted from each seed for as many steps as any defect took from there."""

    def song(at: int, seed: int) -> Result:
        needed = max((result.hunts[at].steps for result in results if at < len(result.hunts)), default=0)
        return hunt_one(ground, None, Search(search.machine, [seed], needed, mode=search.mode))

    with ThreadPoolExecutor(max_workers=search.jobs) as pool:
        return list(pool.map(song, range(len(search.seeds)), search.seeds))


def _driven(environment: dict[str, str], search: Search) -> dict[str, str]:
    """The environment over the emulated driver, if the search is; cubins are found by their text, so all share them."""
    if search.mode is None:
        return environment
    del environment["COUNTERFOIL_CACHE"]
    return {**emulation.environment(search.mode), **environment, "EMUCUDA_MODE": search.mode}


def tells(ground: Ground, environment: dict[str, str], trace: Path) -> bool:
    """Whether a trace does not end as recorded on those halves; HarnessError where it does not run."""
    ran = _python(ground, environment, 1, "telling", "differs", str(trace))
    if ran.returncode > 1:
        raise HarnessError(f"{trace} does not run: {_last(ran.stderr)}")
    return ran.returncode != 1  # a crash tells too


def _hunted(ground: Ground, defect: Defect | None, search: Search, environment: dict[str, str]) -> Result:
    options = ["--machine", search.machine, "--steps", str(search.steps)]
    if search.mode is not None:
        options += ["--device", "cuda"]
    trace = None if defect is None or search.traces is None else ground.place(defect) / "found.jsonl"
    if trace is not None:
        trace.parent.mkdir(parents=True, exist_ok=True)
        options += ["--trace", str(trace)]
    ran = _python(ground, environment, len(search.seeds), "hunt", *options, *map(str, search.seeds))
    hunts = [Hunt(**json.loads(line)) for line in ran.stdout.splitlines()]
    trouble = _trouble(ran.returncode, ran.stderr)
    if trouble is None and trace is not None and trace.exists():
        assert defect is not None and search.traces is not None
        trouble = _kept(ground, defect, environment, trace, search.traces)
    return Result(defect, hunts, trouble)


def _kept(ground: Ground, defect: Defect, environment: dict[str, str], trace: Path, directory: Path) -> str | None:
    """Record the trace on the halves as they are and keep it; what is wrong where it does not tell the defect."""
    words = ["--title", defect.breaks, "--id", defect.id]
    ran = _python(ground, ground.plant(None), 1, "telling", "record", str(trace), *words)
    if ran.returncode:
        return f"its trace parts the halves without it too: {ran.stdout.strip() or _last(ran.stderr)}"
    if not tells(ground, environment, trace):
        return "its trace does not tell it from the halves as they are"
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(trace, directory / f"{defect.name}.jsonl")
    return None


def _python(
    ground: Ground, environment: dict[str, str], seeds: int, module: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"counterfoil_oracles.mutants.{module}", *arguments]
    return subprocess.run(
        command, env=environment, cwd=ground.room, capture_output=True, text=True, timeout=PATIENCE * seeds
    )


def _trouble(code: int, errors: str) -> str | None:
    if code == 0:
        return None
    if code < 0:
        return f"it crashes: {signal.Signals(-code).name}"
    return f"the harness fails: {_last(errors) or code}"


def _last(errors: str) -> str:
    return (errors.strip().splitlines() or [""])[-1]
