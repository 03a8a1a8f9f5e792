"""Builds a wheel of PyCUDA without a CUDA toolkit, a driver or a GPU: ``python tools/pycuda_wheel.py``.

The headers come from wheels of PyPI. What the linker wants of libcuda is a stub that defines every entry point named in
the headers: with an empty one ``--as-needed`` would drop the library, and the wheel would load on no machine. PyCUDA's
build reads its settings from ``$HOME/.aksetup-defaults.py`` alone, so it runs in a home of its own. The wheel stays in
``build/pycuda`` and is built once.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

PYCUDA = "pycuda==2026.1"
# The oldest toolkit that PyCUDA 2026.1 has branches for: what is compiled against it runs with every newer driver.
HEADERS = ("nvidia-cuda-runtime==13.0.*", "nvidia-cuda-crt==13.0.*", "nvidia-cuda-profiler-api==13.0.*")
KEPT = Path(__file__).resolve().parent.parent / "build" / "pycuda"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def main() -> int:
    """The path of the wheel on standard output; 1, and why, when a step fails."""
    parser = argparse.ArgumentParser(description="build a wheel of PyCUDA without a CUDA toolkit")
    parser.add_argument("--output", type=Path, default=KEPT, help="where the wheel, once built, is kept")
    parser.add_argument("--headers", action="store_true", help="fetch the headers only, and print where they are")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    try:
        print(headers(output) if arguments.headers else wheel(output))
    except subprocess.CalledProcessError as error:
        print(f"building {PYCUDA} failed in: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    return 0


def wheel(kept: Path) -> Path:
    """The wheel of PyCUDA for this interpreter in ``kept``, built if it is not there."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    pattern = f"{PYCUDA.replace('==', '-')}-{tag}-*.whl"
    if not list(kept.glob(pattern)):
        home = kept / "home"
        configure(home, headers(kept).parent, stub(kept))
        # pip's cache of wheels does not know of the settings, so a wheel in it may be of others.
        command = [*PIP, "wheel", "--no-cache-dir", "--no-deps", "--wheel-dir", str(kept), PYCUDA]
        subprocess.run(command, check=True, env={**os.environ, "HOME": str(home)})
    return next(kept.glob(pattern))


def headers(kept: Path) -> Path:
    """The directory with ``cuda.h`` and its like under ``kept``, fetched if it is not there."""
    toolkit = kept / "toolkit"
    if not list(toolkit.glob("nvidia/*/include/cuda.h")):
        subprocess.run([*PIP, "install", "--no-deps", "--target", str(toolkit), *HEADERS], check=True)
    return next(toolkit.glob("nvidia/*/include/cuda.h")).parent


def stub(kept: Path) -> Path:
    """The directory of a ``libcuda.so`` to link against: it defines every entry point and does nothing."""
    directory = kept / "stub"
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "libcuda.c"
    source.write_text("".join(f"void {name}(void) {{}}\n" for name in entry_points(headers(kept))), "utf-8")
    command = ["-shared", "-w", "-Wl,-soname,libcuda.so.1", str(source), "-o", str(directory / "libcuda.so")]
    subprocess.run([os.environ.get("CC", "cc"), *command], check=True)
    return directory


def entry_points(include: Path) -> list[str]:
    """The functions of the driver named in the headers of ``include``, under all their version suffixes."""
    names: set[str] = set()
    for header in ("cuda.h", "cudaProfiler.h", "cudaGL.h"):
        text = (include / header).read_text("utf-8", "replace")
        names |= set(re.findall(r"\bcu[A-Z]\w*(?=\s*\()", text)) | set(re.findall(r"\bcu[A-Z]\w*_v\d+\b", text))
    # Types have names of the same form; a function of that name in the stub does no harm.
    return sorted(names)


def configure(home: Path, toolkit: Path, library: Path) -> None:
    """Writes the settings of PyCUDA's build into ``home``."""
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "CUDA_ROOT": str(toolkit),
        "CUDA_ENABLE_CURAND": False,
        "CUDADRV_LIB_DIR": [str(library)],
        "CXXFLAGS": ["-w"],
    }
    text = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    (home / ".aksetup-defaults.py").write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
