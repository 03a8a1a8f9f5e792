"""The README's examples do what their comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_two_examples() -> None:
    """Arrays and programs, each with something printed."""
    assert [len(printed(block)) for block in BLOCKS] == [3, 4]


@pytest.mark.parametrize("block", BLOCKS, ids=["arrays", "programs"])
def test_an_example_prints_what_its_comments_say(block: str) -> None:
    """Each printed line of a Python block is the comment behind the print."""
    ran = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == printed(block)


def printed(block: str) -> list[str]:
    """The comments behind the prints of a block."""
    return re.findall(r"print\(.*\)  # (.*)", block)
