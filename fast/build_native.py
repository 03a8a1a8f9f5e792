"""Build `counterfoil._native`: the C core of fast/native behind cffi in API mode.

Objects are kept under build/native/objects by what went into them (source, the headers it includes, flags, compiler),
so a build compiles only what changed, and a copy of the sources with one changed line compiles one file.

    python fast/build_native.py                                    the extension, in fast/counterfoil
    python fast/build_native.py --sources COPY --output ELSEWHERE  the extension of a changed copy of fast/native
    python fast/build_native.py --sanitize address,undefined       the same with sanitizers
    python fast/build_native.py --core --output DIR                DIR/counterfoil_core.o, no Python, for C programs

The environment gives the defaults: COUNTERFOIL_NATIVE_SOURCES, COUNTERFOIL_NATIVE_OUTPUT, COUNTERFOIL_SANITIZE,
COUNTERFOIL_CFLAGS (added to the flags of all C but what cffi generates) and CC.
"""

import argparse
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cffi

FAST = Path(__file__).resolve().parent
CACHE = FAST.parent / "build" / "native"
MODULE = "counterfoil._native"
PREAMBLE = '#include "counterfoil_native.h"'

# No flag that lets the compiler change a float result: fast-math in no form, and no contraction into fma.
# The CPU's own instructions are chosen at run time, inside the C core.
CORE_FLAGS = ("-std=gnu11", "-O3", "-ffp-contract=off", "-fno-trapping-math", "-Wall", "-Wextra", "-pthread", "-fPIC",
              "-fno-strict-aliasing", "-fvisibility=hidden")
# What cffi generates is not ours to lint.
# A function that cffi declares and no header does would be called with guessed types.
GLUE_FLAGS = ("-std=gnu11", "-O2", "-pthread", "-fPIC", "-fno-strict-aliasing", "-fvisibility=hidden",
              "-Werror=implicit-function-declaration")

LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")
SUFFIX = ".abi3.so" if LIMITED_API else str(sysconfig.get_config_var("EXT_SUFFIX"))


class BuildError(Exception):
    """The compiler refused, or a source is missing; the text is what the user should read."""


@dataclass(frozen=True)
class Toolchain:
    """A C compiler command, its version line, and the sanitizers asked for (empty, or as for -fsanitize=)."""

    command: tuple[str, ...]
    version: str
    sanitize: str = ""

    @classmethod
    def find(cls, sanitize: str = "") -> "Toolchain":
        """The compiler of CC, else cc; raises BuildError when there is none."""
        command = tuple(shlex.split(os.environ.get("CC", "cc")))
        if not command or shutil.which(command[0]) is None:
            raise BuildError(f"no C compiler: {' '.join(command) or 'CC'} is not there (Debian: apt-get install gcc)")
        return cls(command, run([*command, "--version"]).splitlines()[0], sanitize)

    @property
    def sanitize_flags(self) -> tuple[str, ...]:
        if not self.sanitize:
            return ()
        return (f"-fsanitize={self.sanitize}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1",
                "-w")  # instrumented code gives false warnings; the plain build gives the true ones


def run(command: Sequence[str]) -> str:
    """Run a command; its output, or BuildError with everything it said."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise BuildError(f"{shlex.join(command)}\n{result.stdout}")
    if "warning:" in result.stdout:
        sys.stderr.write(result.stdout)
    return result.stdout


def included(source: Path, directory: Path) -> list[Path]:
    """The file and every file of `directory` that it includes by a quoted name, at any depth, in a fixed order."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found[path] = None
        names = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
        waiting += [base / name for name in names for base in (path.parent, directory)]
    return list(found)


def fingerprint(texts: Iterable[bytes]) -> str:
    """A hash of a sequence of byte strings, each with its length, so that no two sequences run together."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()[:24]


def compile_object(tools: Toolchain, source: Path, directory: Path, flags: Sequence[str]) -> Path:
    """The object of `source`, from the cache or freshly compiled. Two builds at once do not disturb each other."""
    command = [*tools.command, *flags, *tools.sanitize_flags]
    texts = [path.read_bytes() for path in included(source, directory)]
    key = fingerprint([shlex.join(command).encode(), tools.version.encode(), *texts])
    target = CACHE / "objects" / f"{source.stem}-{key}.o"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}.o")
        run([*command, f"-I{directory}", "-c", str(source), "-o", str(draft)])
        draft.replace(target)
    return target


def core_objects(tools: Toolchain, sources: Path) -> list[Path]:
    """One object for each C file of the core, compiled side by side."""
    files = sorted(sources.glob("*.c"))
    if not files:
        raise BuildError(f"no C sources in {sources}")
    flags = [*CORE_FLAGS, *asked_flags()]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(lambda source: compile_object(tools, source, sources, flags), files))


def asked_flags() -> list[str]:
    """The flags that the environment adds."""
    return shlex.split(os.environ.get("COUNTERFOIL_CFLAGS", ""))


def surface(sources: Path) -> str:
    """What Python sees of the core, as cffi's cdef: each *.cdef in the order of names, then the generated kernels.h."""
    files = [*sorted(sources.glob("*.cdef")), *sources.glob("kernels.h")]
    if not files:
        raise BuildError(f"no *.cdef in {sources}")
    return "\n".join(path.read_text() for path in files)


