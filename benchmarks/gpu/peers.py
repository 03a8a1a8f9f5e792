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


def torch_work(make: Callable[[Any], Callable[[], object]]) -> dict[str, Work]:
    """{"torch": the work that ``make(torch)`` gives, waited for}, or nothing."""
    module = torch()
    if module is None:
        return {}
    call = make(module)

    def work() -> None:
        call()
        module.cuda.synchronize()

    return {"torch": work}


def cupy_work(make: Callable[[Any], Callable[[], object]]) -> dict[str, Work]:
    """{"cupy": the work that ``make(cupy)`` gives, waited for}, or nothing."""
    module = cupy()
    if module is None:
        return {}
    call = make(module)

    def work() -> None:
        call()
        module.cuda.get_current_stream().synchronize()

    return {"cupy": work}
