"""Backends and their devices: what the roots of a device share, and which backend a root is on (context:19-29)."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final, cast

from counterfoil import placement
from counterfoil._native import ffi, lib
from counterfoil.buffers import Buffer, allocate
from counterfoil.compile import NO_COMPILER, Kernel, Plan, compiler_command
from counterfoil.compile import generate as generate_host
from counterfoil.contexts.workers import Worker
from counterfoil.devices import MOST_WORK, Device, cuda, host
from counterfoil_spec.arguments import integer, within
from counterfoil_spec.backends import AUTO, MOST_THREADS, WORKERS, known, unavailable
from counterfoil_spec.programs.nodes import Node
from counterfoil_spec.refusals import BackendUnavailable, Lost, refuse

if TYPE_CHECKING:
    from counterfoil.contexts.launching import CudaKernel
    from counterfoil.contexts.pools import Location
    from counterfoil.cuda.device import Cuda
    from counterfoil_spec.programs.loops import Lowered

SERVICES: Final = ffi.new("cf_services *")
"""What generated code calls: fast/native/dispatch.h says which of it may be null."""

NO_CUDA_COMPILER: Final = "no CUDA compiler was found (NVRTC, or the command that COUNTERFOIL_CUDA_COMPILER names)"
"""Why the cuda backend is not available where nothing compiles CUDA C."""

LEVELS: Final = (lib.CF_BLOCK_PLAIN, lib.CF_BLOCK_AVX2, lib.CF_BLOCK_AVX512)
"""What matrix products are compiled for; not every CPU has them all."""


class Slab:
    """The merge buffer of a device: its bytes, and a number unique to the fill they are of (context:101, C18)."""

    def __init__(self, memory: Device) -> None:
        self.memory = memory
        self.buffer: Buffer | None = None
        self.c = ffi.new("cf_slab *")

    def take(self, there: Location) -> None:
        """The bytes of a node, after what they must follow; refuses memory/exhausted, memory/lost."""
        held = self._reserve(there.node.nbytes)
        placement.copy_bytes(there.buffer, held.view(0, there.node.nbytes))
        held.require_found(True)

    def _reserve(self, nbytes: int) -> Buffer:
        """At least that many bytes, holding what was held (a fill that fails leaves the one before)."""
        old = self.buffer
        if old is not None and old.nbytes >= nbytes:
            return old
        grown = allocate(self.memory, nbytes)
        if old is not None:
            placement.copy_bytes(old, grown.view(0, old.nbytes))
        self.buffer = grown
        self.c.data = grown.memory.c.base
        return grown

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
    """One device of one backend: what its roots share.

    ``memory``: the device its pools lie on, the host for CPUs. ``literals``: where constants with host data lie,
    by node. ``worker``: runs what is dispatched to it, in order, on a thread of its own; None where run itself does.
    ``guard``: for the constants and the slab.
    """

    def __init__(self, backend: str, ordinal: int, memory: Device) -> None:
        self.backend = backend
        self.ordinal = ordinal
        self.memory = memory
        self.literals: dict[Node, Location] = {}
        self.slab = Slab(memory)
        self.live_bytes = 0
        self._scratch: Buffer | None = None
        self.worker = Worker(f"{backend}:{ordinal}") if backend == "multidev_cc" else None
        self.guard = threading.RLock()

    def count(self, nbytes: int) -> None:
        """So many more bytes are in its pools."""
        with self.guard:
            self.live_bytes += nbytes

    @property
    def cuda(self) -> Cuda | None:
        """Its memory as a CUDA device, None for CPUs."""
        return cast("Cuda", self.memory) if self.backend == "cuda" else None

    @property
    def deferred(self) -> bool:
        """Whether run returns before the work is done."""
        return self.worker is not None or self.memory.runs_work

    def generate(self, segments: Sequence[Lowered], plan: Plan) -> Kernel | CudaKernel:
        """The code of a plan's kernels for the device.

        Refuses compile/index-range, memory/backend-unavailable.
        """
        if self.cuda is None:
            return generate_host(segments, plan)
        from counterfoil.contexts import launching

        return launching.compiled(self.cuda, segments, plan)

    def load(self, kernel: Kernel | CudaKernel) -> None:
        """Put a routine's code where runs find it; refuses memory/exhausted, memory/lost."""
        if not isinstance(kernel, Kernel):
            kernel.load(self._shared_scratch)

    def _shared_scratch(self, nbytes: int) -> Buffer:
        """Memory that one run at a time may use, of at least that many bytes: the runs of a CUDA device are in order.

        Refuses memory/exhausted, memory/lost.
        """
        assert self.cuda is not None
        with self.guard:
            if self._scratch is None or self._scratch.nbytes < nbytes:
                self._scratch = self.cuda.scratch(nbytes)
            return self._scratch

    def wait(self) -> None:
        """Block until nothing dispatched to the device is left to do; refuses memory/lost."""
        if self.worker is not None:
            self.worker.wait()
        elif self.memory.runs_work:
            self.memory.advance(MOST_WORK)

    def drain(self) -> None:
        """``wait``, also of a lost device, on which nothing is left to do."""
        with contextlib.suppress(Lost):
            self.wait()

    def __repr__(self) -> str:
        return f"{self.backend}:{self.ordinal}"


