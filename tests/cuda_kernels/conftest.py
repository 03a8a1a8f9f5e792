"""Kernels of CUDA devices: collected where there is one, a GPU or the emulated driver (docs/emulated-driver.md).

Tests of what is compiled need NVRTC and no device; those of texts and numbers need neither.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import counterfoil

WITH_NOTHING = {"test_sources.py", "test_without_cuda.py", "test_dividers.py", "test_library.py", "test_walks.py"}
WITH_NVRTC = {"test_instances.py", "test_resources.py"}


def _device_is_there() -> bool:
    if os.environ.get("COUNTERFOIL_EMULATED"):
        return True
    try:
        counterfoil.cuda(0)
    except RuntimeError:
        return False
    return True


def _nvrtc_is_there() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings.nvrtc") is not None
    except ModuleNotFoundError:
        return False


def _ignored() -> list[str]:
    kept = set(WITH_NOTHING) | (WITH_NVRTC if _nvrtc_is_there() else set())
    there = _device_is_there()
    return [path.name for path in Path(__file__).parent.glob("test_*.py") if not there and path.name not in kept]


collect_ignore = _ignored()
