"""What a command was asked about, in short: the part of a finding that its case leaves out.

A known difference of one command and rule may be met with some operands and not with others; a new defect hides behind
the old one unless the two are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from counterfoil_spec.commands import Command

NONE: Final = "none"
"""Of a command that names nothing with a dtype, and no move."""


def operands(command: Command, names: Mapping[str, Any]) -> str:
    """The dtypes that a command names, in the order of its arguments' names, and the kind of its move.

    ``names``: what the reference made so far.
    """
    return ", ".join(_told("", command.args, names)) or NONE


def _told(key: str, data: Any, names: Mapping[str, Any]) -> Iterator[str]:
    if key == "dtype" and isinstance(data, str):
        yield data
    elif key == "move" and isinstance(data, dict):
        yield "+".join(sorted(data))
    elif isinstance(data, dict) and "ref" in data:
        name = getattr(getattr(names.get(str(data["ref"])), "dtype", None), "name", None)
        yield from [] if name is None else [str(name)]
    elif isinstance(data, dict):
        for inner in sorted(data):
            yield from _told(inner, data[inner], names)
    elif isinstance(data, list):
        for entry in data:
            yield from _told(key, entry, names)
