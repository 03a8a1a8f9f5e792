"""Memory: how much a process grows over 10 000 steps that make, use and drop arrays.

``python -m benchmarks.memory ours|PEER``: the bytes that a process of its own grows by over as many training steps.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import counterfoil as cf
from benchmarks import networks
from benchmarks.pinning import pin

WARM_UP, STEPS = 500, 10_000


def growth_bytes(step: Callable[[], object] | None = None) -> int:
    """Resident bytes gained over ``STEPS`` steps (of arrays, unless another is given), after ``WARM_UP`` of them."""
    step = _arrays if step is None else step
    for _ in range(WARM_UP):
        step()
    gc.collect()
    before = _resident()
    for _ in range(STEPS):
        step()
    gc.collect()
    return _resident() - before


def _arrays() -> None:
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


def main() -> int:
    """The growth over steps of training, on one thread; prints bytes."""
    pin(1, "benchmarks.memory")
    arrays = networks.start()
    print(growth_bytes(networks.Ours(arrays).step if sys.argv[1] == "ours" else networks.peers(arrays)[sys.argv[1]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
