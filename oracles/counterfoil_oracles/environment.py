"""What commands run in: one half, the objects made so far by name, and a private directory for files."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from counterfoil_oracles.holdings import Compiled, Holdings


class HarnessError(Exception):
    """The harness itself is wrong: a command that no driver knows, a subject that does not import."""


class UnboundName(Exception):
    """A command names an object that no earlier step made (or that was dropped)."""


class OpenClaims:
    """A ``claims`` block kept open by name: the context manager and what it yielded."""

    def __init__(self, block: Any, claims: Any) -> None:
        self.block: Any = block
        self.claims: Any = claims
        self.is_open = True

    def leave(self, error: Exception | None = None) -> None:
        """Leave the block, by an exception if one is given; a second time is a mistake of the program."""
        if not self.is_open:
            raise RuntimeError("the claims have been left already")
        self.is_open = False
        if error is None:
            self.block.__exit__(None, None, None)
        elif self.block.__exit__(type(error), error, None):
            raise AssertionError("the claims swallowed an exception")


class Environment:
    """One half, its named objects and what they leave behind, and a private directory made when a file is named."""

    def __init__(self, half: Any) -> None:
        self.half: Any = half
        self.names: dict[str, Any] = {}
        self.directory: str | None = None
        self.holdings = Holdings(half)

    def named(self, name: str) -> Any:
        """The object of that name; UnboundName if no step made it."""
        try:
            return self.names[name]
        except KeyError:
            raise UnboundName(name) from None

    def path(self, name: str) -> str:
        """A file's place in the private directory."""
        if self.directory is None:
            self.directory = tempfile.mkdtemp(prefix="counterfoil-")
        return os.path.join(self.directory, name)

    def bind(self, name: str, made: Any) -> None:
        """Give a name to an object, two to what a compile makes; what had the name is forgotten."""
        if name in self.names:
            self.forget(name)
        if isinstance(made, Compiled):
            self.names[name], self.names[f"{name}.routine"] = made
        else:
            self.names[name] = made

    def forget(self, name: str) -> None:
        """Drop a name; open claims are left first, so that nothing depends on when they are collected."""
        made = self.names.pop(name, None)
        self.names.pop(f"{name}.routine", None)
        if isinstance(made, OpenClaims) and made.is_open:
            made.leave()

    def close(self) -> None:
        """Leave open claims, forget every name, release every context, lift the host's budget, poison nothing, remove
        the directory."""
        for name in list(self.names):
            self.forget(name)
        self.holdings.close()
        self.half.host().budget = None
        self.half.inspection.poison(None)
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None
