"""Nothing is left over while programs, and runs of one routine, repeat (the long form: make soak).

Each in a process of its own, whose memory no other test uses.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEPS = 300


@pytest.mark.parametrize("what", ["programs", "runs"])
def test_nothing_is_left_over(what: str) -> None:
    """Building, compiling, running, releasing and dropping leaves no pool, record, module, object or memory behind."""
    program = f"from tests.soak import soaking; print(soaking.{what}({STEPS}))"
    output = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    assert output == "[]\n"
