"""A program beside each failure's trace that shows it and needs nothing of ours.

For a library with a script (``targets.scripts``, or the adapter's own ``script``) it is Python, for a C library C, for
a program the lines of the protocol that are piped into it. Python and C are kept only where they were run and showed
the finding again. The exit code is 1 where it shows itself, 0 where it does not.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.named import Named
from counterfoil_oracles.targets.scripts import SCRIPTS, c_library, lines
from counterfoil_oracles.targets.scripts.running import Runner
from counterfoil_oracles.targets.scripts.script import NotWritten, written
from counterfoil_spec.protocol import Profile

_SECONDS: Final = 20.0
_TOGETHER: Final = 60.0
SHOWN: Final = 1
"""The exit code of a snippet that shows its finding again."""


def add_snippets(report: Report, target: Named, profile: Profile | None = None) -> None:
    """Write a snippet for each finding that has a trace file, and say in the report where it is."""
    with Runner() as runner:
        writing = Writing(report, target, profile or Profile(), runner, time.monotonic() + _TOGETHER)
        for key, found in report.found.items():
            if found.path is not None:
                try:
                    report.found[key] = replace(found, snippet=writing.snippet(found, found.path))
                except (OSError, msgspec.MsgspecError) as error:
                    report.unwritten.append(f"{found.path}: {error}")


@dataclass(frozen=True)
class Writing:
    """Writes the snippets of one report; after ``deadline`` none is run any more, and each is the protocol's lines."""

    report: Report
    target: Named
    profile: Profile
    runner: Runner
    deadline: float

    def snippet(self, found: Found, trace: Path) -> Path:
        """The snippet of a finding."""
        name = self.target.name
        if name is not None and time.monotonic() < self.deadline:
            script = SCRIPTS.get(self.report.identity.name)
            if script is not None:
                path = _kept(
                    trace.with_suffix(".py"), lambda _: written(script, found.trace, found.finding), self._shows
                )
            elif name.endswith((".so", ".dylib")):
                path = self._of_library(found, name, trace.with_suffix(".c"))
            elif ":" in name and not name.startswith("unix:"):
                path = _kept(trace.with_suffix(".py"), lambda _: _own_script(found, name), self._shows)
            else:
                path = None
            if path is not None:
                return path
        is_late = time.monotonic() >= self.deadline
        return lines.write(trace.with_suffix(".sh"), found, self.report.identity, self.target, self.profile, is_late)

    def _shows(self, path: Path) -> bool:
        """Whether a script shows its finding now."""
        return self.runner.run(path) == SHOWN

    def _of_library(self, found: Found, name: str, path: Path) -> Path | None:
        identity = self.report.identity
        return _kept(
            path, lambda path: c_library.written(name, found, identity, path), lambda path: c_library.shows(path, name)
        )


def _kept(path: Path, write: Callable[[Path], str], is_shown: Callable[[Path], bool]) -> Path | None:
    """A file that was seen to show its finding; None where there is none."""
    try:
        text = write(path)
    except NotWritten:
        return None
    path.write_text(text, encoding="utf-8")
    if is_shown(path):
        return path
    path.unlink()
    return None


def _own_script(found: Found, name: str) -> str:
    """The script of an adapter that says itself how its commands are written; it is asked in its own process."""
    from counterfoil_oracles.targets.scripting import request

    command = [sys.executable, "-m", "counterfoil_oracles.targets.scripting", name]
    asked = request(found.trace, found.finding)
    try:
        done = subprocess.run(command, input=asked, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotWritten("an adapter that does not answer") from None
    if done.returncode != 0 or not done.stdout:
        raise NotWritten("an adapter without a script")
    return done.stdout.decode()
