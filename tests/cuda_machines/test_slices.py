"""Slices of both machines over the emulated driver, each mode in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from counterfoil_oracles.cuda.emulation import MODES, environment

SECONDS = 12


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("machine", ["arrays", "contexts"])
def test_no_program_parts_the_halves(machine: str, mode: str) -> None:
    """Programs over CUDA devices end alike on both halves, whenever the driver does its work."""
    options = ["check", "--machine", machine, "--device", "cuda", "--mode", mode, "--seconds", str(SECONDS)]
    command = [sys.executable, "-m", "counterfoil_oracles.cli", *options]
    ran = subprocess.run(command, env=environment(mode), capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
