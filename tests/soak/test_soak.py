"""Nothing is left over while programs, and runs of one routine, repeat (the long form: make soak).

Each in a process of its own, whose memory no other test uses.
"""

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from tests.soak import stepping

ROOT = Path(__file__).resolve().parents[2]
STEPS = 300


@pytest.mark.parametrize("what", ["programs", "runs"])
def test_nothing_is_left_over(what: str) -> None:
    """Building, compiling, running, releasing and dropping leaves no pool, record, module, object or memory behind."""
    program = f"from tests.soak import soaking; print(soaking.{what}({STEPS}))"
    output = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    assert output == "[]\n"


def test_whole_programs_go_without_the_collector() -> None:
    """Tensors, sessions, contexts and routines of every program are gone by their counts alone: the collector, off
    meanwhile, finds nothing afterwards."""
    rounds = range(len(stepping.PROGRAMS) * len(stepping.EXTENTS))
    for number in rounds:
        stepping.step(number)
    gc.collect()
    gc.disable()
    try:
        for number in rounds:
            stepping.step(number)
        assert gc.collect() == 0
    finally:
        gc.enable()
