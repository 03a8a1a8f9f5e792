"""What is said of CUDA: its devices by the names of ``rows``, and the packages that this installation has."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda

_PACKAGES: Final = ("pycuda", "cuda-bindings", "nvidia-cuda-nvrtc")

_LIMITS: Final = {
    "threads_per_group": "max_threads_per_block", "group_memory_bytes": "max_shared_memory_per_block",
    "grid_x": "max_grid_dim_x", "grid_y": "max_grid_dim_y", "grid_z": "max_grid_dim_z",
}  # fmt: skip
"""The driver's names of the limits."""


def packages() -> str:
    """The packages of the extra ``cuda`` that are installed, with their versions, and the command that compiles
    instead of NVRTC; "none". No driver is touched."""
    from counterfoil.cuda.compiler import VARIABLE

    found = [f"{name} {version}" for name in _PACKAGES if (version := _version(name)) is not None]
    command = os.environ.get(VARIABLE, "").strip()
    return ", ".join([*found, command] if command else found) or "none"


def static_properties() -> list[dict[str, object]]:
    """One row per device of the driver: its name, ordinal and what the driver tells of it (context:85)."""
    from counterfoil.cuda import probe
    from counterfoil.devices import cuda

    return [_row(cast("Cuda", cuda(ordinal))) for ordinal in range(probe.devices())]


def _row(device: Cuda) -> dict[str, object]:
    told = device.properties
    return {
        "name": device.name, "ordinal": device.ordinal, "processor": told["name"],
        "cores": told["multiprocessor_count"], "architecture": device.arch, "total_memory": told["total_memory"],
        "pci_bus_id": told["pci_bus_id"],
    }  # fmt: skip


def device_identity(device: Cuda) -> dict[str, object]:
    """The device as a machine of its kind: host, processor, architecture, the compiler of routines (context:87)."""
    from counterfoil.contexts.backends import cuda_compiler

    return {
        "backend": "cuda", "host": platform.machine(), "processor": device.properties["name"],
        "architecture": device.arch, "toolchain": cuda_compiler(),
    }  # fmt: skip


def hardware_limits(device: Cuda) -> dict[str, int | None]:
    """Threads and bytes of shared memory of a block, blocks of a grid (context:89)."""
    return {limit: int(device.properties[name]) for limit, name in _LIMITS.items()}


def debug_info(device: Cuda) -> dict[str, object]:
    """What lives of the device in this process: streams, graphs, loaded cubins (context:170)."""
    from counterfoil.cuda import cubins, graphs

    return {"live_streams": len(device.streams()), "live_graphs": graphs.live(device), "cubins": cubins.loaded(device)}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
