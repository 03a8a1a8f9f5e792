"""The vectors: programs whose outcomes the rules settle, each rule triggered and passed, as data.

They are the project's hand-written traces, and programs about boundary values made from the tables. A checkout has the
traces under tests/traces, an installation beside this module.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from counterfoil_oracles.targets.boundaries import boundaries
from counterfoil_spec.commands import Trace, decode_trace

_HERE: Final = Path(__file__).resolve()
_PLACES: Final = (_HERE.parent / "traces", _HERE.parents[3] / "tests" / "traces")
ROOMS: Final = ("arrays", "pairs", "contexts", "gradients", "defects")


@functools.cache
def named() -> tuple[tuple[str, Trace], ...]:
    """Every vector with its name, in a fixed order: the traces, then the boundary programs."""
    return tuple(_named())


def _named() -> Iterator[tuple[str, Trace]]:
    place = next((place for place in _PLACES if place.is_dir()), None)
    for room in ROOMS if place is not None else ():
        assert place is not None
        for path in sorted((place / room).glob("*.jsonl")):
            yield f"{room}/{path.stem}", decode_trace(path.read_bytes())
    for trace in boundaries():
        yield "boundaries/" + "-".join("".join(c if c.isalnum() else " " for c in trace.header.title).split()), trace


def shipped() -> Iterator[Trace]:
    """Every vector, in that order."""
    return (trace for _, trace in named())
