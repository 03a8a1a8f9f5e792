"""The example targets conform, and the defect planted in one of them is found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "targets"
HEADERS = ROOT / "oracles" / "counterfoil_oracles" / "targets"
COMPILERS = [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
RUST = [name for name in ("rustc",) if shutil.which(name)]


def check(room: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "counterfoil_oracles.cli", "check", "--time", "120", *arguments]
    return subprocess.run(command, cwd=room, capture_output=True, text=True, timeout=150)


def library(compiler: str, room: Path, *more: str) -> str:
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{HEADERS}", *more]
    made = room / "strided.so"
    subprocess.run([compiler, *flags, str(EXAMPLES / "strided.c"), "-o", str(made)], check=True, timeout=60)
    return str(made)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_c_library_conforms(compiler: str, tmp_path: Path) -> None:
    """Through the header: no divergence in 3000 steps."""
    done = check(tmp_path, library(compiler, tmp_path), "--steps", "3000")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_its_defect_is_found(compiler: str, tmp_path: Path) -> None:
    """Looking for overlap at the ends alone is found out, under the rule it breaks."""
    done = check(tmp_path, library(compiler, tmp_path, "-DDEFECT=1"), "--steps", "3000")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "overlapping" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("compiler", RUST)
def test_the_rust_program_conforms(compiler: str, tmp_path: Path) -> None:
    """Over the protocol, each message held against the schema: no divergence in 2000 steps."""
    made = tmp_path / "strided"
    source = str(EXAMPLES / "strided.rs")
    subprocess.run([compiler, "-O", "--edition", "2021", source, "-o", str(made)], check=True, timeout=120)
    done = check(tmp_path, "--steps", "2000", "--validate-implementation", "--", str(made))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rust_program_has_under_two_hundred_lines() -> None:
    """As the guide says of it."""
    assert len((EXAMPLES / "strided.rs").read_text().splitlines()) < 200


def code_of(guide: str) -> list[str]:
    """The lines of the file that a guide shows."""
    text = (ROOT / "docs" / "how-to" / f"target-in-{guide}.md").read_text()
    return text.partition(":caption: mine")[2].partition("\n\n")[2].partition("\n```")[0].splitlines()


@pytest.mark.parametrize("guide", ["c", "rust", "python"])
def test_a_guide_shows_a_whole_target_of_thirty_odd_lines(guide: str) -> None:
    """That it is whole, and conforms, is shown where the guide's commands are run."""
    lines = [line for line in code_of(guide) if line.strip()]
    assert 20 <= len(lines) <= 35, len(lines)


def test_the_thirty_lines_conform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python target in thirty lines: no divergence in 200 steps."""
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    done = check(tmp_path, "thirty_lines:target", "--steps", "200")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len((EXAMPLES / "thirty_lines.py").read_text().splitlines()) <= 30
