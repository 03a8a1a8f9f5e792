"""What a context says of its device and backend (context:9, context:83 to context:97, context:156, context:170)."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING, Final

from counterfoil_reference.contexts import roots
from counterfoil_reference.places import Model
from counterfoil_spec.arguments import instance
from counterfoil_spec.backends import known
from counterfoil_spec.limits import POOL_ALIGNMENT, POOL_CAP
from counterfoil_spec.programs.nodes import PROGRAM_DTYPES

if TYPE_CHECKING:
    from counterfoil_reference.contexts.roots import ContextDevice
    from counterfoil_reference.contexts.values import Context

_LIMITS: Final = ("threads_per_group", "group_memory_bytes", "grid_x", "grid_y", "grid_z")


def static_properties(device: ContextDevice) -> list[dict[str, object]]:
    """One row per device of the backend, used or not: its name, ordinal and what computes there (context:85)."""
    backend, facts = device.backend, {"processor": _processor(), "cores": os.cpu_count()}
    ordinals = range(roots.device_count(backend))
    return [{"name": f"{backend}:{ordinal}", "ordinal": ordinal, **facts} for ordinal in ordinals]


def device_identity(device: ContextDevice) -> dict[str, object]:
    """The device as a machine of its kind: host, processor, what carries programs out (context:87)."""
    return {"backend": device.backend, "host": platform.machine(), "processor": _processor(), "toolchain": None}


def hardware_limits() -> dict[str, int | None]:
    """No limits: CPU devices bind no hardware axes (context:89)."""
    return dict.fromkeys(_LIMITS)


def codegen_capabilities() -> dict[str, object]:
    """What programs are made of: dtypes, and that nothing is generated here (context:91)."""
    return {"dtypes": [dtype.name for dtype in PROGRAM_DTYPES], "generates": False}


def backend_facts(name: str) -> dict[str, object]:
    """What a backend is, by name; refuses contexts/unknown-backend (context:93, context:95)."""
    name = known(name)
    return {
        "name": name,
        "available": name in ("cc", "multidev_cc") or (name == "cuda" and Model.devices is not None),
        "asynchronous": name != "cc",
        "frees_pools": True,
        "pool_cap": POOL_CAP,
        "pool_alignment": POOL_ALIGNMENT,
    }


def debug_info(device: ContextDevice) -> dict[str, object]:
    """What the device holds now (context:170)."""
    return {"backend": device.backend, "ordinal": device.ordinal, "live_bytes": device.live_bytes}


def host_capabilities() -> dict[str, str]:
    """What this host offers, no device opened (context:9)."""
    python = sys.version.split()[0]
    return {"processor": _processor(), "system": platform.system(), "python": python, "compiler": "none"}


def compiler_command() -> str | None:
    """The compiler that makes kernels: none here, programs are interpreted (context:5)."""
    return None


def same_backend(a: Context, b: Context) -> bool:
    """Whether both contexts are on one backend; refuses arguments/wrong-type (context:97)."""
    from counterfoil_reference.contexts.values import Context

    return instance("a", a, Context).device.backend == instance("b", b, Context).device.backend


def _processor() -> str:
    return platform.processor() or platform.machine()
