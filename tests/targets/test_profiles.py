"""Each field of a profile does what docs/protocol.md says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import counterfoil_reference
from counterfoil_oracles.targets import inprocess, ours
from counterfoil_oracles.targets.campaign import Campaign, Report, Selection
from counterfoil_oracles.targets.mapper import Mapper
from counterfoil_oracles.targets.ours import HalfTarget
from counterfoil_oracles.targets.vectors import shipped
from counterfoil_spec.protocol import Profile, Refusal, TargetOutcome, TargetStep, Value


class Watched:
    """The fast half, with every step it is asked and a change of its outcomes."""

    def __init__(self) -> None:
        self.half: HalfTarget = ours.fast()
        self.steps: list[TargetStep] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.half, name)

    def run(self, step: TargetStep) -> TargetOutcome:
        self.steps.append(step)
        return self.changed(step, self.half.run(step))

    def changed(self, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        return outcome


def checked(target: Watched, profile: Profile, keep: Path, steps: int = 5000) -> Report:
    selection = Selection(seconds=60, steps=steps)
    campaign = Campaign(
        counterfoil_reference, lambda: inprocess.Direct(target), selection, profile, Mapper(), keep  # type: ignore[arg-type]
    )  # fmt: skip
    return campaign.run(shipped())


def lengths(data: Any) -> list[int]:
    if isinstance(data, dict):
        keys = ("shape", "reshape", "broadcast", "permute")
        own = [len(value) for key, value in data.items() if key in keys and value]
        return own + [length for value in data.values() for length in lengths(value)]
    return [length for entry in data for length in lengths(entry)] if isinstance(data, list) else []


def test_no_command_goes_past_the_rank(tmp_path: Path) -> None:
    """With max_rank 2 nothing of three axes is asked, and what is asked conforms."""
    target = Watched()
    assert checked(target, Profile(max_rank=2), tmp_path).found == {}
    assert target.steps and max(length for step in target.steps for length in lengths(step.args)) == 2


def test_devices_are_those_of_the_profile(tmp_path: Path) -> None:
    """Without simulated devices none is made."""
    target = Watched()
    assert checked(target, Profile(devices=[]), tmp_path, 2000).found == {}
    assert target.steps and not any(step.do == "simulated" for step in target.steps)


class Aligned(Watched):
    """Takes memory only at multiples of 8 bytes: stricter than the rules."""

    def changed(self, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        first = step.args.get("first", 0) if step.do == "buffer.view" else 0
        skip = step.args.get("object", {}).get("skip", 0) if step.do == "from_buffer" else 0
        odd = any(isinstance(at, int) and at % 8 for at in (first, skip))
        return Refusal(message="not aligned") if odd else outcome


@pytest.mark.long
@pytest.mark.parametrize(("alignment", "conforms"), [(1, False), (8, True)])
def test_alignment_below_the_profile_is_no_finding(alignment: int, conforms: bool, tmp_path: Path) -> None:
    """A target that begins at multiples of 8 conforms where the profile says so, and only there."""
    report = checked(Aligned(), Profile(host_alignment=alignment), tmp_path, 9000)
    assert (report.found == {}) is conforms


class Declining(Watched):
    """Leaves every sum of two arrays to another implementation."""

    def changed(self, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        is_sum = step.do == "kernel" and step.args.get("name") == "add"
        return Value("DECLINED") if is_sum and outcome == Value("DONE") else outcome


@pytest.mark.parametrize(("declines", "conforms"), [("as listed", False), ("free", True)])
def test_declining_is_free_where_the_profile_says_so(declines: Any, conforms: bool, tmp_path: Path) -> None:
    """What one side declined and the other did parts them nowhere, then or later."""
    report = checked(Declining(), Profile(declines=declines), tmp_path, 6000)
    declined = {key for key in report.found if key[0].startswith("kernel add")}
    assert (declined == set()) is conforms


class Mumbling(Watched):
    """Names other subjects."""

    def changed(self, step: TargetStep, outcome: TargetOutcome) -> TargetOutcome:
        return Refusal(rule=outcome.rule, subjects={"x": 1}) if isinstance(outcome, Refusal) else outcome


@pytest.mark.parametrize(("subjects", "conforms"), [("compared", False), ("ignored", True)])
def test_subjects_may_be_left_out_of_the_comparison(subjects: Any, conforms: bool, tmp_path: Path) -> None:
    """Other subjects part the two where subjects are compared."""
    assert (checked(Mumbling(), Profile(subjects=subjects), tmp_path, 1500).found == {}) is conforms


@pytest.mark.parametrize(
    "text",
    [
        '{"max_rank": 0}', '{"max_rank": 33}', '{"host_alignment": 0}', '{"host_alignment": 3}',
        '{"host_alignment": 8192}', '{"devices": ["abacus"]}', '{"fresh": 1}',
    ],
)  # fmt: skip
def test_a_profile_is_checked_before_it_is_used(text: str) -> None:
    """Nothing that the schema does not allow is read as a profile."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Profile)
