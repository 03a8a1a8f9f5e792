"""A stand-in for nvcc that makes modules for the emulated driver: ``emu-nvcc --cubin -o out.cubin in.cu``.

Takes nvcc's options; those that are about a real device change nothing. ``EMUCUDA_CXXFLAGS`` adds options for the host
compiler, such as ``-fsanitize=address``. A "cubin" is a shared object of the host: real drivers refuse it, and the
emulated driver refuses everything else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # the installed script runs this file by its path

from emulated_driver.rewriting import DeviceCodeError, rewrite  # noqa: E402

CXX = os.environ.get("CXX", "g++")
CACHE = Path(os.environ.get("EMUCUDA_CACHE", HERE.parent.parent / "build" / "emulated_driver"))
# Contraction would change results; what the hardware wraps or traps on must not be undefined here.
FLAGS = [
    *["-std=c++17", "-O1", "-g1", "-fPIC", "-w", "-pipe", "-ffp-contract=off", "-fno-math-errno", "-fwrapv"],
    *["-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti", "-fno-gnu-unique", "-fvisibility=hidden"],
    "-fstack-clash-protection",  # a stack that is too short is met page by page
    *["-fsanitize=alignment,bounds,shift-exponent,float-cast-overflow", "-fno-sanitize-recover"],
]
DEFINES = ["-D__CUDACC__=1", "-D__NVCC__=1", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-DEMUCUDA=1"]
# The shim has what these declare; what they would define otherwise is the host's.
EMPTY_HEADERS = (
    *("assert.h", "cassert", "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstring", "cuda_runtime.h"),
    *("device_launch_parameters.h", "float.h", "limits.h", "math.h", "math_constants.h", "stddef.h", "stdint.h"),
    *("string.h", "vector_types.h"),
)
VALUED = {"-o", "--output-file", "-I", "-D", "-U", "-include", "-arch", "--gpu-architecture", "-gencode"}
IGNORED_VALUED = {
    "-std",
    "--std",
    "-code",
    "--gpu-code",
    "-Xptxas",
    "-Xcompiler",
    "-maxrregcount",
    "-ccbin",
    "-x",
    "-odir",
    "-t",
}


@dataclass
class Options:
    """What a command line asks for."""

    sources: list[str] = field(default_factory=list)
    output: str = ""
    preprocessor: list[str] = field(default_factory=list)
    capability: int = 90
    preprocess_only: bool = False
    kind: str = "cubin"


def main(arguments: list[str]) -> int:
    """Runs a command line of nvcc; 0, or 1 with the host compiler's words on standard error."""
    if "--version" in arguments or "-V" in arguments:
        print(version())
        return 0
    options = parse(arguments)
    if len(options.sources) != 1 or options.kind != "cubin":
        print("emu-nvcc: makes one cubin of one source (--cubin -o out.cubin in.cu)", file=sys.stderr)
        return 1
    source = Path(options.sources[0])
    try:
        if options.preprocess_only:
            print(preprocess(source, options))
            return 0
        output = Path(options.output or source.with_suffix(".cubin").name)
        compile_module(preprocess(source, options), output)
    except (DeviceCodeError, subprocess.CalledProcessError) as error:
        print(getattr(error, "stderr", None) or error, file=sys.stderr)
        return 1
    return 0


def parse(arguments: list[str]) -> Options:
    """The options that matter here, out of all that nvcc knows."""
    options = Options()
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument in VALUED:
            _take(options, argument, next(rest, ""))
        elif argument in IGNORED_VALUED:
            next(rest, "")
        elif argument[:2] in ("-I", "-D", "-U"):
            options.preprocessor.append(argument)
        elif equals and name in VALUED:
            _take(options, name, value)
        elif argument in ("-E", "--preprocess"):
            options.preprocess_only = True
        elif argument.lstrip("-") in ("ptx", "fatbin", "c", "dc", "lib", "shared"):
            options.kind = argument.lstrip("-")
        elif not argument.startswith("-"):
            options.sources.append(argument)
    return options


def _take(options: Options, name: str, value: str) -> None:
    if name in ("-o", "--output-file"):
        options.output = value
    elif name in ("-I", "-D", "-U", "-include"):
        options.preprocessor += [name, value]
    elif name in ("-arch", "--gpu-architecture", "-gencode"):
        digits = "".join(letter for letter in value.rpartition("_")[2] if letter.isdigit())
        options.capability = int(digits) if digits else options.capability


def preprocess(source: Path, options: Options) -> str:
    """The text of a source with the program's own macros and headers written in."""
    command = [CXX, "-E", "-x", "c++", "-std=c++17", "-w", "-nostdinc", *DEFINES]
    command += [f"-D__CUDA_ARCH__={options.capability * 10}", *options.preprocessor]
    return _run([*command, "-isystem", str(shim() / "empty"), str(source)], "")


def compile_module(text: str, output: Path) -> None:
    """Writes the module of preprocessed device code; raises CalledProcessError or DeviceCodeError when it is wrong."""
    header = shim() / "emucuda.h"
    fresh = output.with_name(f"{output.name}.{os.getpid()}")
    # Kernels may have the names of functions of the C library: references stay inside the module. The sanitizers'
    # runtimes stay out: the shim has its own, and AddressSanitizer's is preloaded.
    link = ["-shared", "-Wl,-Bsymbolic", "-nodefaultlibs", "-x", "none", "-lm", "-lc", "-lgcc"]
    command = [CXX, *all_flags(), "-include", str(header), "-x", "c++", "-", *link, "-o", str(fresh)]
    try:
        _run(command, rewrite(text))
        fresh.rename(output)
    finally:
        fresh.unlink(missing_ok=True)


def all_flags() -> list[str]:
    """The options of the host compiler."""
    return [*FLAGS, *shlex.split(os.environ.get("EMUCUDA_CXXFLAGS", ""))]


def identity() -> str:
    """A digest of everything but the source that a module is made of."""
    digest = hashlib.sha256(repr([CXX, all_flags(), DEFINES, EMPTY_HEADERS]).encode())
    for path in (*sorted((HERE / "device").glob("*.h")), HERE / "rewriting.py", HERE / "emu_nvcc.py"):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def version() -> str:
    """What ``--version`` prints: programs keep it with what they cache, so it changes with the shim."""
    lines = ["emu-nvcc: a stand-in for nvcc", "Cuda compilation tools, release 13.0, V13.0.0"]
    return "\n".join([*lines, f"Build emulated-{identity()}"])


def shim() -> Path:
    """The directory of the shim's headers with the one that all sources include precompiled; made when missing."""
    directory = CACHE / f"shim-{identity()}"
    if directory.exists():
        return directory
    fresh = directory.with_name(f"{directory.name}.{os.getpid()}")
    try:
        shutil.copytree(HERE / "device", fresh)
        (fresh / "empty").mkdir()
        for name in EMPTY_HEADERS:
            (fresh / "empty" / name).touch()
        header = fresh / "emucuda.h"
        _run([CXX, *all_flags(), "-x", "c++-header", str(header), "-o", f"{header}.gch"], "")
        with contextlib.suppress(OSError):  # when somebody else was faster
            fresh.rename(directory)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return directory


def _run(command: list[str], text: str) -> str:
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
