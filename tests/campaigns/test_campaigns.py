"""Whole campaigns over a local cluster of one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis.database import DirectoryBasedExampleDatabase

from counterfoil_oracles import cli
from counterfoil_oracles.campaigns import clusters
from counterfoil_oracles.campaigns.sampling import unsampled
from counterfoil_oracles.campaigns.stores import Failures

FAKE = "counterfoil_oracles.targets.fakes:overlap_unseen"
HEALTHY = Path(__file__).parents[1] / "traces" / "arrays"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler with one worker."""
    with clusters.connected(None, 1, "2GiB", 0) as client:
        yield client.scheduler.address


def campaign(where: Path, scheduler: str, *arguments: str) -> list[str]:
    """The arguments of a campaign on that scheduler that keeps everything below a directory."""
    kept = ["--database", str(where / "database"), "--keep", str(where / "failures")]
    return ["check", "--engine", "dask", "--scheduler", scheduler, *kept, *arguments]


def test_a_defect_is_found_kept_and_found_again_first(
    scheduler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run of a finished campaign replays what is known: the same findings, the exit code 1 both times."""
    arguments = campaign(tmp_path, scheduler, "--programs", "3", "--chapter", "door", FAKE)
    assert cli.main(arguments) == 1
    first = capsys.readouterr().out
    assert cli.main(arguments) == 1
    second = capsys.readouterr().out
    found = {line.partition(" (")[0] for line in first.splitlines() if line.startswith("DIVERGENCE")}
    assert found and found == {line.partition(" (")[0] for line in second.splitlines() if line.startswith("DIVERGENCE")}
    assert len(Failures(DirectoryBasedExampleDatabase(tmp_path / "database"), FAKE).known()) == len(found)


def test_a_healed_finding_is_forgotten(scheduler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace that shows nothing any more leaves the database, and the campaign conforms."""
    failures = Failures(DirectoryBasedExampleDatabase(tmp_path / "database"), "counterfoil")
    failures.keep(("kernel add: accepted", "door/overlapping"), sorted(HEALTHY.glob("*.jsonl"))[0].read_bytes())
    assert cli.main(campaign(tmp_path, scheduler, "--programs", "1", "--machine", "arrays")) == 0
    assert "1 known findings are healed" in capsys.readouterr().out
    assert failures.known() == []


def test_no_stacks_are_sampled_while_a_machine_runs(scheduler: str) -> None:
    """Dask's sampling keeps dropped memory alive: it stands still in the block, and goes on after it."""
    with clusters.distributed.Client(scheduler, set_as_default=False) as client:
        assert client.submit(_samplings, pure=False).result() == [True, False, True]


def _samplings() -> list[bool]:
    sampler: Any = clusters.distributed.get_worker().periodic_callbacks["profile"]
    before = sampler.is_running()
    with unsampled():
        inside = sampler.is_running()
    return [before, inside, sampler.is_running()]


def test_a_scheduler_that_is_not_there_breaks_the_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, and no campaign without workers."""
    monkeypatch.setattr(clusters, "ANSWER_SECONDS", 0.5)
    assert cli.main(campaign(tmp_path, "tcp://127.0.0.1:9", "--programs", "1")) == 3
