"""A worker's death is no verdict; a driver's is no loss."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest
from tests.campaigns.deadly import ROOM

from counterfoil_oracles import cli
from counterfoil_oracles.campaigns.planning import Done, Planned


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory where the deadly targets note deaths."""
    place = tmp_path / "deaths"
    place.mkdir()
    monkeypatch.setenv(ROOM, str(place))
    return place


def campaign(where: Path, *arguments: str) -> list[str]:
    """The arguments of a campaign of one worker that keeps everything below a directory."""
    kept = ["--database", str(where / "database"), "--keep", str(where / "failures")]
    return ["check", "--engine", "dask", "--workers", "1", *kept, *arguments]


def test_a_unit_whose_worker_was_killed_is_tried_again(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGKILL in the middle of a unit: another worker runs it to its end, and nothing is reported."""
    target = "tests.campaigns.deadly:killed_once"
    assert cli.main(campaign(tmp_path, "--in-process", "--programs", "2", "--chapter", "door", target)) == 0
    assert len(list(room.iterdir())) == 1
    assert "NO VERDICT" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["killed_always", "greedy"])
def test_a_unit_that_ends_its_workers_has_no_verdict(
    name: str, room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a signal, or for the memory it took: after so many deaths it is named, as neither pass nor fail."""
    limits = ("--in-process", "--deaths", "1", "--memory", "700MiB", "--programs", "2", "--chapter", "door")
    code = cli.main(campaign(tmp_path, *limits, f"tests.campaigns.deadly:{name}"))
    printed = capsys.readouterr().out
    assert "NO VERDICT door, programs 0 to 1: its worker died, 2 times" in printed
    assert "DIVERGENCE" not in printed and "no divergence" not in printed
    assert (code, len(list(room.iterdir()))) == (4, 2)


def test_a_campaign_goes_on_after_its_driver_was_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command runs what had no answer, and nothing twice."""
    arguments = campaign(tmp_path, "--machine", "arrays", "--programs", "70")
    with subprocess.Popen(
        [sys.executable, "-m", "counterfoil_oracles.cli", *arguments], stderr=subprocess.DEVNULL
    ) as driver:
        before = _first_answer(tmp_path / "database")
        os.kill(driver.pid, signal.SIGKILL)
    assert driver.returncode == -signal.SIGKILL
    assert cli.main(arguments) == 0
    events = _events(tmp_path / "database")
    planned = {event.number: event for event in events if isinstance(event, Planned)}
    done = [event.number for event in events if isinstance(event, Done)]
    assert before and done[: len(before)] == before and len(done) == len(set(done)) == len(planned)
    seeds = [seed for unit in planned.values() for seed in range(unit.first, unit.first + unit.programs)]
    assert sorted(seeds) == list(range(70))
    assert "70 programs" in capsys.readouterr().out


def test_a_campaign_says_so_when_its_scheduler_dies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, and what was answered is kept."""
    here = (
        "import sys\n"
        "from counterfoil_oracles.campaigns import clusters\n"
        "if __name__ == '__main__':\n"
        "    with clusters.connected(None, 1, '2GiB', 0) as client:\n"
        "        print(client.scheduler.address, flush=True)\n"
        "        sys.stdin.read()\n"
    )
    script = tmp_path / "here.py"
    script.write_text(here)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(script)], text=True, **pipes) as there:  # type: ignore[call-overload]
        address = there.stdout.readline().strip()
        killer = threading.Thread(target=lambda: (_first_answer(tmp_path / "database"), there.kill()))
        killer.start()
        assert cli.main(campaign(tmp_path, "--machine", "arrays", "--time", "20", "--scheduler", address)) == 3
        killer.join()
    assert "the scheduler is gone" in capsys.readouterr().out
    assert _first_answer(tmp_path / "database")


def _first_answer(database: Path) -> list[int]:
    """Wait for an answered unit in the journal; the numbers of those there are."""
    for _ in range(600):
        done = [event.number for event in _events(database) if isinstance(event, Done)]
        if done:
            return done
        time.sleep(0.05)
    raise AssertionError("no unit was answered in 30 seconds")


def _events(database: Path) -> list[Planned | Done]:
    lines = [line for path in database.glob("campaign-*.jsonl") for line in path.read_bytes().splitlines(True)]
    return [msgspec.json.decode(line, type=Planned | Done) for line in lines if line.endswith(b"\n")]
