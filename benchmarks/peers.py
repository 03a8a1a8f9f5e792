"""The peers a benchmark compares with: numpy always, torch and jax where they are installed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


def peer(name: str) -> Any | None:
    """The module, on as many threads as the others (OMP_NUM_THREADS), or None where it is not installed."""
    if find_spec(name) is None:
        return None
    module = importlib.import_module(name)
    if name == "torch":
        module.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return module


def jax_work(function: Callable[..., Any], *arrays: Any) -> dict[str, Callable[[], object]]:
    """{"jax": the jitted function on those arrays, waited for}, or nothing without jax. It allocates its result."""
    jax = peer("jax")
    if jax is None:
        return {}
    compiled = jax.jit(function)
    operands = [jax.numpy.asarray(array) for array in arrays]
    return {"jax": lambda: compiled(*operands).block_until_ready()}
