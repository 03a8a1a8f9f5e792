"""Real compilers are asked where the package that brings NVRTC is installed."""

from __future__ import annotations

import importlib.util


def _has_nvrtc() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings.nvrtc") is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [] if _has_nvrtc() else ["test_compiled.py"]
