"""Whole campaigns over a cluster of one process."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis.database import DirectoryBasedExampleDatabase

from counterfoil_oracles import cli
from counterfoil_oracles.campaigns import clusters
from counterfoil_oracles.campaigns.sampling import unsampled
from counterfoil_oracles.campaigns.stores import Failures

FAKE = "counterfoil_oracles.targets.fakes:reach_forgiven"
SERVE = [sys.executable, "-m", "counterfoil_oracles.targets.serve"]
HEALTHY = Path(__file__).parents[1] / "traces" / "arrays"

Arguments = Callable[..., list[str]]


def found_in(report: str) -> set[str]:
    """The cases of a report as text."""
    return {line.partition(" (")[0] for line in report.splitlines() if line.startswith("DIVERGENCE")}


def test_a_defect_is_found_kept_and_found_again_first(
    scheduler: str, campaign: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run of a finished campaign replays what is known: the same findings, the exit code 1 both times."""
    arguments = campaign("--scheduler", scheduler, "--programs", "3", "--chapter", "arrays", FAKE)
    assert cli.main(arguments) == 1
    first = found_in(capsys.readouterr().out)
    assert cli.main(arguments) == 1
    second = found_in(capsys.readouterr().out)
    assert first and first == second
    assert len(Failures(DirectoryBasedExampleDatabase(tmp_path / "database"), FAKE).known()) == len(first)


def test_a_program_is_checked_and_each_finding_is_told_on_its_own(
    scheduler: str, campaign: Arguments, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target that speaks the protocol: the line that replays a finding, and the snippet, show it without Dask."""
    arguments = campaign("--scheduler", scheduler, "--programs", "1", "--chapter", "arrays", "--", *SERVE, FAKE)
    assert cli.main(arguments) == 1
    printed = capsys.readouterr().out
    replay = re.search(r"reproduce: counterfoil (replay .* -- .*)", printed)
    snippet = re.search(r"on its own: (.*\.sh)", printed)
    assert replay is not None and snippet is not None
    assert cli.main(replay[1].split()) == 1
    assert capsys.readouterr().out.startswith("FAILED")
    assert subprocess.run([snippet[1]], capture_output=True, timeout=60).returncode == 1  # it shows itself again


def test_a_healed_finding_is_forgotten(
    scheduler: str, campaign: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace that shows nothing any more leaves the database, and the campaign conforms."""
    failures = Failures(DirectoryBasedExampleDatabase(tmp_path / "database"), "counterfoil")
    failures.keep(("kernel add: accepted", "door/overlapping"), sorted(HEALTHY.glob("*.jsonl"))[0].read_bytes())
    assert cli.main(campaign("--scheduler", scheduler, "--programs", "1", "--machine", "arrays")) == 0
    assert "1 known findings are healed" in capsys.readouterr().out
    assert failures.known() == []


def test_the_dashboard_is_where_it_is_said(
    scheduler: str, campaign: Arguments, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, before anything runs; Dask answers there, with pages or with the word that it is alive."""
    cli.main(campaign("--scheduler", scheduler, "--programs", "1", "--machine", "arrays"))
    link = re.match(r"dashboard: (http://127\.0\.0\.1:\d+)/status\n", capsys.readouterr().err)
    assert link is not None
    with urllib.request.urlopen(f"{link[1]}/health", timeout=10) as answer:
        assert answer.read() == b"ok"


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


def test_a_scheduler_that_is_not_there_breaks_the_harness(campaign: Arguments, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, and no campaign without workers."""
    monkeypatch.setattr(clusters, "ANSWER_SECONDS", 0.5)
    assert cli.main(campaign("--scheduler", "tcp://127.0.0.1:9", "--programs", "1")) == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--chapter", "door"], "--chapter is for targets; a machine runs everything"),
        (["--device", "cuda", FAKE], "--device is for the halves"),
        (["--subject", "counterfoil", "--", "./mine"], "--subject is for the halves"),
        (["unix:/socket"], "workers start their target, and unix:PATH is one that is there already"),
        (["--workers", "0"], "counts and times are above 0"),
    ],
)
def test_what_makes_no_sense_together_is_refused_in_a_sentence(
    words: list[str], reason: str, campaign: Arguments, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, before a database or a cluster is made."""
    assert cli.main(campaign(*words)) == 2
    assert capsys.readouterr().err == f"counterfoil check --engine dask: {reason}\n"
    assert list(tmp_path.iterdir()) == []
