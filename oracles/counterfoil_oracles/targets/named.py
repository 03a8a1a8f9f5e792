"""How the command line names a target, and the one line that runs a failure on it again."""

from __future__ import annotations

import importlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Named:
    """A target by ``name`` or as a ``program``, of which one is empty, and the options it was asked with."""

    name: str | None
    program: Sequence[str] = ()
    options: Sequence[str] = ()

    def line(self, path: Path) -> str:
        """The command that replays a trace on the target, quoted as a shell wants it."""
        name = [] if self.name is None else ["--target", self.name]
        program = ["--", *self.program] if self.program else []
        return shlex.join(["counterfoil", "replay", *name, *self.options, str(path), *program])


def named(target: Any, options: Sequence[str] = ()) -> Named | None:
    """The target of a test suite, as ``conformance.opening`` takes it; None for a factory that no import finds."""
    if isinstance(target, str):
        return Named(target, options=options)
    if not callable(target):
        return Named(None, [str(word) for word in target], options)
    module, factory = getattr(target, "__module__", None) or "", getattr(target, "__name__", "")
    try:
        is_there = getattr(importlib.import_module(module), factory, None) is target
    except (ImportError, ValueError):
        return None
    return Named(f"{module}:{factory}", options=["--in-process", *options]) if is_there else None
