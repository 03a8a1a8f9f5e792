"""A target's processes: all that it started, in whatever session, told by a mark in the environment they inherit.

Where there is no /proc none but the target's own process group is known. A process that takes the mark out of its
environment is of the family no longer: against malice only a container helps.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MARK: Final = "COUNTERFOIL_TARGET"
_PROC: Final = Path("/proc")
_ROUNDS: Final = 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Family:
    """The processes that have one mark."""

    def __init__(self) -> None:
        self._mark = f"{MARK}={secrets.token_hex(16)}"

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment, with the mark."""
        name, _, value = self._mark.partition("=")
        return {**os.environ, name: value}

    def members(self) -> Iterator[int]:
        """The processes that live now, by their numbers."""
        wanted = self._mark.encode()
        for entry in _PROC.glob("[0-9]*") if _PROC.is_dir() else ():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)

    def end(self) -> None:
        """End all of them, and those that they start meanwhile."""
        for _ in range(_ROUNDS):
            living = list(self.members())
            if not living:
                return
            for process in living:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)

    def holds_more(self, nbytes: int) -> bool:
        """Whether all together hold more than so many bytes of memory; what they share counts once."""
        living = list(self.members())
        return sum(map(_resident, living)) > nbytes and sum(map(_share, living)) > nbytes


def _resident(process: int) -> int:
    """The bytes of a process that lie in memory, those that it shares included."""
    with contextlib.suppress(OSError, IndexError):
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
    return 0


def _share(process: int) -> int:
    """The same, with its share of what it shares; slower to tell."""
    with contextlib.suppress(OSError):
        for line in (_PROC / str(process) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return _resident(process)
