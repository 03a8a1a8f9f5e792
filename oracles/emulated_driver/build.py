"""Builds the emulated driver into ``build/emulated_driver``: ``python oracles/emulated_driver/build.py``.

The directory gets ``libcuda.so.1``, the stand-in compiler ``emu-nvcc`` and its precompiled header. Entry points that
``cuda.h`` declares and the sources do not define answer "not supported". Only what changed is compiled again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUTPUT = ROOT / "build" / "emulated_driver"
CXX = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++17", "-O2", "-g1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-U_FORTIFY_SOURCE", "-fno-plt"]
WANTED = r"CUresult\s+(cu\w+)\s*\("


def main() -> int:
    """0, and the path of the library on standard output; 1, with the compiler's words, when it does not compile."""
    parser = argparse.ArgumentParser(description="build the emulated CUDA driver")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--sanitize", default="", help="sanitizers of the driver itself, such as thread")
    arguments = parser.parse_args()
    try:
        print(build(arguments.output.resolve(), arguments.sanitize))
    except subprocess.CalledProcessError as error:
        print(error.stderr or error, file=sys.stderr)
        return 1
    return 0


def build(output: Path, sanitize: str = "") -> Path:
    """The library in ``output``, made or found up to date."""
    include = headers()
    flags = [*FLAGS, f"-I{include}", *([f"-fsanitize={sanitize}"] if sanitize else [])]
    objects = output / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sources = sorted(HERE.glob("driver/*.cpp"))
        compiled = list(pool.map(lambda source: compiled_once(source, objects, flags), sources))
    missing = objects / "unsupported.cpp"
    write_if_changed(missing, unsupported(declared(include), defined(compiled)))
    compiled.append(compiled_once(missing, objects, ["-std=c++17", "-O1", "-fPIC", "-w"]))
    library = output / "libcuda.so.1"
    if any(newer(one, library) for one in compiled):
        # Linked beside the old one and renamed: a program that has it loaded keeps what it has.
        fresh = output / f"libcuda.so.{os.getpid()}"
        link = ["-shared", "-Wl,-soname,libcuda.so.1", "-Wl,-z,defs", *map(str, compiled), "-ldl", "-pthread"]
        run([CXX, *link, *([f"-fsanitize={sanitize}"] if sanitize else []), "-o", str(fresh)])
        fresh.rename(library)
    install_compiler(output)
    return library


def headers() -> Path:
    """The directory of ``cuda.h``: CUDA_INCLUDE, or what tools/pycuda_wheel.py fetches from PyPI."""
    if given := os.environ.get("CUDA_INCLUDE"):
        return Path(given)
    return Path(run([sys.executable, str(ROOT / "tools" / "pycuda_wheel.py"), "--headers"]).strip())


def compiled_once(source: Path, objects: Path, flags: list[str]) -> Path:
    """The object of a source, named by everything that went into it."""
    digest = hashlib.sha256(repr([CXX, flags]).encode())
    digest.update(source.read_bytes())
    for header in sorted([*HERE.glob("driver/*.h"), HERE / "device" / "kernel_abi.h"]):
        digest.update(header.read_bytes())
    made = objects / f"{source.stem}-{digest.hexdigest()[:16]}.o"
    if not made.exists():
        fresh = made.with_suffix(f".{os.getpid()}")
        run([CXX, *flags, "-c", str(source), "-o", str(fresh)])
        for old in objects.glob(f"{source.stem}-*.o"):
            old.unlink()
        fresh.rename(made)
    return made


def declared(include: Path) -> set[str]:
    """The entry points of the driver under the names that programs link against, and those of older programs."""
    source = "#include <cuda.h>\n#include <cudaProfiler.h>\n"
    names: set[str] = set()
    for define in ("CUDAAPI=", "__CUDA_API_VERSION_INTERNAL"):
        command = [CXX, "-E", "-P", "-x", "c++", f"-I{include}", f"-D{define}", "-"]
        text = subprocess.run(command, input=source, check=True, capture_output=True, text=True).stdout
        names |= set(re.findall(WANTED, text))
    return names


def defined(objects: Iterable[Path]) -> set[str]:
    """The functions that the objects define."""
    lines = run(["nm", "--defined-only", *map(str, objects)]).splitlines()
    return {line.split()[2] for line in lines if " T cu" in line}


def unsupported(declared: set[str], defined: set[str]) -> str:
    """The source of the entry points that are missing."""
    lines = ['extern "C" {', "int emucuda_unsupported(const char *);"]
    lines += [f'int {name}() {{ return emucuda_unsupported("{name}"); }}' for name in sorted(declared - defined)]
    return "\n".join([*lines, "}", ""])


def install_compiler(output: Path) -> None:
    """Puts the stand-in compiler beside the library."""
    script = output / "emu-nvcc"
    write_if_changed(script, f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "emu_nvcc.py"}" "$@"\n')
    script.chmod(0o755)


def write_if_changed(path: Path, text: str) -> None:
    """Writes a file unless it says so already, so that its time tells when it changed."""
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def newer(source: Path, made: Path) -> bool:
    """Whether a source has changed since something was made of it."""
    return not made.exists() or source.stat().st_mtime > made.stat().st_mtime


def run(command: list[str]) -> str:
    """The standard output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
