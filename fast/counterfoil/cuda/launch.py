"""Kernels of a device as Python calls them: one packed block of parameters, enqueued on the device's stream."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.cuda import driver

if TYPE_CHECKING:
    from counterfoil.cuda.cubins import Module
    from counterfoil.cuda.device import Cuda

Grid = tuple[int, int, int]

THREADS: Final = 256
"""Threads of a block, where a kernel has no reason for another number."""

MOST_PARAMETERS: Final = 4096
"""Bytes of parameters that every compiler and driver lets a launch have; more lie in memory."""


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel of a loaded cubin, which it keeps loaded: the one at that place of its module."""

    device: Cuda
    name: str
    module: Module
    place: int

    @property
    def handle(self) -> Any:
        """The driver's."""
        return self.module.kernel(self.place)

    def launch(self, grid: Grid, block: Grid, arguments: bytes, shared: int = 0) -> None:
        """Enqueue on the device's stream, the device being current.

        ``arguments``: the parameters in order, each in its own alignment (struct's "@" lays them out so). ``shared``:
        bytes of dynamic shared memory.
        """
        driver.launch(self.handle, grid, block, arguments, shared, self.device)


def blocks(items: int, threads: int = THREADS, most: int = 1 << 16) -> Grid:
    """The grid of a kernel that strides over ``items``: enough blocks for all, no more than ``most``."""
    return (max(1, min(-(-items // threads), most)), 1, 1)


def packed(layout: str, *values: Any) -> bytes:
    """Parameters laid out as C does, by struct's format characters."""
    return struct.pack("@" + layout, *values)
