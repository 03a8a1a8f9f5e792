"""The emulated driver: the environment in which a process finds it, and how a process gets into that."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from counterfoil_oracles.environment import HarnessError

MODES: Final = ("eager", "lazy", "shuffled")
"""When the emulated driver does what is enqueued: at once, when something waits for it, in any order allowed."""

EMULATED: Final = "COUNTERFOIL_EMULATED"
"""Set where the driver that a process finds is the emulated one."""

_BUILT: Final = Path(__file__).resolve().parents[3] / "build" / "emulated_driver"


def environment(mode: str) -> dict[str, str]:
    """The environment of a process that finds the emulated driver; HarnessError where it is not built."""
    if os.environ.get(EMULATED):
        return {**os.environ, "EMUCUDA_MODE": mode}
    library, compiler = _BUILT / "libcuda.so.1", _BUILT / "emu-nvcc"
    if not library.is_file() or not compiler.is_file():
        raise HarnessError(f"the emulated driver is not built: there is no {library} (docs/emulated-driver.md)")
    found = os.pathsep.join(filter(None, (str(_BUILT), os.environ.get("LD_LIBRARY_PATH"))))
    own = {"LD_LIBRARY_PATH": found, "COUNTERFOIL_CUDA_COMPILER": str(compiler), EMULATED: "1", "EMUCUDA_MODE": mode}
    return {**os.environ, **own}


def is_entered(mode: str) -> bool:
    """Whether this process finds the emulated driver in that mode."""
    return bool(os.environ.get(EMULATED)) and os.environ.get("EMUCUDA_MODE", "eager") == mode


def enter(mode: str, arguments: Sequence[str]) -> None:
    """Start the command line anew where the emulated driver is found in that mode; returns if it is."""
    if is_entered(mode):
        return
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", "counterfoil_oracles.cli", *arguments], environment(mode))
