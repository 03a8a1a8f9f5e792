"""Loaded routines: a shared library stays mapped exactly while a Kernel over it lives."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from pathlib import Path
from typing import Final

_system: Final = ctypes.CDLL(None)
_system.dlopen.restype = ctypes.c_void_p
_system.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
_system.dlsym.restype = ctypes.c_void_p
_system.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_system.dlclose.argtypes = [ctypes.c_void_p]
_NOW: Final = 2


class Kernel:
    """A routine's machine code. ``entry``: the address of
    ``void entry(void *const *arguments, const int64_t *bindings, const void *merge, const cf_services *services)``,
    valid while this object lives. ``source``: the C it was made of."""

    __slots__ = ("__weakref__", "entry", "source")

    def __init__(self, path: Path, source: str) -> None:
        """Raises OSError where the file is no library with an entry."""
        handle = _system.dlopen(str(path.absolute()).encode(), _NOW)
        if not handle:
            raise OSError(f"{path} does not load")
        entry = _system.dlsym(handle, b"entry")
        if not entry:
            _system.dlclose(handle)
            raise OSError(f"{path} has no entry")
        self.entry = int(entry)
        self.source = source
        loaded.add(self)
        weakref.finalize(self, _system.dlclose, handle).atexit = False


loaded: Final[weakref.WeakSet[Kernel]] = weakref.WeakSet()
"""The kernels alive: how checkers count loaded modules."""


def load(path: Path, source: str) -> Kernel | None:
    """The kernel of a library, None where the file is damaged or gone."""
    with contextlib.suppress(OSError):
        return Kernel(path, source)
    return None
