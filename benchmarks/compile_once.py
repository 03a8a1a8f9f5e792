"""``python -m benchmarks.compile_once ours|jax``: prints how many seconds this process needs for the first compile."""

from __future__ import annotations

import sys
import time

from benchmarks import networks
from benchmarks.peers import peer


def ours() -> float:
    """Seconds of ``Context.compile`` of the training step."""
    import counterfoil as cf

    arrays = networks.start()
    comp, leaves, _ = networks.program(arrays)
    root = networks.uploaded(cf.Context.cpu(), leaves, arrays)
    begin = time.perf_counter()
    root.compile(comp, name="step")
    return time.perf_counter() - begin


def jax() -> float:
    """Seconds of the first call of the jitted step: tracing, compiling, one run."""
    compiled, parameters, x, t = networks.jax_program(peer("jax"), networks.start())
    begin = time.perf_counter()
    compiled(parameters, x, t)["b2"].block_until_ready()
    return time.perf_counter() - begin


if __name__ == "__main__":
    print({"ours": ours, "jax": jax}[sys.argv[1]]())
