"""As many CPUs and threads for one library as for another."""

from __future__ import annotations

import os
import sys

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "COUNTERFOIL_THREADS")


def pin(threads: int, module: str) -> None:
    """Keep this process, which runs ``python -m module``, to so many CPUs and threads, whatever library it loads.

    Libraries read the variables as they load, so the process starts anew where those are not set yet.
    """
    wanted = dict.fromkeys(VARIABLES, str(threads))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **wanted})


def loads() -> str:
    """The system's load averages, in words: what else it was doing."""
    if not hasattr(os, "getloadavg"):
        return "load unknown"
    return "load " + " ".join(f"{load:.1f}" for load in os.getloadavg()) + f" on {os.cpu_count()} CPUs"
