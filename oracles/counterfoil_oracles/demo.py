"""``counterfoil demo``: the same check on a deliberately broken copy of the fast half, which it must find.

The defect: the door no longer notices that a written operand shares bytes with a read one. NumPy, PyTorch and JAX users
know the result as silently wrong numbers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterfoil_oracles.environment import HarnessError

_CHECKOUT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Defect:
    """One change of one C source, and what it breaks in words."""

    file: str
    right: str
    wrong: str
    words: str


DEFECT: Final = Defect(
    "door.c",
    "    return cf_overlapping(written, other);",
    "    return false;",
    "its door no longer notices that a written operand shares bytes with another",
)


def main(seconds: float = 30.0) -> int:
    """Build the broken copy, check it, explain what was found; 0 if the defect was found, 3 if not."""
    with tempfile.TemporaryDirectory(prefix="counterfoil-demo-") as directory:
        room = Path(directory)
        _say(f"a broken copy of the fast half: {DEFECT.words} ({DEFECT.file})")
        environment = broken_copy(room, DEFECT)
        found = _run(["check", "--seconds", str(seconds)], environment, room)
        if found != 1:
            _say("the check did not find the defect: the harness is broken")
            return 3
        for path in sorted((room / ".counterfoil" / "failures").glob("*.jsonl")):
            _say("explained:")
            _run(["explain", str(path.relative_to(room))], environment, room)
    return 0


def broken_copy(room: Path, defect: Defect) -> dict[str, str]:
    """Build a copy of the fast half with the defect under ``room``; the environment in which Python imports it.

    HarnessError where there is no checkout with sources, or the line to change is not there.
    """
    fast = _CHECKOUT / "fast"
    if not (fast / "native" / defect.file).is_file():
        raise HarnessError("the demo builds a broken copy of the fast half: it needs a checkout with fast/native")
    package, sources = room / "package" / "counterfoil", room / "native"
    shutil.copytree(fast / "counterfoil", package, ignore=shutil.ignore_patterns("_native*.so", "__pycache__"))
    shutil.copytree(fast / "native", sources)
    text = (sources / defect.file).read_text("utf-8")
    if text.count(defect.right) != 1:
        raise HarnessError(f"{defect.file} has not exactly one line {defect.right.strip()!r}")
    (sources / defect.file).write_text(text.replace(defect.right, defect.wrong), "utf-8")
    build = [sys.executable, str(fast / "build_native.py"), "--sources", str(sources), "--output", str(package)]
    built = subprocess.run(build, capture_output=True, text=True)
    if built.returncode:
        raise HarnessError(f"the broken copy does not build:\n{built.stdout}{built.stderr}")
    paths = [str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _run(arguments: list[str], environment: dict[str, str], room: Path) -> int:
    command = [sys.executable, "-m", "counterfoil_oracles.cli", *arguments]
    return subprocess.run(command, env=_absolute(environment), cwd=room).returncode


def _absolute(environment: dict[str, str]) -> dict[str, str]:
    """The environment for another working directory."""
    paths = [os.path.abspath(path) for path in environment["PYTHONPATH"].split(os.pathsep)]
    return {**environment, "PYTHONPATH": os.pathsep.join(paths)}


def _say(text: str) -> None:
    print(f"demo: {text}", flush=True)
