"""``python -m benchmarks.compile_once ours|jax|torch.compile``: what the first training step of this process takes.

Prints JSON, in seconds: ``total``, and for ours its parts. The total ends with the first step's results. It begins, for
the others, with the first call of the step, which traces, differentiates, compiles and runs it; for ours, with the
expressions of the step, and has building the program and its gradients, ``Context.compile`` and the run. Left out are
imports, the start of each library, and bringing the arrays into it.
"""

from __future__ import annotations

import itertools
import json
import sys
import time

from benchmarks import networks
from benchmarks.peers import peer
from benchmarks.pinning import pin


def ours() -> dict[str, float]:
    """The step built, compiled and run."""
    import counterfoil as cf

    arrays, times = networks.start(), [time.perf_counter()]
    comp, leaves, _ = networks.program(arrays)
    times.append(time.perf_counter())
    root = networks.uploaded(cf.Context.cpu(), leaves, arrays)
    times.append(time.perf_counter())
    context, routine = root.compile(comp, name="step")
    times.append(time.perf_counter())
    context.run(routine).sync()
    times.append(time.perf_counter())
    built, _, compiled, ran = (after - before for before, after in itertools.pairwise(times))
    return {"total": built + compiled + ran, "program": built, "compile": compiled, "run": ran}


def jax() -> dict[str, float]:
    """The first call of the jitted step, waited for."""
    module = peer("jax")
    assert module is not None
    compiled, parameters, x, t = networks.jax_program(module, networks.start())
    begin = time.perf_counter()
    module.block_until_ready(compiled(parameters, x, t))
    return {"total": time.perf_counter() - begin}


def torch() -> dict[str, float]:
    """The first call of the compiled step."""
    step = networks.torch_step(networks.start(), compiled=True)
    assert step is not None
    begin = time.perf_counter()
    step()
    return {"total": time.perf_counter() - begin}


WHO = {"ours": ours, "jax": jax, "torch.compile": torch}


def main() -> int:
    """Measure the one named, on one thread."""
    pin(1, "benchmarks.compile_once")
    print(json.dumps(WHO[sys.argv[1]]()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
