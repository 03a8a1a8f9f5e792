"""What is measured on: the device by its driver's words, and the versions of everybody who takes part."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import counterfoil as cf

PACKAGES = ("counterfoil", "pycuda", "cuda-bindings", "nvidia-cuda-nvrtc", "nvmath-python", "torch", "cupy-cuda13x")


def unavailable() -> str | None:
    """Why there is no device, in one sentence; None where there is one."""
    try:
        cf.cuda(0)
    except cf.BackendUnavailable as refusal:
        return str(refusal)
    return None


def device() -> dict[str, Any]:
    """The facts of device 0."""
    context = cf.Context.cuda(0)
    try:
        properties = next(row for row in context.static_properties() if row["ordinal"] == 0)
        free, total = context.free_and_total_memory or (0, 0)
        return {**properties, "free_bytes": free, "total_bytes": total}
    finally:
        context.release()


def lasting(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that stay as they are while the device works."""
    return {name: value for name, value in facts.items() if name != "free_bytes"}


def versions() -> dict[str, str]:
    """The versions of what is installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
