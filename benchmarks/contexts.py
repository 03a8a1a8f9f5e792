"""Contexts: a run with all its checks, an MLP's training step, and how long a compile takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np

import counterfoil as cf
from benchmarks import networks
from benchmarks.measure import Row
from benchmarks.peers import peer


def rows() -> list[Row]:
    """A trivial run and the training step."""
    return [_trivial(), _step()]


def _trivial() -> Row:
    """One output already initialised, no bindings, a kernel of one element; the collector stays on."""
    x = cf.tensor.data("x", (1,))
    y = x + x
    y.value.set_observable()
    context, routine = cf.Context.cpu().compile(cf.tensor.forward(y))
    ready = context.set_values(x.value, [1.0]).run(routine)
    peers: dict[str, Callable[[], object]] = {}
    if jax := peer("jax"):
        compiled, operand = jax.jit(lambda a: a + a), jax.numpy.ones(1)
        peers["jax"] = lambda: compiled(operand)
    one, out = np.ones(1, np.float32), np.ones(1, np.float32)
    peers = peers or {"numpy": lambda: np.add(one, one, out=out)}
    return Row("run of a trivial routine", lambda: ready.run(routine), peers, 0.1 if "jax" in peers else None)


def _step() -> Row:
    arrays = networks.start()
    peers: dict[str, Callable[[], object]] = {"numpy by hand": networks.ByHand(arrays).step}
    others = {
        "jax": networks.jax_step(arrays),
        "torch": networks.torch_step(arrays),
        "torch.compile": networks.torch_step(arrays, compiled=True),
    }
    peers |= {name: work for name, work in others.items() if work is not None}
    return Row("MLP training step", networks.Ours(arrays).step, peers, 0.93)


def latencies() -> list[str]:
    """Lines on first compiles (of fresh processes with empty caches) and warm ones, in milliseconds."""
    with tempfile.TemporaryDirectory() as cache:
        first, warm = (_compile_seconds("ours", cache) for _ in range(2))
    lines = [f"- first compile of the MLP step: {first * 1e3:.0f} ms; disk cache warm {warm * 1e3:.1f} ms (bar 30)"]
    if peer("jax") is not None:
        theirs = _compile_seconds("jax", "")
        ratio = f"ours / jax {first / theirs:.2f} (bar 0.5)"
        lines.append(f"- jax's first call of its step: {theirs * 1e3:.0f} ms; {ratio}")
    return lines


def _compile_seconds(whose: str, cache: str) -> float:
    """Seconds that compiling the step takes in a fresh process, imports and the building of programs left out."""
    environment = {**os.environ, "COUNTERFOIL_CACHE": cache}
    command = [sys.executable, "-m", "benchmarks.compile_once", whose]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))
