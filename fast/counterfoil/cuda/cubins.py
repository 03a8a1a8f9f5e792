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
from counterfoil.cuda.probe import DriverFailed

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_SUFFIX: Final = ".cubin"


class Module:
    """A loaded cubin, with the kernels asked for. It is unloaded when nobody holds it any more, by whichever thread.

    By a finalizer, which runs when no weak reference leads to it any more: ``__del__`` runs before that. PyCUDA's
    kernels keep PyCUDA's module, so they are held here alone: one in a cycle of garbage would outlive the finalizer,
    and unload the module later, with no device current.
    """

    __slots__ = ("__weakref__", "_held", "_places")

    def __init__(self, device: Cuda, module: Any) -> None:
        driver.abandon(module)  # it goes in the finalizer or never: not while the interpreter ends
        self._held = [module]
        self._places: dict[str, int] = {}
        weakref.finalize(self, _unload, device, self._held).atexit = False

    def find(self, name: str) -> int:
        """The place of a kernel; the device is current. Raises DriverFailed."""
        found = self._places.get(name)
        if found is None:
            kernel = driver.function(self._held[0], name)
            driver.abandon(kernel)
            self._held.append(kernel)
            found = self._places[name] = len(self._held) - 1
        return found

    def kernel(self, place: int) -> Any:
        """The driver's kernel at that place."""
        return self._held[place]


def _unload(device: Cuda, held: list[Any]) -> None:
    """Let go of a module with its device current, where the device answers: it is no forked child's, and not lost."""
    with contextlib.suppress(DriverFailed), device.current():
        driver.require_sound(device.timeline.raw)
        driver.let_go(held)


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
            return [Function(device, name, module, module.find(name)) for name in names]


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
                found = kept[text, name] = Function(device, name, module, module.find(name))
    return found


def _module(device: Cuda, text: str) -> Module:
    modules = _modules.setdefault(device, weakref.WeakValueDictionary())
    module = modules.get(text)
    if module is None:
        made = cubin(text, device.arch)
        try:
            module = _put(device, made)
        except driver.BadImage:
            module = _put(device, _compiled(_digest(text, device.arch), text, device.arch), again=True)
        modules[text] = module
    return module


def _put(device: Cuda, made: bytes, again: bool = False) -> Module:
    """A cubin on the device, where there is room or can be made; refuses memory/exhausted and memory/lost.

    Raises BadImage, with who compiled it where that was done ``again``.
    """
    try:
        try:
            return _put_as_it_is(device, made)
        except driver.OutOfMemory:
            device.pool.make_room()
        return _put_as_it_is(device, made)
    except driver.OutOfMemory:
        raise device.exhausted(len(made), device.live_bytes()) from None
    except driver.BadImage as failure:
        if not again:
            raise
        by = compiler.identity()
        raise driver.BadImage(f"the driver does not load what {by} makes for {device.arch}: {failure}") from None


def _put_as_it_is(device: Cuda, made: bytes) -> Module:
    with device.current():
        return Module(device, driver.module(made))


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
