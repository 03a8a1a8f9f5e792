"""Whether the arguments of ``check`` ask for a campaign. Imports nothing of Dask: ``counterfoil check`` asks this."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import Final

USAGE: Final = 2


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether ``--engine`` is among the words before ``--``."""
    words = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return any(word.partition("=")[0] == "--engine" for word in words)


def main(arguments: Sequence[str]) -> int:
    """Run the campaign; its exit code, 2 where Dask is not installed."""
    if importlib.util.find_spec("distributed") is None:
        print("counterfoil check: --engine dask needs: pip install 'counterfoil[distributed]'", file=sys.stderr)
        return USAGE
    from counterfoil_oracles.campaigns import command

    return command.main(arguments)
