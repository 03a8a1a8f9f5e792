"""`counterfoil` and `python` as commands of this interpreter, whatever the path was."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

COMMANDS = {"python": "", "counterfoil": "-m counterfoil_oracles.cli "}


def put_first(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder with the two, first on the path until the test ends."""
    tools.mkdir()
    for name, words in COMMANDS.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
