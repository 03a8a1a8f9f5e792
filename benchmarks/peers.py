"""The peers a benchmark compares with: numpy always, torch and jax where they are installed."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any


def peer(name: str) -> Any | None:
    """The module, on one thread, or None where it is not installed."""
    if find_spec(name) is None:
        return None
    module = importlib.import_module(name)
    if name == "torch":
        module.set_num_threads(1)
    return module
