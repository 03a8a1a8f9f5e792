"""Compiled routines on disk, found by what they were made of.

An entry is a shared library named by the digest of its source, the command line and the compiler, or a cubin (see
``counterfoil.cuda.cubins``); it appears by an atomic rename, so processes that build the same thing at once do no harm.
The least recently used entries go when the folder passes its size. An entry that does not load is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from counterfoil.compile.toolchain import Compiler

FOLDER_VARIABLE: Final = "COUNTERFOIL_CACHE"
"""Environment variable: the folder of the cache."""

SIZE_VARIABLE: Final = "COUNTERFOIL_CACHE_BYTES"
"""Environment variable: the most bytes kept."""

DEFAULT_BYTES: Final = 256 * 2**20

LIBRARY: Final = ".so"
"""How the names of shared libraries end."""

_KINDS: Final = (LIBRARY, ".cubin")

_BUILDING: Final = "build-"

_LEFT_BEHIND: Final = 3600 * 10**9  # nanoseconds after which a build is not under way any more


def folder() -> Path:
    """Where entries lie: COUNTERFOIL_CACHE, else counterfoil in XDG_CACHE_HOME, else ~/.cache/counterfoil."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return _path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return _path(base or os.path.expanduser("~/.cache"), "counterfoil")


@lru_cache(maxsize=512)
def _path(*parts: str) -> Path:
    """A path, kept: a new one each time would enter its parts into the interpreter's table of strings, which grows with
    those that come and go."""
    return Path(*parts)


def digest(source: str, compiler: Compiler, level: str) -> str:
    """What an entry is called."""
    facts = "\0".join([source, compiler.identity, *compiler.command, level, *compiler.flags])
    return hashlib.sha256(facts.encode()).hexdigest()


def entry_path(name: str, suffix: str = LIBRARY) -> Path:
    """The file of an entry."""
    return _path(str(folder()), f"{name}{suffix}")


def find(name: str, suffix: str = LIBRARY) -> Path | None:
    """An entry's file, marked as used now; None where there is none."""
    path = entry_path(name, suffix)
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def build(name: str, source: str, compiler: Compiler, level: str) -> Path:
    """Compile a source into its entry, replacing what is there; raises CompilerFailed, OSError for a folder that takes
    none."""
    return keep(entry_path(name), lambda work: compile_in(work, source, compiler, level))


def keep(path: Path, make: Callable[[Path], Path]) -> Path:
    """Put the file that ``make`` makes in a folder of its own at ``path``, whole or not at all; then evict.

    Raises OSError for a folder that takes none, and what ``make`` raises.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=_BUILDING) as work:
        os.replace(make(Path(work)), path)
    _evict(path)
    return path


def compile_in(work: Path, source: str, compiler: Compiler, level: str) -> Path:
    """Compile a source in a folder; the library's file. Raises CompilerFailed."""
    written, library = work / "routine.c", work / "routine.so"
    written.write_text(source)
    compiler.build(written, library, level)
    return library


def _evict(kept: Path) -> None:
    """Remove the least recently used entries until the folder is within its size, and what a killed build left."""
    limit = int(os.environ.get(SIZE_VARIABLE, DEFAULT_BYTES))
    found = _by_use(path for kind in _KINDS for path in kept.parent.glob(f"*{kind}"))
    total = sum(size for _, size, _ in found)
    for _, size, path in found:
        if total <= limit:
            break
        if path != kept:
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
    oldest = time.time_ns() - _LEFT_BEHIND
    for used, _, path in _by_use(kept.parent.glob(f"{_BUILDING}*")):
        if used < oldest:
            shutil.rmtree(path, ignore_errors=True)


def _by_use(paths: Iterable[Path]) -> list[tuple[int, int, Path]]:
    """When each was last used, its size, and itself, the oldest first; what has gone meanwhile left out."""
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            facts = path.stat()
            found.append((facts.st_mtime_ns, facts.st_size, path))
    return sorted(found)
