"""Every example of the site does what it shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, files_of, pattern_of, python_of, steps_of
from tests.shims import put_first

SECONDS = 60
"""What one command may take; each takes a few seconds."""

MISSING = [tool for tool in ("rustc",) if shutil.which(tool) is None]
"""Compilers that a page needs and this machine lacks: such a page is not collected."""

WITH_PYTHON = [page for page in PAGES if python_of(page)]
WITH_COMMANDS = [
    page for page in PAGES if steps_of(page) and not any(step.command.split()[0] in MISSING for step in steps_of(page))
]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; `counterfoil` and `python` are those of this interpreter, whatever the path was."""
    room = tmp_path / "room"
    room.mkdir()
    put_first(tmp_path / "tools", monkeypatch)
    for name in ("GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS", "COUNTERFOIL_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return room


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_python_prints_what_its_comments_say(page: Path, room: Path) -> None:
    """All blocks of a page, in order, in one namespace."""
    code = python_of(page)
    ran = subprocess.run([sys.executable, "-c", code], cwd=room, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


LONG = ("target-in-rust", "own-target", "continuous-integration")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=pytest.mark.long if page.stem in LONG else ()) for page in WITH_COMMANDS],
)
def test_commands_print_what_is_shown(page: Path, room: Path) -> None:
    """All commands of a page, in order, in one folder: their output, line by line, and their exit codes."""
    for name, text in files_of(page).items():
        (room / name).write_text(text)
    code, steps = 0, steps_of(page)
    for step in steps:
        is_question = step.command == "echo $?"
        assert is_question or code == 0, f"the command before {step.command} ended with {code}"
        ran = subprocess.run(
            ["sh", "-c", f"(exit {code})\n{step.command}"], cwd=room, capture_output=True, text=True, timeout=SECONDS
        )
        if step.shown or is_question:
            assert re.fullmatch(pattern_of(step.shown), ran.stdout), (step.command, ran.stdout, ran.stderr)
        code = ran.returncode
    assert code == 0, (steps[-1].command, code)
