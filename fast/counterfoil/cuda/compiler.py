"""CUDA C to cubins: NVRTC through the package cuda-bindings, or the command that COUNTERFOIL_CUDA_COMPILER names.

Neither needs a driver or a device. Flags: no contraction into fma, no fast math, denormals kept, division and square
roots rounded to nearest: what N1 asks. A source that does not compile is a bug of this package, never a refusal.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from counterfoil.compile.toolchain import CompilerFailed

VARIABLE: Final = "COUNTERFOIL_CUDA_COMPILER"
"""Environment variable: an nvcc-compatible command to use instead of NVRTC."""

FLAGS: Final = ("-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")
"""Flags of every compile, beside the architecture."""

__all__ = ["FLAGS", "VARIABLE", "CompilerFailed", "cubin", "identity"]


def cubin(text: str, arch: str) -> bytes:
    """The cubin of a text for an architecture (``sm_90``), or PTX where NVRTC is older than that (``target``).

    Raises CompilerFailed with what the compiler said.
    """
    command = _command()
    return _by_nvrtc(text, arch) if command is None else _by_command(command, text, arch)


def identity() -> str:
    """What tells the output of the compiler in use from another's."""
    command = _command()
    facts = (_nvrtc_version(), _nvrtc_build()) if command is None else (*command, _command_facts(command))
    return " ".join((*facts, *FLAGS))


def _command() -> tuple[str, ...] | None:
    named = os.environ.get(VARIABLE, "")
    return tuple(shlex.split(named)) if named.strip() else None


@lru_cache(maxsize=16)
def _command_facts(command: tuple[str, ...]) -> str:
    """The program's file and what it says of its version."""
    program = shutil.which(command[0])
    if program is None:
        raise CompilerFailed(f"{VARIABLE} names {shlex.join(command)}: there is no such command")
    facts = Path(program).resolve().stat()
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return f"{facts.st_size} {facts.st_mtime_ns} {said.stdout}"


def _by_command(command: tuple[str, ...], text: str, arch: str) -> bytes:
    _command_facts(command)
    with tempfile.TemporaryDirectory(prefix="counterfoil-cuda-") as work:
        written, made = Path(work) / "kernel.cu", Path(work) / "kernel.cubin"
        written.write_text(text)
        line = [*command, "-cubin", f"-arch={arch}", *FLAGS, "-o", str(made), str(written)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not made.exists():
            raise CompilerFailed(f"{shlex.join(line)} failed:\n{done.stdout}{done.stderr}")
        return made.read_bytes()


# --- NVRTC -----------------------------------------------------------------------------------------------------------


def _nvrtc() -> Any:
    """The bindings, imported when first needed."""
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise CompilerFailed(
            f"no CUDA compiler: install counterfoil's extra `cuda` (it brings cuda-bindings and nvidia-cuda-nvrtc), "
            f"or name an nvcc in {VARIABLE} ({error})"
        ) from None
    return nvrtc


@lru_cache(maxsize=1)
def _nvrtc_version() -> str:
    _, major, minor = _checked(_nvrtc().nvrtcVersion())
    return f"nvrtc {major}.{minor}"


@lru_cache(maxsize=1)
def _nvrtc_build() -> str:
    """The release of NVRTC's wheel, which tells more than the version that it says; empty for one from elsewhere."""
    try:
        return metadata.version("nvidia-cuda-nvrtc")
    except metadata.PackageNotFoundError:
        return ""


def _checked(answered: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call of NVRTC answered; raises CompilerFailed where that is an error."""
    if int(answered[0]) != 0:
        raise CompilerFailed(f"NVRTC: {answered[0]!s}")
    return answered


@lru_cache(maxsize=64)
def target(arch: str) -> str:
    """What NVRTC compiles for an architecture: that itself, or PTX of the newest before it (``compute_90``).

    The driver of a device that is newer than NVRTC makes code of PTX when it loads it. Raises CompilerFailed for an
    architecture that is older than all that NVRTC knows.
    """
    _, known = _checked(_nvrtc().nvrtcGetSupportedArchs())
    wanted, numbers = int(arch.removeprefix("sm_")), sorted(map(int, known))
    if wanted in numbers:
        return arch
    older = [number for number in numbers if number < wanted]
    if not older:
        raise CompilerFailed(f"{_nvrtc_version()} compiles for sm_{numbers[0]} and later, not for {arch}")
    return f"compute_{older[-1]}"


def _by_nvrtc(text: str, arch: str) -> bytes:
    nvrtc, made_for = _nvrtc(), target(arch)
    _, program = _checked(nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], []))
    try:
        options = [flag.encode() for flag in (f"--gpu-architecture={made_for}", *FLAGS)]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(result) != 0:
            raise CompilerFailed(f"NVRTC for {arch}: {result!s}\n{_log(nvrtc, program)}")
        what = "CUBIN" if made_for == arch else "PTX"
        _, size = _checked(getattr(nvrtc, f"nvrtcGet{what}Size")(program))
        made = bytearray(size)
        _checked(getattr(nvrtc, f"nvrtcGet{what}")(program, made))
        return bytes(made)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _log(nvrtc: Any, program: Any) -> str:
    _, size = _checked(nvrtc.nvrtcGetProgramLogSize(program))
    log = bytearray(size)
    _checked(nvrtc.nvrtcGetProgramLog(program, log))
    return log.rstrip(b"\0").decode(errors="replace")
