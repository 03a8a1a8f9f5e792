"""The machines over as many CUDA devices as there are: one is enough, and none is told in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from counterfoil_oracles.cuda.emulation import environment


def _ran(module: str, *options: str, devices: int) -> subprocess.CompletedProcess[str]:
    """A program of the oracles over an emulated driver of so many devices."""
    command = [sys.executable, "-m", f"counterfoil_oracles.{module}", *options]
    variables = environment("lazy") | {"EMUCUDA_DEVICES": str(devices)}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("machine", ["arrays", "contexts"])
def test_one_device_is_enough(machine: str) -> None:
    """Programs use the one there is, and end alike on both halves."""
    options = ("check", "--machine", machine, "--device", "cuda", "--seconds", "6")
    ran = _ran("cli", *options, devices=1)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_defects_are_hunted_on_one_device_too() -> None:
    """The search for a planted defect uses the devices of its subject."""
    ran = _ran("mutants.hunt", "--machine", "arrays", "--device", "cuda", "--steps", "60", "1", devices=1)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["steps"] >= 60


def test_no_device_is_told_in_a_sentence() -> None:
    """Nothing ran: the harness lacks what it was asked for."""
    ran = _ran("cli", "check", "--device", "cuda", "--seconds", "1", devices=0)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.startswith("counterfoil: counterfoil has no CUDA device to check: ")
    assert ran.stderr.count("\n") == 1