def glue_object(tools: Toolchain, sources: Path) -> Path:
    """The object of the Python module that cffi generates from the surface."""
    declarations = surface(sources)
    directory = CACHE / "glue" / fingerprint([declarations.encode(), cffi.__version__.encode()])
    directory.mkdir(parents=True, exist_ok=True)
    generated = directory / "_native.c"
    if not generated.exists():
        builder = cffi.FFI()
        builder.cdef(declarations)
        builder.set_source(MODULE, PREAMBLE, py_limited_api=LIMITED_API)
        draft = generated.with_suffix(f".{os.getpid()}.c")
        with contextlib.redirect_stdout(None):
            builder.emit_c_code(str(draft))
        draft.replace(generated)
    return compile_object(tools, generated, sources, python_flags())


def python_flags() -> list[str]:
    """The flags for C that includes Python.h."""
    limited = ["-DPy_LIMITED_API=0x030B0000"] if LIMITED_API else []
    return [*GLUE_FLAGS, f"-I{sysconfig.get_path('include')}", *limited]


def python_objects(tools: Toolchain, sources: Path) -> list[Path]:
    """One object for each C file of sources/python: what is called from Python without cffi in between."""
    flags = [*python_flags(), "-Wall", "-Wextra", *asked_flags()]
    return [compile_object(tools, source, sources, flags) for source in sorted((sources / "python").glob("*.c"))]


def link(tools: Toolchain, objects: Sequence[Path], target: Path, flags: Sequence[str]) -> Path:
    """Link into `target`, unless that is what it already holds; a process that has it mapped keeps its own copy."""
    sanitize = tools.sanitize_flags if "-shared" in flags else ()  # a partial link takes no runtime
    command = [*tools.command, *flags, *sanitize, *map(str, objects)]
    stamp = CACHE / "linked" / fingerprint([str(target.resolve()).encode()])
    state = fingerprint([shlex.join(command).encode(), tools.version.encode()])
    if target.exists() and stamp.exists() and stamp.read_text() == f"{state} {target.stat().st_mtime_ns}":
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    run([*command, "-o", str(draft), *(["-lm"] if "-shared" in flags else [])])
    draft.replace(target)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(f"{state} {target.stat().st_mtime_ns}")
    return target


def build_extension(sources: Path = FAST / "native", output: Path = FAST / "counterfoil", sanitize: str = "") -> Path:
    """Build the extension from the C files of `sources` into the directory `output`; returns its path.

    Raises BuildError with the compiler's words.
    """
    tools = Toolchain.find(sanitize)
    objects = [*core_objects(tools, sources), glue_object(tools, sources), *python_objects(tools, sources)]
    return link(tools, objects, output / f"_native{SUFFIX}", ["-shared", "-pthread"])


def build_core(sources: Path = FAST / "native", output: Path = CACHE / "core", sanitize: str = "") -> Path:
    """Build the core without Python as one object, counterfoil_core.o in `output`, for a C program to link."""
    tools = Toolchain.find(sanitize)
    return link(tools, core_objects(tools, sources), output / "counterfoil_core.o", ["-r"])


def main() -> int:
    """The command line described at the top of this file; 1 and the compiler's words when the build fails."""
    environment = os.environ.get
    parser = argparse.ArgumentParser(description="Build the C core of counterfoil.")
    parser.add_argument("--sources", type=Path, default=environment("COUNTERFOIL_NATIVE_SOURCES", FAST / "native"))
    parser.add_argument("--output", type=Path, default=environment("COUNTERFOIL_NATIVE_OUTPUT", FAST / "counterfoil"))
    parser.add_argument("--sanitize", default=environment("COUNTERFOIL_SANITIZE", ""))
    parser.add_argument("--core", action="store_true", help="one object without Python, for C programs")
    options = parser.parse_args()
    build = build_core if options.core else build_extension
    try:
        print(build(Path(options.sources).resolve(), Path(options.output), options.sanitize))
    except BuildError as error:
        print(f"build_native: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
