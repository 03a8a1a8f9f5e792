"""C programs that link the core without Python: under ThreadSanitizer, and with a counting allocator."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FAST = HERE.parents[1] / "fast"
ALLOCATORS = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")


def build(source: str, folder: Path, *options: str, sanitize: str = "") -> Path:
    """The program of one of this folder's C files and the core."""
    core = [sys.executable, FAST / "build_native.py", "--core", "--sanitize", sanitize, "--output", folder]
    subprocess.run(core, check=True, stdout=subprocess.DEVNULL)
    program = folder / Path(source).stem
    if sanitize:
        options = (f"-fsanitize={sanitize}", *options)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{FAST / 'native'}", *options]
    command = [*compiler, *flags, HERE / source, folder / "counterfoil_core.o", "-lm", "-o", program]
    subprocess.run(command, check=True)
    return program


def run(program: Path, **environment: str) -> str:
    """What the program prints; an AssertionError with everything it said if it fails."""
    ran = subprocess.run([program], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    return ran.stdout


def test_threads_see_claims_donations_and_neighbours_whole(tmp_path: Path) -> None:
    """No race and no broken promise where threads claim, donate, consume, free, export and store beside each other."""
    printed = run(build("threads.c", tmp_path, sanitize="thread"), TSAN_OPTIONS="halt_on_error=1")
    assert len(printed.splitlines()) == 7


def test_the_door_and_the_kernels_allocate_nothing(tmp_path: Path) -> None:
    """18 operands pass the door, and every kernel family runs, without one allocation; answers need no memory."""
    wraps = [f"-Wl,--wrap={name}" for name in ALLOCATORS]
    assert run(build("allocations.c", tmp_path, *wraps)).startswith("without memory:")
