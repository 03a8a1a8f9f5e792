"""The example trains what it says, in its short form and in its whole one."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def digits(*options: str) -> str:
    """What the example prints; AssertionError if it fails."""
    line = [sys.executable, str(ROOT / "examples" / "digits.py"), *options]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def accuracies(printed: str) -> dict[int, float]:
    """Percent of the unseen digits that were told apart, by seed."""
    found = re.findall(r"^seed (\d+): ([\d.]+)% of the test digits$", printed, re.MULTILINE)
    return {int(seed): float(percent) for seed, percent in found}


def test_digits_are_learned_and_a_doubled_gradient_is_refused() -> None:
    """The short form exits with 0, at 96 % or more of unseen digits, and shows the refusal of a forgotten reset."""
    printed = digits("--short")
    found = accuracies(printed)
    assert list(found) == [0] and found[0] >= 96
    assert "gradients/without-reset: " in printed


def test_digits_are_learned_from_five_seeds_and_pictured(tmp_path: Path) -> None:
    """The whole form: 97 % of unseen digits over five seeds, 96 % from each; the picture is a whole PNG, 11 by 4.5
    inches; the refusal names the routine and the gradient."""
    path = tmp_path / "pictures" / "digits.png"
    printed = digits("--picture", str(path))
    found = accuracies(printed)
    assert list(found) == [0, 1, 2, 3, 4]
    assert min(found.values()) >= 96 and sum(found.values()) / 5 >= 97
    drawn = path.read_bytes()
    assert drawn[:16] == b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" and drawn[-8:-4] == b"IEND"
    assert struct.unpack(">II", drawn[16:24]) == (1320, 540)
    assert re.search(r"^  gradients/without-reset: .*\bstep\b.*\bw\.grad\b", printed, re.MULTILINE)
