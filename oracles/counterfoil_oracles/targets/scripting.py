"""``python -m counterfoil_oracles.targets.scripting package.module:factory``: a finding as the adapter's own script.

Reads the finding and its trace as JSON from standard input; prints the script, or nothing where the adapter has no
``script`` or no template for a command.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import msgspec

from counterfoil_oracles.targets.scripts.script import NotWritten, Script, written
from counterfoil_oracles.targets.verdicts import Finding, Kind
from counterfoil_spec.commands import Command, Trace, decode_trace, encode_trace
from counterfoil_spec.protocol import TargetOutcome


class Told(msgspec.Struct, frozen=True):
    """A finding as data."""

    kind: str
    command: Command
    rule: str | None
    words: str
    looked: Command | None
    seen: TargetOutcome | None
    trace: str


def request(trace: Trace, finding: Finding) -> bytes:
    """A finding and its trace as JSON."""
    told = Told(
        finding.kind.name, finding.command, finding.rule, finding.words, finding.looked, finding.seen,
        encode_trace(trace).decode(),
    )  # fmt: skip
    return msgspec.json.encode(told)


def main(arguments: list[str]) -> int:
    """Print the script."""
    told = msgspec.json.decode(sys.stdin.buffer.read(), type=Told)
    module, _, factory = arguments[0].partition(":")
    made: Any = getattr(importlib.import_module(module), factory)()
    script = getattr(made, "script", None)
    if isinstance(script, Script):
        finding = Finding(Kind[told.kind], told.command, told.rule, told.words, told.looked, told.seen)
        try:
            sys.stdout.write(written(script, decode_trace(told.trace.encode()), finding))
        except NotWritten as missing:
            print(f"no template for {missing}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
