"""A program beside each failure's trace that shows it and needs nothing of ours.

For a library with a script (``targets.scripts``, or the adapter's own ``script``) it is Python; it is kept only where
it was run and showed the finding again. For a program it is the lines of the protocol, to be piped into it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from counterfoil_oracles.targets import wire
from counterfoil_oracles.targets.campaign import Found, Report
from counterfoil_oracles.targets.scripts import numpy_
from counterfoil_oracles.targets.scripts.script import NotWritten, Script, written
from counterfoil_spec import __version__
from counterfoil_spec.commands import Trace, decode_trace
from counterfoil_spec.protocol import Request, Run, Start, Stop

SCRIPTS: Final[dict[str, Script]] = {"numpy": numpy_.SCRIPT}
"""Scripts of libraries by the name their target gives itself."""

_SECONDS: Final = 20.0
_TOGETHER: Final = 60.0


def add_snippets(report: Report, name: str | None, program: Sequence[str]) -> None:
    """Write a snippet for each finding that has a trace file, and say in the report where it is."""
    deadline = time.monotonic() + _TOGETHER
    for key, found in report.found.items():
        if found.path is not None:
            try:
                report.found[key] = replace(found, snippet=_snippet(found, report, name, program, deadline))
            except (OSError, msgspec.MsgspecError) as error:
                report.unwritten.append(f"{found.path}: {error}")


def _snippet(found: Found, report: Report, name: str | None, program: Sequence[str], deadline: float) -> Path:
    assert found.path is not None
    script = SCRIPTS.get(report.identity.name) if name is not None else None
    if script is not None and time.monotonic() < deadline:
        path = _script(found, script, found.path.with_suffix(".py"))
        if path is not None:
            return path
    elif name is not None and ":" in name and not name.startswith("unix:") and time.monotonic() < deadline:
        path = _own_script(found, name)
        if path is not None:
            return path
    return lines(found, name, program)


def _script(found: Found, script: Script, path: Path) -> Path | None:
    """A script that was seen to show the finding; None where there is none."""
    try:
        path.write_text(written(script, found.trace, found.finding), encoding="utf-8")
    except NotWritten:
        return None
    if shows(path):
        return path
    path.unlink()
    return None


def shows(path: Path) -> bool:
    """Whether a script shows its finding now."""
    try:
        done = subprocess.run([sys.executable, str(path)], capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 1 and b"Traceback" not in done.stderr


def _own_script(found: Found, name: str) -> Path | None:
    """The script of an adapter that says itself how its commands are written; it is asked in its own process."""
    assert found.path is not None
    from counterfoil_oracles.targets.scripting import request

    command = [sys.executable, "-m", "counterfoil_oracles.targets.scripting", name]
    try:
        done = subprocess.run(
            command, input=request(found.trace, found.finding), capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0 or not done.stdout:
        return None
    path = found.path.with_suffix(".py")
    path.write_bytes(done.stdout)
    if shows(path):
        return path
    path.unlink()
    return None


def lines(found: Found, name: str | None, program: Sequence[str]) -> Path:
    """A shell script that pipes the protocol's lines into the program."""
    assert found.path is not None
    trace: Trace = decode_trace(found.path.read_bytes())
    commands = [step.command for step in trace.steps]
    if found.finding.looked is not None:
        commands.append(found.finding.looked)
    steps = [wire.step_of(command) for command in commands]
    requests: list[Request] = [
        Start(seq=0, counterfoil=__version__), Run(seq=1, steps=steps, fresh=True), Stop(seq=2),
    ]  # fmt: skip
    texts = [shlex.quote(msgspec.json.encode(request).decode()) for request in requests]
    if program:
        target = shlex.join(program)
    elif name is not None and name.startswith("unix:"):
        target = f"nc -U {shlex.quote(name.removeprefix('unix:'))}"
    else:
        target = f"python -m counterfoil_oracles.targets.serve {shlex.quote(name or '')}"
    said = f"{found.finding.case}: {found.finding.words}"
    path = found.path.with_suffix(".sh")
    path.write_text(
        f"#!/bin/sh\n# {said}\n# The outcome of the last step shows it.\nprintf '%s\\n' {' '.join(texts)} | {target}\n"
    )
    path.chmod(0o755)
    return path
