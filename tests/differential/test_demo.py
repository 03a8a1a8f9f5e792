"""The demonstration: a broken copy of the fast half is found out."""

from pathlib import Path

import pytest

from counterfoil_oracles import demo
from counterfoil_oracles.environment import HarnessError


def test_the_demo_finds_shrinks_and_explains_its_defect(capfd: pytest.CaptureFixture[str]) -> None:
    """The check finds the planted defect, shrinks it to a few steps, and explains the rule it breaks."""
    assert demo.main() == 0
    told = capfd.readouterr().out
    assert "shrunk to" in told and "The halves part here:" in told and "door/overlapping" in told


def test_a_defect_must_change_exactly_one_place(tmp_path: Path) -> None:
    """A defect whose line is not there any more breaks the harness instead of checking the sound half."""
    gone = demo.Defect("door.c", "no such line", "", "nothing")
    with pytest.raises(HarnessError, match=r"door\.c has not exactly one line"):
        demo.broken_copy(tmp_path, gone)
