"""Whether there is CUDA: PyCUDA, a driver, a device. Nothing is looked for before somebody asks."""

from __future__ import annotations

import threading
from typing import Any

from counterfoil_spec.backends import NO_CUDA_DEVICE, NO_CUDA_DRIVER, unavailable
from counterfoil_spec.refusals import refuse


class DriverFailed(RuntimeError):
    """The driver failed, with its words. No refusal: the installation is broken, or a device is."""


_guard = threading.RLock()  # like the others: a finalizer may come in, and ask the same
_found: tuple[Any, int] | None = None


def require() -> Any:
    """PyCUDA's driver module, initialised, with a device at least.

    Refuses memory/backend-unavailable for the first that is missing: the package, the driver, a device. Raises
    DriverFailed.
    """
    return _looked()[0]


def devices() -> int:
    """How many devices the driver has; refuses and raises as ``require``."""
    return _looked()[1]


def require_ordinal(ordinal: int, rule: str = "memory/ordinal") -> int:
    """An ordinal that the driver has; refuses memory/ordinal (or ``rule``), and as ``require``."""
    count = devices()
    if not 0 <= ordinal < count:
        raise refuse(rule, ordinal=ordinal, devices=count)
    return ordinal


def _looked() -> tuple[Any, int]:
    global _found
    with _guard:
        if _found is None:
            _found = _look()
        return _found


def _look() -> tuple[Any, int]:
    try:
        import pycuda.driver as pycuda
    except ModuleNotFoundError as missing:
        if missing.name is not None and missing.name.split(".")[0] == "pycuda":
            raise unavailable("cuda", 0) from None
        raise DriverFailed(str(missing)) from missing
    except ImportError as failure:
        if "libcuda" in str(failure):
            raise unavailable("cuda", 0, NO_CUDA_DRIVER) from None
        raise DriverFailed(str(failure)) from failure
    try:
        pycuda.init()
        count = int(pycuda.Device.count())
    except pycuda.RuntimeError as failure:  # among them what cuInit says where there is no device
        if "no CUDA-capable device" in str(failure):
            raise unavailable("cuda", 0, NO_CUDA_DEVICE) from None
        raise DriverFailed(str(failure)) from None
    except pycuda.Error as failure:
        raise DriverFailed(str(failure)) from None
    if count < 1:
        raise unavailable("cuda", 0, NO_CUDA_DEVICE)
    return pycuda, count
