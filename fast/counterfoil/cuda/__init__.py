"""CUDA devices, driven through PyCUDA; ``docs/cuda.md`` says what they add to the rules of every device.

Python binds the package to ``counterfoil.cuda`` when the first of its rooms is imported, where the function of that
name stood: so the package is called like it. Nothing here touches PyCUDA or a driver before a device is asked for.

Rooms: ``probe`` and ``driver`` are all that names PyCUDA, ``entries`` what the driver is asked without it. ``device``
is the device, ``stream`` its timeline, ``pool`` and ``memory`` its memory, ``copies`` what moves bytes, ``borrowing``
host memory it maps, ``exchange`` the protocols of other libraries; ``sources``, ``compiler``, ``cubins``, ``launch``,
``calls`` and ``kernels`` compile and run kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from counterfoil import devices
from counterfoil.cuda.probe import DriverFailed

__all__ = ["DriverFailed"]


class _Room(ModuleType):
    """The package, called as ``counterfoil.cuda(ordinal)``."""

    def __call__(self, ordinal: int) -> devices.Device:
        """The CUDA device of that ordinal; refuses memory/backend-unavailable and memory/ordinal."""
        return devices.cuda(ordinal)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """Pickled and copied by name, as a function is."""
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _Room