_devices: Final[dict[tuple[str, int], ContextDevice]] = {}
_counts: Final[dict[str, int]] = {}
_guard: Final = threading.Lock()


def fill_services() -> None:
    """Offer generated code what there is: products for this CPU, the BLAS adopted, threads; called once, at import."""
    level = max(level for level in LEVELS if lib.cf_block_product_f32(level))
    SERVICES.product_f32, SERVICES.product_f64 = lib.cf_block_product_f32(level), lib.cf_block_product_f64(level)
    SERVICES.pack_f32, SERVICES.pack_f64 = lib.cf_block_pack_f32, lib.cf_block_pack_f64
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
        _counts[backend] = max(devices, _counts.get(backend, 0))
    return _shared(backend, ordinal, host())


def cuda_device(ordinal: int) -> ContextDevice:
    """The CUDA device of that ordinal; refuses memory/backend-unavailable, contexts/ordinal.

    Raises counterfoil.cuda.DriverFailed where there is a driver that fails.
    """
    ordinal, devices = integer("ordinal", ordinal), require_cuda()
    if not 0 <= ordinal < devices:
        raise refuse("contexts/ordinal", backend="cuda", ordinal=ordinal, devices=devices)
    return _shared("cuda", ordinal, cuda(ordinal))


def require_cuda() -> int:
    """How many CUDA devices there are; refuses memory/backend-unavailable, raises counterfoil.cuda.DriverFailed."""
    from counterfoil.cuda import probe

    devices = probe.devices()
    if cuda_compiler() is None:
        raise refuse("memory/backend-unavailable", backend="cuda", why=NO_CUDA_COMPILER)
    return devices


def cuda_compiler() -> str | None:
    """What tells the compiler of CUDA C in use from another, None where there is none."""
    from counterfoil.cuda import compiler

    try:
        return compiler.identity()
    except RuntimeError:  # CompilerFailed, and what cuda-bindings raises where it finds no library
        return None


def _shared(backend: str, ordinal: int, memory: Device) -> ContextDevice:
    with _guard:
        found = _devices.get((backend, ordinal))
        if found is None or found.memory is not memory:  # a device that was opened anew
            found = _devices[backend, ordinal] = ContextDevice(backend, ordinal, memory)
    return found


def device_count(backend: str) -> int:
    """How many devices a CPU backend has: as many as the root with the most of them."""
    with _guard:
        return _counts.get(backend, 0)


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
    if name == "cuda":
        return cuda_device(0)
    raise unavailable(name, 0)


def _require_compiler(backend: str) -> None:
    if compiler_command() is None:
        raise refuse("memory/backend-unavailable", backend=backend, why=NO_COMPILER)
