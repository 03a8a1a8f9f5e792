"""The README's example does what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_its_comments_say() -> None:
    """Each printed line of the Python block is the comment behind the print."""
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    expected = re.findall(r"print\(.*\)  # (.*)", block)
    ran = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == expected and len(expected) == 3
