"""Compiled routines on disk, found by what they were made of.

An entry is a shared library named by the digest of its source, the command line and the compiler; it appears by an
atomic rename, so processes that build the same thing at once do no harm. The least recently used entries go when the
folder passes its size. An entry that does not load is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

from counterfoil.compile.toolchain import FLAGS, QUICKER, Compiler

FOLDER_VARIABLE: Final = "COUNTERFOIL_CACHE"
"""Environment variable: the folder of the cache."""

SIZE_VARIABLE: Final = "COUNTERFOIL_CACHE_BYTES"
"""Environment variable: the most bytes kept."""

DEFAULT_BYTES: Final = 256 * 2**20


def folder() -> Path:
    """Where entries lie: COUNTERFOIL_CACHE, else counterfoil in XDG_CACHE_HOME, else ~/.cache/counterfoil."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "counterfoil"


def digest(source: str, compiler: Compiler, level: str) -> str:
    """What an entry is called."""
    facts = "\0".join([source, compiler.identity, *compiler.command, level, *FLAGS, *QUICKER])
    return hashlib.sha256(facts.encode()).hexdigest()


def entry_path(name: str) -> Path:
    """The file of an entry."""
    return folder() / f"{name}.so"


def find(name: str) -> Path | None:
    """An entry's file, marked as used now; None where there is none."""
    path = entry_path(name)
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def build(name: str, source: str, compiler: Compiler, level: str) -> Path:
    """Compile a source into its entry, replacing what is there; raises CompilerFailed."""
    path = entry_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="build-") as work:
        written = Path(work) / "routine.c"
        written.write_text(source)
        library = Path(work) / "routine.so"
        compiler.build(written, library, level)
        os.replace(library, path)
    _evict(path)
    return path


def _evict(kept: Path) -> None:
    """Remove the least recently used entries until the folder is within its size."""
    limit = int(os.environ.get(SIZE_VARIABLE, DEFAULT_BYTES))
    found = []
    for path in kept.parent.glob("*.so"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            found.append((facts.st_mtime_ns, facts.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        if path != kept:
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
