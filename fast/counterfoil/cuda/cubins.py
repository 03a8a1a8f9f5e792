"""Compiled kernels: cubins on disk beside the C backend's libraries, loaded once for each device.

An entry is named by the digest of the text, the architecture and the compiler. Folder, size limit, eviction and atomic
appearance are those of ``counterfoil.compile.cache``. An entry that the driver does not load is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.compile import cache
from counterfoil.cuda import compiler, driver
from counterfoil.cuda.launch import Function

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_SUFFIX: Final = ".cubin"

class Module:
    """A loaded cubin. It is unloaded when nobody holds it any more."""

    __slots__ = ("__weakref__", "module")

    def __init__(self, module: Any) -> None:
        self.module = module


# Devices, and the kernels of arrays, last as long as the process; routines come and go with theirs.
_loaded: dict[Cuda, dict[tuple[str, str], Function]] = {}
_modules: dict[Cuda, weakref.WeakValueDictionary[str, Module]] = {}
_lock = threading.RLock()


def function(device: Cuda, text: str, name: str) -> Function:
    """The kernel ``name`` of a text, compiled and loaded where it is not yet, and kept; raises CompilerFailed."""
    known = _loaded.get(device)
    found = None if known is None else known.get((text, name))
    return found if found is not None else _load(device, text, name)


def functions(device: Cuda, text: str, names: Iterable[str]) -> list[Function]:
    """Kernels of a text, loaded as long as somebody holds one of them; raises CompilerFailed."""
    with _lock:
        module = _module(device, text)
        with device.current():
            return [Function(device, name, driver.function(module.module, name), module) for name in names]


def loaded(device: Cuda) -> int:
    """How many cubins are loaded on a device."""
    return len(_modules.get(device, ()))


def cubin(text: str, arch: str) -> bytes:
    """The cubin of a text, from the disk where it is there; raises CompilerFailed."""
    entry = _digest(text, arch)
    found = cache.find(entry, _SUFFIX)
    if found is not None:
        with contextlib.suppress(OSError):  # evicted meanwhile
            return found.read_bytes()
    return _compiled(entry, text, arch)


def _load(device: Cuda, text: str, name: str) -> Function:
    with _lock:
        kept = _loaded.setdefault(device, {})
        found = kept.get((text, name))
        if found is None:
            module = _module(device, text)
            with device.current():
                found = kept[text, name] = Function(device, name, driver.function(module.module, name), module)
    return found


def _module(device: Cuda, text: str) -> Module:
    modules = _modules.setdefault(device, weakref.WeakValueDictionary())
    module = modules.get(text)
    if module is None:
        made = cubin(text, device.arch)
        with device.current():
            try:
                module = Module(driver.module(made))
            except driver.BadImage:
                module = Module(driver.module(_compiled(_digest(text, device.arch), text, device.arch)))
        modules[text] = module
    return module


def _digest(text: str, arch: str) -> str:
    return hashlib.sha256("\0".join([text, arch, compiler.identity()]).encode()).hexdigest()


def _compiled(entry: str, text: str, arch: str) -> bytes:
    made = compiler.cubin(text, arch)

    def write(work: Path) -> Path:
        written = work / "kernel.cubin"
        written.write_bytes(made)
        return written

    with contextlib.suppress(OSError):  # a folder that takes none: the cubin is used all the same
        cache.keep(cache.entry_path(entry, _SUFFIX), write)
    return made
