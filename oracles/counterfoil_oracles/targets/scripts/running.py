"""Runs Python scripts one after the other in a process of its own, so that what they import is imported once.

This file, run as a program, is that process: it reads a path a line, as JSON, and answers the exit code that the script
would have had. It imports nothing of ours, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import select
import subprocess
import sys
from pathlib import Path
from typing import Final

_SECONDS: Final = 20.0
_RAISED: Final = -1
"""What stands for a script that an exception left."""


class Runner(contextlib.AbstractContextManager["Runner"]):
    """The process. One that a script brought down, or that takes too long, is started anew for the next script."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, path: Path) -> int | None:
        """The exit code of a script; None where it brought the process down or did not end."""
        process = self._process or self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(str(path.resolve())).encode() + b"\n")
            process.stdin.flush()
            is_there, _, _ = select.select([process.stdout], [], [], self._seconds)
            answer = process.stdout.readline() if is_there else b""
        except BrokenPipeError:
            answer = b""
        if not answer:
            self.close()
            return None
        return int(answer)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-P", __file__]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process


def main() -> int:
    """Answer until the input ends; what scripts print goes nowhere."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    for line in sys.stdin:
        print(_code(json.loads(line)), file=answers, flush=True)
    return 0


def _code(path: str) -> int:
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else _RAISED
    except Exception:
        return _RAISED
    return 0


if __name__ == "__main__":
    sys.exit(main())
