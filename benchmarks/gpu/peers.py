"""The peers on a device: PyTorch and CuPy, where they are installed and see it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

from benchmarks.measure import Work


@cache
def torch() -> Any | None:
    """PyTorch with a CUDA device and exact float32 products (no TF32), or None."""
    if find_spec("torch") is None:
        return None
    module = importlib.import_module("torch")
    if not module.cuda.is_available():
        return None
    module.backends.cuda.matmul.allow_tf32 = False
    return module


@cache
def cupy() -> Any | None:
    """CuPy with a CUDA device, or None."""
    if find_spec("cupy") is None:
        return None
    module = importlib.import_module("cupy")
    return module if module.cuda.is_available() else None


class Failed:
    """A peer that is installed and could not be asked to do the work: the report says why."""

    def __init__(self, why: Exception) -> None:
        self.why = f"{type(why).__name__}: {why}"


Peers = dict[str, Work | Failed]


def torch_work(make: Callable[[Any], Callable[[], object]], name: str = "torch") -> Peers:
    """{name: the work that ``make(torch)`` gives, waited for}, or nothing where it is not installed."""
    module = torch()
    return {} if module is None else {name: _tried(module, make, lambda: module.cuda.synchronize())}


def cupy_work(make: Callable[[Any], Callable[[], object]]) -> Peers:
    """{"cupy": the work that ``make(cupy)`` gives, waited for}, or nothing where it is not installed."""
    module = cupy()
    return {} if module is None else {"cupy": _tried(module, make, lambda: module.cuda.Device().synchronize())}


def _tried(module: Any, make: Callable[[Any], Callable[[], object]], wait: Callable[[], object]) -> Work | Failed:
    """The work, done once: what a peer cannot do shows here, and takes no other's row away."""
    try:
        call = make(module)
        call()
        wait()
    except Exception as why:
        return Failed(why)

    def work() -> None:
        call()
        wait()

    return work
