"""Memory: how much the process grows over 10 000 steps that make, use and drop arrays."""

from __future__ import annotations

import gc
from pathlib import Path

import counterfoil as cf

WARM_UP, STEPS = 500, 10_000


def growth_bytes() -> int:
    """Resident bytes gained over ``STEPS`` steps, after ``WARM_UP`` of them."""
    for _ in range(WARM_UP):
        _step()
    gc.collect()
    before = _resident()
    for _ in range(STEPS):
        _step()
    gc.collect()
    return _resident() - before


def _step() -> None:
    x = cf.from_values(cf.float32, (64,), [1.0] * 64)
    y = cf.host_array(cf.float32, (64,))
    cf.kernels.add(y, x, x)
    view = y.move(cf.Reshape((8, 8)))
    assert view is not None
    with cf.claims(donate=[x.buffer]) as claims:
        claims.consume(x.buffer, "donated to a benchmark")
    view.copy().to_values()


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
