"""Backends and their devices: what the roots of a device share, and which backend a root is on (context:19-29)."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, allocate
from counterfoil.compile import NO_COMPILER, compiler_command
from counterfoil.contexts.workers import Worker
from counterfoil.devices import host
from counterfoil_spec.arguments import integer, within
from counterfoil_spec.backends import AUTO, MOST_THREADS, WORKERS, known, unavailable
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import BackendUnavailable, refuse

if TYPE_CHECKING:
    from counterfoil.contexts.pools import Location

SERVICES: Final = ffi.new("cf_services *")
"""What generated code may call; null where there is none."""


class Slab:
    """The merge buffer of a device: its bytes, and a number unique to the fill they are of (context:101, C18)."""

    def __init__(self) -> None:
        self.buffer: Buffer | None = None
        self.c = ffi.new("cf_slab *")

    def reserve(self, nbytes: int) -> None:
        """Grow to at least that many bytes, keeping what it holds; refuses memory/exhausted."""
        old = self.buffer
        if old is not None and old.nbytes >= nbytes:
            return
        grown = allocate(host(), nbytes)
        if old is not None:
            grown.bytes()[: old.nbytes] = old.bytes()
        self.buffer = grown
        self.c.data = grown.memory.c.base

    @contextlib.contextmanager
    def closed(self) -> Generator[None]:
        """While nobody reads it; what it held is found again where the block fails. The caller holds the guard."""
        fill = lib.cf_slab_close(self.c)
        try:
            while not lib.cf_slab_idle(self.c):
                time.sleep(0)
            yield
        except BaseException:
            lib.cf_slab_open(self.c, fill)
            raise


class ContextDevice:
    """One device of one backend: what its roots share. Its memory is the host's.

    ``literals``: where constants with host data lie, by node. ``worker``: runs what is dispatched to it, in order, on a
    thread of its own; None where run itself does. ``guard``: for the constants and the slab.
    """

    def __init__(self, backend: str, ordinal: int) -> None:
        self.backend = backend
        self.ordinal = ordinal
        self.literals: dict[Node, Location] = {}
        self.slab = Slab()
        self.live_bytes = 0
        self.worker = Worker(f"{backend}:{ordinal}") if backend == "multidev_cc" else None
        self.guard = threading.RLock()

    def count(self, nbytes: int) -> None:
        """So many more bytes are in its pools."""
        with self.guard:
            self.live_bytes += nbytes

    def wait(self) -> None:
        """Block until nothing dispatched to the device is left to do."""
        if self.worker is not None:
            self.worker.wait()

    def __repr__(self) -> str:
        return f"{self.backend}:{self.ordinal}"


_devices: Final[dict[tuple[str, int], ContextDevice]] = {}
_guard: Final = threading.Lock()


def fill_services() -> None:
    """Offer generated code the BLAS that was adopted, and loops over threads; called once, at import."""
    if lib.cf_blas_present():
        SERVICES.sgemm, SERVICES.dgemm = lib.cf_blas_sgemm, lib.cf_blas_dgemm
    threads = thread_count()
    if threads > 1:
        lib.cf_parallel_use(threads)
        SERVICES.parallel_for = lib.cf_parallel_for


def thread_count() -> int:
    """How many threads a loop of generated code takes: COUNTERFOIL_THREADS, else the cores this process may use."""
    asked = os.environ.get("COUNTERFOIL_THREADS", "")
    if asked.isascii() and asked.isdigit() and 1 <= int(asked) <= MOST_THREADS:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def device_of(backend: str, ordinal: int, devices: int) -> ContextDevice:
    """The device of that ordinal, always the same object; refuses contexts/ordinal, memory/backend-unavailable."""
    ordinal = integer("ordinal", ordinal)
    if not 0 <= ordinal < devices:
        raise refuse("contexts/ordinal", backend=backend, ordinal=ordinal, devices=devices)
    _require_compiler(backend)
    with _guard:
        found = _devices.get((backend, ordinal))
        if found is None:
            found = _devices[backend, ordinal] = ContextDevice(backend, ordinal)
    return found


def devices_of(backend: str) -> list[ContextDevice]:
    """The devices of a backend that were asked for so far, by ordinal."""
    with _guard:
        return [device for (name, _), device in sorted(_devices.items()) if name == backend]


def cpu_device(threads: int, ordinal: int) -> ContextDevice:
    """The device of a CPU root: cc, or with several threads multidev_cc (context:25)."""
    threads = within("threads", integer("threads", threads), 1, MOST_THREADS)
    return device_of("cc", ordinal, 1) if threads == 1 else device_of("multidev_cc", ordinal, threads)


def advances_to_next_backend(failure: BaseException) -> bool:
    """Whether auto goes on to the next backend after this failure: only BackendUnavailable (context:29)."""
    return isinstance(failure, BackendUnavailable)


def automatic(backend: str | None) -> ContextDevice:
    """The device of the backend asked for, else of COUNTERFOIL_BACKEND's, else of the first available (context:27).

    Refuses contexts/unknown-backend, contexts/none-available; a backend that was named fails with its own failure.
    """
    asked = backend if backend is not None else os.environ.get("COUNTERFOIL_BACKEND") or None
    if asked is not None:
        return _named(known(asked))
    for name in AUTO:
        try:
            return _named(name)
        except Exception as failure:
            if not advances_to_next_backend(failure):
                raise
    raise refuse("contexts/none-available", tried=list(AUTO))


def _named(name: str) -> ContextDevice:
    if name in ("cc", "multidev_cc"):
        return cpu_device(1 if name == "cc" else WORKERS, 0)
    raise unavailable(name, 0)


def _require_compiler(backend: str) -> None:
    if compiler_command() is None:
        raise refuse("memory/backend-unavailable", backend=backend, why=NO_COMPILER)
