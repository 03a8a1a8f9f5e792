"""What a context says of its device and backend (context:9, context:83-97, context:156, context:170)."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING

from counterfoil._native import lib
from counterfoil.compile import compiler_command, find_compiler
from counterfoil.contexts import backends, cuda_rows
from counterfoil_spec.arguments import instance
from counterfoil_spec.backends import known
from counterfoil_spec.limits import POOL_ALIGNMENT, POOL_CAP
from counterfoil_spec.programs.nodes import PROGRAM_DTYPES
from counterfoil_spec.refusals import BackendUnavailable

if TYPE_CHECKING:
    from counterfoil.contexts.backends import ContextDevice
    from counterfoil.contexts.surface import Context

_LIMITS = ("threads_per_group", "group_memory_bytes", "grid_x", "grid_y", "grid_z")


def static_properties(device: ContextDevice) -> list[dict[str, object]]:
    """One row per device of the backend: its name, ordinal and what computes there (context:85).

    A CPU backend has as many as the root with the most of them, used or not; CUDA has all that the driver has.
    """
    if device.cuda is not None:
        return cuda_rows.static_properties()
    return [
        {"name": f"{device.backend}:{ordinal}", "ordinal": ordinal, "processor": _processor(), "cores": os.cpu_count()}
        for ordinal in range(backends.device_count(device.backend))
    ]


def device_identity(device: ContextDevice) -> dict[str, object]:
    """The device as a machine of its kind: host, processor, the compiler of routines (context:87)."""
    if device.cuda is not None:
        return cuda_rows.device_identity(device.cuda)
    found = find_compiler()
    toolchain = None if found is None else found.identity
    return {"backend": device.backend, "host": platform.machine(), "processor": _processor(), "toolchain": toolchain}


def hardware_limits(device: ContextDevice) -> dict[str, int | None]:
    """Threads and bytes of a block, blocks of a grid; None where hardware axes are not bound: on CPUs (context:89)."""
    return dict.fromkeys(_LIMITS) if device.cuda is None else cuda_rows.hardware_limits(device.cuda)


def codegen_capabilities(device: ContextDevice) -> dict[str, object]:
    """What generated code computes in, and what it may call (context:91)."""
    dtypes = [dtype.name for dtype in PROGRAM_DTYPES]
    blas = device.cuda is None and bool(lib.cf_blas_present())
    return {"dtypes": dtypes, "generates": True, "blas": blas}


def backend_facts(name: str) -> dict[str, object]:
    """What a backend is, by name; refuses contexts/unknown-backend (context:93, context:95)."""
    name = known(name)
    return {
        "name": name,
        "available": _is_available(name),
        "asynchronous": name != "cc",
        "frees_pools": True,
        "pool_cap": POOL_CAP,
        "pool_alignment": POOL_ALIGNMENT,
    }


def debug_info(device: ContextDevice) -> dict[str, object]:
    """What the device holds now (context:170)."""
    held = {"backend": device.backend, "ordinal": device.ordinal, "live_bytes": device.live_bytes}
    return held if device.cuda is None else held | cuda_rows.debug_info(device.cuda)


def host_capabilities() -> dict[str, str]:
    """What this host offers, no device opened (context:9)."""
    compiler, python = compiler_command() or "none", sys.version.split()[0]
    return {
        "processor": _processor(), "system": platform.system(), "python": python, "compiler": compiler,
        "cuda": cuda_rows.packages(),
    }  # fmt: skip


def same_backend(a: Context, b: Context) -> bool:
    """Whether both contexts are on one backend; refuses arguments/wrong-type (context:97)."""
    from counterfoil.contexts.surface import Context

    return instance("a", a, Context).device.backend == instance("b", b, Context).device.backend


def _is_available(name: str) -> bool:
    """Whether a root on the backend's first device would be made; no device is opened."""
    if name != "cuda":
        return name in ("cc", "multidev_cc") and compiler_command() is not None
    try:
        backends.require_cuda()
    except (BackendUnavailable, RuntimeError):  # also a driver that fails
        return False
    return True


def _processor() -> str:
    return platform.processor() or platform.machine()
