"""Graphs: kernel launches captured once and enqueued as one call of the driver from then on."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from counterfoil.cuda import driver
from counterfoil.cuda.probe import DriverFailed

if TYPE_CHECKING:
    from counterfoil.cuda.device import Cuda
    from counterfoil.cuda.launch import Function, Grid

Launched = tuple["Function", "Grid", "Grid", bytes, int]
"""A kernel, its grid and block, its parameters and its bytes of dynamic shared memory."""


class Graph:
    """Kernels one after another, with the parameters they were captured with. Freed with this object."""

    __slots__ = ("__weakref__", "_device", "_handle")

    def __init__(self, device: Cuda, handle: int) -> None:
        self._device = device
        self._handle = handle
        weakref.finalize(self, _destroy, device, handle).atexit = False
        _live.add(self)

    def launch(self) -> None:
        """Enqueue the kernels on the device's stream, the device being current."""
        driver.launch_graph(self._handle, self._device.handle)


_live: Final[weakref.WeakSet[Graph]] = weakref.WeakSet()


def captured(device: Cuda, launches: Sequence[Launched]) -> Graph | None:
    """The graph of launches, the device being current; None where the driver has no graphs, or does not capture them.

    On a stream of its own: what others enqueue on the device's meanwhile is no part of it.
    """
    if not driver.has_graphs():
        return None

    def enqueue(stream: object) -> None:
        for function, grid, block, arguments, shared in launches:
            driver.launch_on(function.handle, grid, block, arguments, shared, stream)

    try:
        return Graph(device, driver.captured(enqueue))
    except DriverFailed:
        return None  # the launches themselves say what is wrong, if anything is


def live(device: Cuda) -> int:
    """How many graphs of the device there are."""
    return sum(graph._device is device for graph in _live)


def _destroy(device: Cuda, handle: int) -> None:
    """A graph goes with its device current; one that the driver has lost went already."""
    with contextlib.suppress(DriverFailed), device.current():
        driver.destroy_graph(handle)
