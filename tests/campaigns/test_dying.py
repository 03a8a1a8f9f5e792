"""A worker's death is no verdict; a driver's or a scheduler's is no loss."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from counterfoil_oracles import cli
from counterfoil_oracles.campaigns import clusters
from counterfoil_oracles.campaigns.planning import Done, Planned

Arguments = Callable[..., list[str]]


@pytest.fixture(scope="module")
def mortal(deaths_here: Path) -> Iterator[str]:
    """The address of a scheduler with one worker, which tries a unit again after one death."""
    with clusters.connected(None, 1, "2GiB", 1) as client:
        yield client.scheduler.address


def test_a_unit_whose_worker_was_killed_is_tried_again(
    mortal: str, campaign: Arguments, deaths: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGKILL in the middle of a unit: another worker runs it to its end, and nothing is reported."""
    target = "tests.campaigns.deadly:killed_once"
    arguments = campaign("--scheduler", mortal, "--in-process", "--programs", "2", "--chapter", "arrays", target)
    assert cli.main(arguments) == 0
    assert deaths() == 1
    assert "NO VERDICT" not in capsys.readouterr().out


@pytest.mark.long
def test_a_unit_that_ends_its_workers_has_no_verdict(
    mortal: str, campaign: Arguments, deaths: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """After so many deaths it is named, as neither pass nor fail."""
    target = "tests.campaigns.deadly:killed_always"
    arguments = campaign("--scheduler", mortal, "--in-process", "--programs", "2", "--chapter", "arrays", target)
    assert cli.main(arguments) == 4
    _is_unsettled(capsys.readouterr().out, "2 times")
    assert deaths() in (1, 2)  # Dask itself ends a worker that starts too slowly


@pytest.mark.long
def test_a_worker_killed_for_the_memory_it_took_has_no_verdict(
    campaign: Arguments, deaths: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """In a cluster of this machine, which is given the bounds of the command line."""
    limits = ("--workers", "1", "--deaths", "0", "--memory", "700MiB", "--programs", "2", "--chapter", "arrays")
    assert cli.main(campaign(*limits, "--in-process", "tests.campaigns.deadly:greedy")) == 4
    _is_unsettled(capsys.readouterr().out, "1 times")
    assert deaths() == 1


def _is_unsettled(printed: str, times: str) -> None:
    assert f"NO VERDICT arrays, programs 0 to 1: its worker died, {times}" in printed
    assert "DIVERGENCE" not in printed and "no divergence" not in printed


@pytest.mark.long
def test_a_campaign_goes_on_after_its_driver_was_killed(
    scheduler: str, campaign: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command runs what had no answer, and nothing twice."""
    arguments = campaign("--scheduler", scheduler, "--machine", "arrays", "--programs", "70")
    with subprocess.Popen(
        [sys.executable, "-m", "counterfoil_oracles.cli", *arguments], stderr=subprocess.DEVNULL
    ) as driver:
        before = _first_answer(tmp_path / "database")
        os.kill(driver.pid, signal.SIGKILL)
    assert driver.returncode == -signal.SIGKILL
    assert cli.main(arguments) == 0
    assert "70 programs" in capsys.readouterr().out
    _each_program_ran_once(tmp_path / "database", before, 70)


SCHEDULER = """
import sys
from counterfoil_oracles.campaigns import clusters
if __name__ == "__main__":
    with clusters.connected(None, 1, "2GiB", 0) as client:
        print(client.scheduler.address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.long
def test_a_campaign_goes_on_after_its_scheduler_was_killed(
    scheduler: str, campaign: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, and what was answered is kept: over another scheduler nothing of it runs again."""
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    arguments = campaign("--machine", "arrays", "--programs", "70")
    before: list[int] = []

    def kill_after_an_answer(there: subprocess.Popen[str]) -> None:
        before.extend(_first_answer(tmp_path / "database"))
        there.kill()

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(script)], text=True, **pipes) as there:  # type: ignore[call-overload]
        address = there.stdout.readline().strip()
        killer = threading.Thread(target=kill_after_an_answer, args=[there])
        killer.start()
        assert cli.main([*arguments, "--scheduler", address]) == 3
        killer.join()
    assert "the scheduler is gone" in capsys.readouterr().out
    assert cli.main([*arguments, "--scheduler", scheduler]) == 0
    _each_program_ran_once(tmp_path / "database", before, 70)


def _each_program_ran_once(database: Path, before: list[int], programs: int) -> None:
    """The journal says so; what was answered before the death comes first in it."""
    events = _events(database)
    planned = {event.number: event for event in events if isinstance(event, Planned)}
    done = [event.number for event in events if isinstance(event, Done)]
    assert before and done[: len(before)] == before and len(done) == len(set(done)) == len(planned)
    seeds = [seed for unit in planned.values() for seed in range(unit.first, unit.first + unit.programs)]
    assert sorted(seeds) == list(range(programs))


def _first_answer(database: Path) -> list[int]:
    """Wait for an answered unit in the journal; the numbers of those there are."""
    for _ in range(12000):
        done = [event.number for event in _events(database) if isinstance(event, Done)]
        if done:
            return done
        time.sleep(0.01)
    raise AssertionError("no unit was answered in two minutes")


def _events(database: Path) -> list[Planned | Done]:
    lines = [line for path in database.glob("campaign-*.jsonl") for line in path.read_bytes().splitlines(True)]
    return [msgspec.json.decode(line, type=Planned | Done) for line in lines if line.endswith(b"\n")]
