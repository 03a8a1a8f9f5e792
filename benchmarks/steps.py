"""``python -m benchmarks.steps THREADS ROUNDS``: a run with all its checks and a training step, beside every peer.

Prints JSON: for each row its name, and for ours and each peer the seconds per call and their spread.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np

import counterfoil as cf
from benchmarks import networks
from benchmarks.measure import Row
from benchmarks.peers import peer
from benchmarks.pinning import pin


def rows() -> list[Row]:
    """A trivial run and the training step."""
    return [_trivial(), _step()]


def _trivial() -> Row:
    """One output already initialised, no bindings, a kernel of one element; the collector stays on.

    Ours has the result when it returns, as numpy and torch do; jax's call returns before, and is not waited for.
    """
    x = cf.tensor.data("x", (1,))
    y = x + x
    y.value.set_observable()
    context, routine = cf.Context.cpu().compile(cf.tensor.forward(y))
    ready = context.set_values(x.value, [1.0]).run(routine)
    one, out = np.ones(1, np.float32), np.ones(1, np.float32)
    peers: dict[str, Callable[[], object]] = {networks.BY_HAND: lambda: np.add(one, one, out=out)}
    if jax := peer("jax"):
        compiled, operand = jax.jit(lambda a: a + a), jax.numpy.ones(1)
        peers["jax"] = lambda: compiled(operand)
    if torch := peer("torch"):
        given, result = torch.ones(1), torch.ones(1)
        fused = torch.compile(lambda a: a + a)
        peers["torch"] = lambda: torch.add(given, given, out=result)
        peers["torch.compile"] = lambda: fused(given)
    return Row("run of a trivial routine", lambda: ready.run(routine), peers, 0.1, against="jax")


def _step() -> Row:
    arrays = networks.start()
    return Row("MLP training step", networks.Ours(arrays).step, networks.peers(arrays), 0.93)


def main() -> int:
    """Measure both rows on that many threads."""
    threads, rounds = map(int, sys.argv[1:3])
    pin(threads, "benchmarks.steps")
    found = []
    for row in rows():
        row.measure(rounds)
        times = {name: [timing.seconds, timing.spread] for name, timing in row.timings.items()}
        found.append({"name": row.name, "times": times, "ratio": row.ratio, "bar": row.limit, "against": row.against})
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
