"""The example trains what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_digits_are_learned_and_a_doubled_gradient_is_refused() -> None:
    """The short form exits with 0, at 96 % or more of unseen digits, and shows the refusal of a forgotten reset."""
    line = [sys.executable, str(ROOT / "examples" / "digits.py"), "--short"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = re.search(r"seed 0: ([\d.]+)% of the test digits", ran.stdout)
    assert found is not None and float(found[1]) >= 96
    assert "gradients/without-reset" in ran.stdout
