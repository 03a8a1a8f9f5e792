"""From what the command line names to a target: a program, a Python factory, a C library, a socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from counterfoil_oracles.targets import inprocess, spoken
from counterfoil_oracles.targets.target import Bounds, Target


def opener(
    name: str | None,
    command: Sequence[str],
    bounds: Bounds,
    watch: Callable[[str, bytes], None] | None = None,
) -> Callable[[], Target]:
    """What starts the target each time it is called: ``command`` a program, else by ``name``."""
    if command:
        return lambda: spoken.program(command, bounds, watch)
    assert name is not None
    if name.startswith("unix:"):
        return lambda: spoken.listener(name.removeprefix("unix:"), bounds, watch)
    if name.endswith((".so", ".dylib")):
        from counterfoil_oracles.targets import library

        return lambda: library.loaded(name)
    return lambda: inprocess.imported(name)
