"""Finds ``counterfoil._handles``, the second module in the file of ``counterfoil._native``."""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

from counterfoil import _native

_NAME = "counterfoil._handles"


def _load() -> None:
    path = str(_native.__file__)
    spec = spec_from_file_location(_NAME, path, loader=ExtensionFileLoader(_NAME, path))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_NAME] = module


if _NAME not in sys.modules:
    _load()

from counterfoil._handles import (  # noqa: E402
    Dispatchable,
    Handle,
    Owner,
    Standing,
    adopted,
    device,
    kernel,
    memory,
)

__all__ = ["Dispatchable", "Handle", "Owner", "Standing", "adopted", "device", "kernel", "memory"]
