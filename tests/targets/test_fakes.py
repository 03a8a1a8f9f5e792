"""The checker finds every fake runtime's one defect, and nothing in the halves themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterfoil_reference
from counterfoil_oracles.targets import campaign, fakes, inprocess, ours
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.target import Target
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile

FROM_PROGRAMS_ALONE = sorted(set(fakes.DEFECTS) - {"wrong_facts", "dead_is_alive"})
"""Defects of what the random programs themselves look at."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding is enough here; how short its program gets is tested elsewhere."""
    monkeypatch.setattr(campaign, "SHRINKING_SECONDS", 0.1)


def checked(target: object, keep: Path, steps: int, with_vectors: bool = True) -> Report:
    def opened() -> Target:
        return inprocess.Direct(target)  # type: ignore[arg-type]

    selection = Selection(seconds=60, steps=steps, differences=1)
    check = Campaign(counterfoil_reference, opened, selection, Profile(), Mapper(), keep)
    return check.run(shipped() if with_vectors else ())


@pytest.mark.parametrize("name", fakes.DEFECTS)
def test_a_defect_is_found_by_the_vectors(name: str, tmp_path: Path) -> None:
    """Each fake parts from the reference within the vectors' first steps."""
    report = checked(getattr(fakes, name)(), tmp_path, 2500)
    assert report.broken is None
    assert report.found


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if at % 6 else ()) for at, name in enumerate(FROM_PROGRAMS_ALONE)],
)
def test_a_defect_is_found_by_random_programs(name: str, tmp_path: Path) -> None:
    """Without a vector too. Every other program is of contexts."""
    assert checked(getattr(fakes, name)(), tmp_path, 5000, with_vectors=False).found


@pytest.mark.parametrize("half", [ours.fast, pytest.param(ours.reference, marks=pytest.mark.long)])
def test_the_halves_conform(half: object, tmp_path: Path) -> None:
    """Neither half parts from the reference: what is found in others is theirs."""
    if half is ours.reference:
        from counterfoil_oracles.subjects import second_copy

        target = ours.HalfTarget(second_copy("counterfoil_reference"), "reference")
    else:
        target = ours.fast()
    report = checked(target, tmp_path, 8000)
    assert report.broken is None
    assert {key: found.finding.words for key, found in report.found.items()} == {}


def test_a_target_that_skips_everything_ran_nothing(tmp_path: Path) -> None:
    """Skipping is no agreement."""
    report = checked(fakes.lazy(), tmp_path, 100)
    assert (report.steps, report.found) == (0, {})
    assert report.skipped
