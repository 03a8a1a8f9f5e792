"""A campaign over CUDA devices: its workers find the emulated driver."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from counterfoil_oracles.cuda.emulation import environment


def test_no_program_parts_the_halves(tmp_path: Path) -> None:
    """In a worker's process and on its thread, over devices that work as late as they may."""
    options = ["--workers", "1", "--programs", "2", "--machine", "arrays", "--device", "cuda", "--mode", "lazy"]
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "check", "--engine", "dask", *options]
    ran = subprocess.run(command, cwd=tmp_path, env=environment("lazy"), capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "counterfoil cuda lazy " in ran.stdout and "2 programs" in ran.stdout
