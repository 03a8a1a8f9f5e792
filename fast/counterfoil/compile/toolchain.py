"""The system's C compiler: which one, its command line, and running it."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

FLAGS: Final = (
    "-std=c11", "-march=native", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
    "-fopenmp-simd", "-w",
)  # fmt: skip
"""Flags of every compile. None lets the compiler reassociate, contract or flush; errno and traps are not looked at."""

GCC: Final = (
    "-frounding-math",
    "-fno-gcse", "-fno-tree-pre", "-fno-schedule-insns2", "-fno-tree-slp-vectorize",
    "-fno-tree-loop-distribute-patterns", "-fno-expensive-optimizations", "-fno-tree-dominator-opts",
    "-fno-rerun-cse-after-loop", "-fno-code-hoisting", "-fno-thread-jumps", "-fira-region=one",
)  # fmt: skip
"""Flags for gcc alone. Without -frounding-math it makes ``0 - (float)i`` of an integer i the negation, which gives -0
for 0. The others leave out passes that take time and find nothing in code like ours."""

CLANG: Final = ("-fbracket-depth=100000",)
"""Flags for clang alone: expressions nest as deep as programs do. It keeps ``0 - (float)i`` a subtraction by itself,
and with -frounding-math it would make no vector code of floats at all."""

LEVEL_VARIABLE: Final = "COUNTERFOIL_CC_LEVEL"
"""Environment variable: another optimisation level (-O1 for comparing what the optimiser does)."""


class CompilerFailed(Exception):
    """The compiler refused a source of ours: a bug of this package, never a refusal."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """``command``: the program and the words it always gets. ``identity``: what tells its output from another's."""

    command: tuple[str, ...]
    identity: str

    @property
    def flags(self) -> tuple[str, ...]:
        """What every source of ours is compiled with, by this compiler."""
        return FLAGS + (CLANG if _is_clang(self.command) else GCC)

    def line(self, source: Path, library: Path, level: str) -> list[str]:
        """The command line that makes a shared library of a source."""
        return [*self.command, level, *self.flags, "-shared", str(source), "-o", str(library), "-lm"]

    def build(self, source: Path, library: Path, level: str) -> None:
        """Compile; raises CompilerFailed with the command and what it said."""
        line = self.line(source, library, level)
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CompilerFailed(f"{shlex.join(line)} failed:\n{done.stderr}")


def optimisation_level() -> str:
    """The level of this process's compiles."""
    return os.environ.get(LEVEL_VARIABLE, "-O2")


def find_compiler() -> Compiler | None:
    """``CC`` if it is set, else the first of cc, gcc, clang on the path; None where there is none."""
    named = os.environ.get("CC", "")
    for words in _candidates(named):
        found = _known(tuple(words), os.environ.get("PATH", ""))
        if found is not None:
            return found
    return None


def compiler_command() -> str | None:
    """The compiler's command as one would type it, None where there is none."""
    found = find_compiler()
    return None if found is None else shlex.join(found.command)


def _candidates(named: str) -> Iterator[list[str]]:
    if named.strip():
        yield shlex.split(named)
    else:
        yield from (["cc"], ["gcc"], ["clang"])


@lru_cache(maxsize=16)
def _is_clang(command: tuple[str, ...]) -> bool:
    """What the compiler says it is; a file called gcc and a version, or clang, is believed without asking."""
    named = re.search(r"(gcc-[0-9.]+|clang(-[0-9.]+)?)$", os.path.realpath(command[0]))
    if named is not None:
        return named[0].startswith("clang")
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return "clang" in done.stdout


@lru_cache(maxsize=16)
def _known(words: tuple[str, ...], path: str) -> Compiler | None:
    program = shutil.which(words[0], path=path)
    if program is None:
        return None
    real = Path(program).resolve()
    facts = real.stat()
    identity = f"{real} {facts.st_size} {facts.st_mtime_ns} {platform.machine()} {_processor()}"
    return Compiler((program, *words[1:]), identity)


@lru_cache(maxsize=1)
def _processor() -> str:
    """What -march=native depends on, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    kept = ("model name", "flags", "Features", "CPU part", "cpu family", "model")
    return "; ".join(line for line in lines if line.split(":")[0].strip() in kept)
