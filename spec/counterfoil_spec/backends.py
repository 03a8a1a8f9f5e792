"""The backends a context can be on: their names, and what is said of one that is not there (context:19 to context:29).

Which of them a machine offers, and what ``auto`` takes, each half finds out for itself.
"""

from __future__ import annotations

from typing import Final

from counterfoil_spec.arguments import integer, text
from counterfoil_spec.refusals import Refusal, refuse

BACKENDS: Final = ("cc", "multidev_cc", "cuda", "hip", "metal")
"""The names of backends."""

AUTO: Final = ("metal", "cuda", "hip", "cc")
"""What auto tries, in this order."""

WORKERS: Final = 2
"""Devices of a multidev_cc root that auto makes."""

NO_CUDA_DRIVER: Final = "there is no CUDA driver on this machine"
"""Why CUDA is not available where its package is installed and the driver's library is not."""

NO_CUDA_DEVICE: Final = "the CUDA driver finds no device"
"""Why CUDA is not available where there is a driver and no device."""

MOST_THREADS: Final = 2**16
"""Most threads a CPU root may be asked for."""


def known(name: object) -> str:
    """A backend's name, parsed; refuses contexts/unknown-backend (context:95)."""
    name = text("backend", name)
    if name not in BACKENDS:
        raise refuse("contexts/unknown-backend", name=name)
    return name


def unavailable(backend: str, ordinal: int, why: str | None = None) -> Refusal:
    """The refusal memory/backend-unavailable; without a reason, of a backend that this installation does not have."""
    integer("ordinal", ordinal)
    called = "Metal" if backend == "metal" else backend.upper()
    if why is None:
        why = f"the {called} backend is not part of this installation"
    return refuse("memory/backend-unavailable", backend=backend, why=why)
