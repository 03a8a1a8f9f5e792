"""Every reported bug that the rules learnt from has a test named after it."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
REPORTED = set(range(1, 36))
PLANNED = {26}
"""Numbers of bugs in what is not there yet: buffers that share memory."""


def test_every_reported_bug_has_a_test_of_its_number() -> None:
    """``test_NUMBER_...`` among the bugs, ``test_bug_NUMBER_...`` where a subject has its own file; none for others."""
    named = set(re.findall(r"^def test_(\d+)_", (TESTS / "contexts" / "test_bugs.py").read_text(), re.MULTILINE))
    for path in TESTS.glob("contexts*/test_*.py"):
        named |= set(re.findall(r"^def test_bug_(\d+)_", path.read_text(), re.MULTILINE))
    assert set(map(int, named)) == REPORTED - PLANNED
