"""Finding the halves: the reference, a subject by module name, and a second copy of either."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from counterfoil_oracles.environment import HarnessError
from counterfoil_spec.interface import Half


def half(name: str) -> ModuleType:
    """The module of that name as a half; HarnessError if it does not import or lacks the surface."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise HarnessError(f"{name} does not import: {type(error).__name__}: {error}") from error
    missing = sorted(word for word in Half.__annotations__.keys() | _functions() if not hasattr(module, word))
    if missing:
        raise HarnessError(f"{name} lacks {', '.join(missing)}")
    return module


def second_copy(name: str) -> ModuleType:
    """A package imported once more: its devices, budgets and poison are its own."""
    first = {found: module for found, module in sys.modules.items() if found.partition(".")[0] == name}
    for found in first:
        del sys.modules[found]
    try:
        return importlib.import_module(name)
    finally:
        for found in [found for found in sys.modules if found.partition(".")[0] == name]:
            del sys.modules[found]
        sys.modules.update(first)


def _functions() -> set[str]:
    return {word for word in vars(Half) if not word.startswith("_")}
