"""How large the work is: COUNTERFOIL_GPU_SCALE divides every extent, so that an emulated device gets through it too."""

from __future__ import annotations

import os

SCALE = int(os.environ.get("COUNTERFOIL_GPU_SCALE", "1"))


def elements(count: int) -> int:
    """A number of elements or bytes, a multiple of 64."""
    return max(64, count // SCALE**2 // 64 * 64)


def side(extent: int) -> int:
    """The side of a square, a multiple of 8."""
    return max(8, extent // SCALE // 8 * 8)
