"""Known differences cannot go stale: a changed, a vanished or a new one fails the run."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import counterfoil_reference
from counterfoil_oracles.environment import HarnessError
from counterfoil_oracles.targets import fakes, inprocess, known
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.known import Known
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A check of a fake that differs by one rule."""
    selection = Selection(seconds=60, steps=400)
    target = fakes.reach_forgiven()
    keep = tmp_path_factory.mktemp("kept")
    campaign = Campaign(counterfoil_reference, lambda: inprocess.Direct(target), selection, Profile(), Mapper(), keep)
    return campaign.run(shipped())


def test_what_is_known_does_not_fail(report: Report) -> None:
    """The entries written from a report let the same report pass."""
    assert not known.judge(report, known.updated(report, []), whole=True).fails


def test_what_is_new_fails(report: Report) -> None:
    """A finding without an entry is new."""
    verdicts = known.judge(report, [], whole=True)
    assert verdicts.fails
    assert [found.finding.rule for found in verdicts.new] == ["arrays/past-the-end"]


def test_an_entry_never_met_fails_a_whole_check(report: Report) -> None:
    """It is stale; a partial check says nothing of it."""
    entries = [*known.updated(report, []), Known("kernel add: accepted", "door/overlapping", "x", "y")]
    assert known.judge(report, entries, whole=True).stale == entries[-1:]
    assert not known.judge(report, entries, whole=False).fails


def test_an_entry_that_fails_otherwise_fails(report: Report) -> None:
    """The outcome is part of what is known."""
    [entry] = known.updated(report, [])
    other = Known(entry.case, entry.rule, "refused what is accepted", entry.reason)
    assert [each for each, _ in known.judge(report, [other], whole=True).changed] == [other]


def test_updating_keeps_reasons(report: Report) -> None:
    """What somebody explained stays explained."""
    [entry] = known.updated(report, [])
    explained = Known(entry.case, entry.rule, entry.outcome, "views may reach further here")
    assert known.updated(report, [explained]) == [explained]


def test_a_file_is_read_as_it_was_written(report: Report, tmp_path: Path) -> None:
    """Writing and reading agree, and the file is TOML."""
    entries = known.updated(report, [])
    known.write(tmp_path / "known.toml", entries, "fake")
    assert known.read(tmp_path / "known.toml") == entries
    assert tomllib.loads((tmp_path / "known.toml").read_text())["known"]


@pytest.mark.parametrize("text", ["not toml [", "[[known]]\ncase = 'x'", "[[known]]\n" * 2])
def test_a_file_that_is_none_breaks_the_harness(tmp_path: Path, text: str) -> None:
    """It is never read as a file without entries."""
    (tmp_path / "known.toml").write_text(text)
    with pytest.raises(HarnessError):
        known.read(tmp_path / "known.toml")
