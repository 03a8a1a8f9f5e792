"""The command ``counterfoil`` as installed: a sentence, not a traceback, where the extra ``check`` is missing."""

from __future__ import annotations

import sys
from typing import Final

USAGE: Final = 2

CHECK: Final = frozenset({"crosshair", "hypothesis", "islpy", "jsonschema", "ml_dtypes", "mpmath", "msgspec", "z3"})
"""What the extra ``check`` brings, as it is imported."""


def main() -> int:
    """Run the command line; its exit code, or 2 where the extra ``check`` is not installed."""
    try:
        from counterfoil_oracles.cli import main as run

        return run()
    except ModuleNotFoundError as missing:
        if not is_of_check(missing):
            raise
        print(f"counterfoil: {needed(missing)}", file=sys.stderr)
        return USAGE


def is_of_check(missing: ModuleNotFoundError) -> bool:
    """Whether the extra ``check`` would have brought the module."""
    return (missing.name or "").partition(".")[0] in CHECK


def needed(missing: ModuleNotFoundError) -> str:
    """What to install, in one sentence."""
    return f"this needs the extra check: pip install 'counterfoil[check]' ({missing.name} is not installed)"
