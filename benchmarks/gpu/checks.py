"""The tests and machines over the device, each in a process of its own: a sticky error ends no other."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

MOST_SECONDS = 240
_TAIL = 4000


def run(seconds: float) -> Iterator[dict[str, Any]]:
    """Each check with its verdict, its time and the end of what it said."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    check = [sys.executable, "-m", "counterfoil_oracles.cli", "check", "--device", "cuda", "--seconds", str(seconds)]
    commands = {
        "memory, order, copies, exchange": [*pytest, "tests/cuda_arrays"],
        "kernels": [*pytest, "tests/cuda_kernels"],
        "contexts": [*pytest, "tests/contexts_cuda"],
        "machine of arrays": [*check, "--machine", "arrays"],
        "machine of contexts": [*check, "--machine", "contexts"],
    }
    for name, command in commands.items():
        yield _checked(name, command, MOST_SECONDS + seconds)


def _checked(name: str, command: list[str], limit: float) -> dict[str, Any]:
    print(f"== {name}", flush=True)
    began = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
        passed, said = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as late:
        passed, said = False, f"{_text(late.stdout)}\nstill running after {limit:.0f} s"
    print(said[-_TAIL:], flush=True)
    took = round(time.monotonic() - began, 1)
    return {"name": name, "passed": passed, "seconds": took, "said": said[-_TAIL:]}


def _text(output: str | bytes | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""
