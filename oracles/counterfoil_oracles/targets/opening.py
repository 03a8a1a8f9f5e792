"""From what the command line names to a target: a program, a Python factory, a C library, a socket."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from counterfoil_oracles.targets import inprocess, library, spoken
from counterfoil_oracles.targets.target import Bounds, Target


def opener(
    name: str | None,
    command: Sequence[str],
    bounds: Bounds,
    in_process: bool,
    watch: Callable[[str, bytes], None] | None = None,
) -> Callable[[], Target]:
    """What starts the target each time it is called: ``command`` a program, else by ``name``.

    Libraries and factories run in a process of their own, which the bounds hold, unless ``in_process``: half as much
    time a step, and whatever brings them down brings the checker down.
    """
    if command:
        return lambda: spoken.program(command, bounds, watch)
    assert name is not None
    if name.startswith("unix:"):
        return lambda: spoken.listener(name.removeprefix("unix:"), bounds, watch)
    if not in_process:
        server = [sys.executable, "-m", "counterfoil_oracles.targets.serve", name]
        return lambda: spoken.program(server, bounds, watch)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` has it in the other process: one name means one module
    return lambda: here(name)


def here(name: str) -> Target:
    """A target loaded into this process: a library by its path, or what a Python factory makes."""
    return library.loaded(name) if name.endswith((".so", ".dylib")) else inprocess.imported(name)
